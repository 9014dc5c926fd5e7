/**
 * Deadline: limits how long a caller waits for a promise.
 */

/** The longest time that a timer accepts; with more it would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Rejects with the error of `late` when the work takes longer. Its result is ignored then. */
export async function within<T>(ms: number, work: () => Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    // The timer alone does not keep the process alive.
    timer = setTimeout(() => reject(late()), Math.min(ms, TIMER_MS_MAX)).unref();
  });
  try {
    return await Promise.race([work(), end]);
  } finally {
    clearTimeout(timer);
  }
}
