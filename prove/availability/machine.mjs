/**
 * Measures how quiet the machine is. A virtual machine shares its processors with others. Time that
 * the host takes away stops the server and the prober alike, and is not caused by the server.
 */
import { readFileSync } from "node:fs";

const STEAL = 7;
const COUNTED = 8;

/** Ticks of all processors: those that the host took away, and all. */
function ticks() {
  const [line] = readFileSync("/proc/stat", "latin1").split("\n", 1);
  const counts = line
    .trim()
    .split(/\s+/)
    .slice(1, 1 + COUNTED)
    .map(Number);
  return { stolen: counts[STEAL], all: counts.reduce((sum, count) => sum + count, 0) };
}

/** Starts a measurement. The result returns the share of processor time that the host took. */
export function watchSteal() {
  const begin = ticks();
  return () => {
    const end = ticks();
    return (end.stolen - begin.stolen) / Math.max(1, end.all - begin.all);
  };
}
