/**
 * Waiting for what happens by itself, without a clock that decides.
 */

import { setImmediate } from "node:timers/promises";

/** Waits until something holds. A test that waits for ever fails by its own time. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setImmediate();
}

/** Long enough for whatever was begun and waits for nobody. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await setImmediate();
}
