/**
 * Proof that the change feed and webhooks lose nothing: every change reaches each reader and each
 * receiver, in order, while they are killed at random and many other readers do not keep up.
 */
import { writeFileSync } from "node:fs";
import { follow } from "./changes/followers.mjs";
import { report } from "./support/verdict.mjs";

export { parseOptions, USAGE } from "./changes/options.mjs";

/** Of the server. */
const MEMORY_MB_MAX = 700;

/** Returns the code that the process exits with. */
export async function prove(options) {
  console.log(`seed ${options.seed}`);
  const result = await follow(options, console.log);
  const { changes, seconds, kills, repeats, memoryMb, failures } = result;
  console.log(
    `${changes} changes in ${seconds.toFixed(0)} s, ${kills} processes killed, ${repeats} lines repeated`,
  );
  const checks = [
    ["each gets every change, once and in order", failures.length === 0, failures.join("; ")],
    [
      `memory of the server is under ${MEMORY_MB_MAX} MB`,
      memoryMb < MEMORY_MB_MAX,
      `${memoryMb.toFixed(0)} MB`,
    ],
  ];
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(result));
  return report(checks);
}
