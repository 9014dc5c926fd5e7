/**
 * Back-off: how long a peer waits before it comes back (S8). Chance is a number that goes from state
 * to state, so that a session is a function of what it was given.
 */

/** The first wait after the try that is made at once. */
export const BACK_OFF_FIRST_MS = 500;
export const BACK_OFF_MOST_MS = 60_000;

/** Between half of the span and the whole: peers that lost one server do not come back as one. */
export function waitOf(failures: number, chance: number): number {
  if (failures === 0) return 0;
  const doublings = Math.min(failures - 1, 10);
  const span = Math.min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS * 2 ** doublings);
  return Math.round((span / 2) * (1 + chance / 2 ** 32));
}

/** As after very many failures. */
export const FAILURES_SLOWEST = 11;

/** The next number of a sequence that visits all of 32 bits. */
export function nextChance(chance: number): number {
  return (Math.imul(chance, 1_664_525) + 1_013_904_223) >>> 0;
}
