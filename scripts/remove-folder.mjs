/**
 * Removes a folder of a process that has ended. Processes that it had started, such as those of a
 * browser, may still write there for a moment.
 */
import { rm } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

const TRIES = 100;
const PAUSE_MS = 100;

/** All that is in it too. Does nothing when there is no such folder. */
export async function removeFolder(folder) {
  for (let triesLeft = TRIES; ; triesLeft--) {
    try {
      // `maxRetries` does not help: it does not remove what was written since the first try.
      await rm(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (error.code !== "ENOTEMPTY" || triesLeft === 0) throw error;
      await setTimeout(PAUSE_MS);
    }
  }
}
