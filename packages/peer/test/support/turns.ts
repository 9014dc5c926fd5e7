/**
 * Waiting for what happens by itself, without a clock that decides.
 */

import { setImmediate, setTimeout } from "node:timers/promises";

/** Turns of the event loop after which a wait leaves the processor to others between its looks. */
const TURNS_MAX = 20;
const PAUSE_MS = 2;

/** Waits until something holds. A test that waits for ever fails by its own time. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await holds()); turn++) {
    await (turn < TURNS_MAX ? setImmediate() : setTimeout(PAUSE_MS));
  }
}

/** Long enough for whatever was begun and waits for nobody. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await setImmediate();
}
