/**
 * Loaded before a server, so that its memory can be asked for: garbage is collected some times with
 * pauses between, so that what only waits for a timer or a second collection is gone as well, and
 * memory is told after a last pause.
 */
import { setTimeout } from "node:timers/promises";
import { answer } from "./answers.mjs";

const COLLECTIONS = 4;
const PAUSE_MS = 250;

answer({
  async memory() {
    for (let i = 0; i < COLLECTIONS; i++) {
      globalThis.gc();
      await setTimeout(PAUSE_MS);
    }
    return process.memoryUsage();
  },
});
