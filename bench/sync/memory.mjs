/**
 * Preload module of a server that reports its memory. It collects garbage several times with pauses
 * in between, so that values that wait for a timer or a second collection are freed too. It
 * measures after a last pause.
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
