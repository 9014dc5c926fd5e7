/**
 * Deadline: limits how long a caller waits for a promise.
 */

import type { PeerHost } from "./host/peer-host.ts";

/** The longest time that a timer accepts; with more it would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface Deadline {
  readonly ms: number;
  /** The error when the time is over. */
  readonly late: () => Error;
  /** Calls a function later. */
  readonly after: PeerHost["after"];
}

/** Rejects with the error of `late` when the work takes longer. Its result is ignored then. */
export async function within<T>({ ms, late, after }: Deadline, work: () => Promise<T>): Promise<T> {
  let cancel: (() => void) | undefined;
  const end = new Promise<never>((_, reject) => {
    cancel = after(Math.min(ms, TIMER_MS_MAX), () => reject(late()));
  });
  try {
    return await Promise.race([work(), end]);
  } finally {
    cancel?.();
  }
}
