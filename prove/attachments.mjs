/**
 * Proof that attachments arrive whole, whatever happens on the way: two small peers and a server, with
 * connections that are cut and processes that are killed.
 */
import { transfer } from "./attachments/transfers.mjs";
import { report } from "./support/verdict.mjs";

export { parseOptions, USAGE } from "./attachments/options.mjs";

/** What a process may use, and how much may be sent twice. */
const MEMORY_MAX = 200e6;
const TWICE_MAX = 0.05;

/** Returns the code that the process exits with. */
export async function prove(options) {
  console.log(`seed ${options.seed}`);
  const result = await transfer(options, console.log);
  const { bytes, sent, received, memory, cuts, kills, seconds, failures } = result;
  console.log(
    `${megabytes(bytes)} in ${seconds.toFixed(0)} s, ${cuts} connections cut, ${kills} processes killed`,
  );
  const checks = [
    ["all files arrived whole", failures.length === 0, failures.join("; ")],
    ...Object.entries(memory).map(([name, most]) => [
      `memory of the ${name} is under 200 MB`,
      most < MEMORY_MAX,
      megabytes(most),
    ]),
    ...[
      ["sent", sent],
      ["received", received],
    ].map(([way, count]) => [
      `at most 5 % is ${way} twice`,
      count <= bytes * (1 + TWICE_MAX),
      `${((count / bytes - 1) * 100).toFixed(2)} %`,
    ]),
  ];
  return report(checks);
}

function megabytes(count) {
  return `${(count / 1e6).toFixed(1)} MB`;
}
