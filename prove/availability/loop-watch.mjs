/**
 * Preload module of the attacked server: writes each long turn of its event loop to a file, one
 * line each.
 *
 * A timer fires in every turn of a busy loop, so the processor time of the main thread between two
 * firings is the work of one turn. Unlike wall time, it does not grow when other programs use the
 * machine. Where the system does not report it, wall time is used.
 */
import { appendFileSync, openSync, readSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const LOOK_MS = 10;
const NOTED_MS = 25;

const file = process.env.PROVE_LOOP_FILE;
const parent = process.ppid;
const buffer = Buffer.alloc(128);
const cpuMs = cpuClock();
let before = { wall: performance.now(), cpu: cpuMs() };

/** Processor time of this thread in milliseconds. */
function cpuClock() {
  try {
    const fd = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
    return () => Number(buffer.latin1Slice(0, readSync(fd, buffer, 0, 128, 0)).split(" ")[0]) / 1e6;
  } catch {
    return () => performance.now();
  }
}

function look() {
  // The parent is gone, and no other process would stop this one.
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  const now = { wall: performance.now(), cpu: cpuMs() };
  const cpu = now.cpu - before.cpu;
  const wall = now.wall - before.wall;
  before = now;
  if (wall >= NOTED_MS) {
    appendFileSync(file, `${Date.now()} ${cpu.toFixed(1)} ${wall.toFixed(1)}\n`);
  }
}

// Other threads load this file too, but their work does not block requests.
if (file !== undefined && isMainThread) setInterval(look, LOOK_MS).unref();
