/**
 * Waiting: for a time, and for work that may take too long.
 */

import type { Wait } from "@bigpeer/engine/store";

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether a wait has ended well in time; otherwise it is cancelled. */
export async function isReached(wait: Wait, ms: number): Promise<boolean> {
  const timer = setTimeout(() => wait.cancel(), ms);
  try {
    return await wait.promise;
  } catch {
    // What it waits for never comes: the store was closed.
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined if it takes longer. */
export function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
