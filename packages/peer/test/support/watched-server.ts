/**
 * Loaded before a server (`node --import`), so that a test can ask for what only its process knows: how
 * late its event loop has been since it was last asked, and what memory it has when garbage was
 * collected. It answers one word for each connection, on the socket whose path is in its environment.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/** What the loop did since it was last asked, without rest and without waiting for a processor. */
export interface LoopReading {
  /** How long it came to nothing else, at the most. */
  readonly heldMs: number;
  /** In all. */
  readonly workedMs: number;
}

export interface MemoryReading {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** How often the loop is looked at. */
const LOOK_MS = 2;

const COLLECTIONS = 4;
const PAUSE_MS = 250;

/** All since the process began. */
interface Times {
  /** Not resting. */
  readonly activeMs: number;
  /** On a processor, and ready for one; 0 where the system does not tell. */
  readonly busyMs: number;
  readonly waitedMs: number;
}

let reading: LoopReading = { heldMs: 0, workedMs: 0 };
let last = timesNow();

function timesNow(): Times {
  const { active: activeMs } = performance.eventLoopUtilization();
  const [busy, waited] = schedule();
  return { activeMs, busyMs: busy / 1e6, waitedMs: waited / 1e6 };
}

function schedule(): readonly [busyNs: number, waitedNs: number] {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8");
    const [busy = 0, waited = 0] = text.split(" ").map(Number);
    return [busy, waited];
  } catch {
    return [0, 0];
  }
}

function look(): void {
  const now = timesNow();
  // What it waited while it was resting is in neither, so the processor's time is the least of it.
  const activeMs = now.activeMs - last.activeMs - (now.waitedMs - last.waitedMs);
  const heldMs = Math.max(activeMs, now.busyMs - last.busyMs);
  reading = {
    heldMs: Math.max(reading.heldMs, heldMs),
    workedMs: reading.workedMs + heldMs,
  };
  last = now;
}

// The threads of the server load this file too.
if (isMainThread) setInterval(look, LOOK_MS).unref();

function loop(): LoopReading {
  look();
  const done = reading;
  reading = { heldMs: 0, workedMs: 0 };
  return done;
}

async function memory(): Promise<MemoryReading> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < COLLECTIONS; i++) {
    collect();
    await setTimeout(PAUSE_MS);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heapUsed, external };
}

const path = process.env["WATCH_SOCKET"];
if (path !== undefined && isMainThread) {
  createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (word) => {
      const answer = word.toString() === "memory" ? memory() : Promise.resolve(loop());
      void answer.then((reported) => socket.end(JSON.stringify(reported)));
    });
  })
    .listen(path)
    .unref();
}
