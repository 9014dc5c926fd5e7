/**
 * Deadline: work that somebody else does is waited for so long, and no longer.
 */

/** What a timer takes; with more it would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Rejects with what `late` gives when it takes longer. What comes of the work then is ignored. */
export async function within<T>(ms: number, work: () => Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    // It keeps no process alive: nothing is lost with work that nobody is at.
    timer = setTimeout(() => reject(late()), Math.min(ms, TIMER_MS_MAX)).unref();
  });
  try {
    return await Promise.race([work(), end]);
  } finally {
    clearTimeout(timer);
  }
}
