/**
 * Proof that `bigpeer import` is fast, that export and import give an equal store, and that both
 * survive being killed.
 */
import { writeFileSync } from "node:fs";
import { transfer } from "./import/transfers.mjs";
import { report } from "./support/verdict.mjs";

export { parseOptions, USAGE } from "./import/options.mjs";

/** Of the rate of a bulk load over HTTP. */
const RATE_PART_MIN = 0.8;

/** Of the command, whatever the size of the file. */
const MEMORY_MB_MAX = 400;

/** Returns the code that the process exits with. */
export async function prove(options) {
  console.log(`seed ${options.seed}`);
  const result = await transfer(options, console.log);
  const { bulkRate, importRate, exportRate, memoryMb, kills, failures } = result;
  const rates = [bulkRate, importRate, exportRate].map((rate) => Math.round(rate));
  console.log(
    `${result.documents} documents in ${result.seconds.toFixed(0)} s; documents/s: bulk load ${rates[0]}, import ${rates[1]}, export ${rates[2]}`,
  );
  const part = importRate / bulkRate;
  const checks = [
    ["all stores are equal", failures.length === 0, failures.join("; ")],
    [`${kills} processes were killed`, kills === options.kills, ""],
    [`the import has ${RATE_PART_MIN} of the rate`, part >= RATE_PART_MIN, part.toFixed(2)],
    [
      `memory of the command is under ${MEMORY_MB_MAX} MB`,
      memoryMb < MEMORY_MB_MAX,
      `${memoryMb.toFixed(0)} MB`,
    ],
  ];
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(result));
  return report(checks);
}
