/**
 * Proof that attachments arrive whole, whatever happens on the way: two small peers and a server, with
 * connections that are cut and processes that are killed.
 */
import { parseOptions, USAGE } from "./attachments/options.mjs";
import { transfer } from "./attachments/transfers.mjs";

/** What a process may use, and how much may be sent twice. */
const MEMORY_MAX = 200e6;
const TWICE_MAX = 0.05;

/** The code that the process exits with. */
export async function prove(args) {
  let options;
  try {
    options = parseOptions(args);
  } catch (error) {
    console.error(`bigpeer: ${error.message}`);
    return 2;
  }
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
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
  for (const [what, holds, figure] of checks) {
    console.log(`${holds ? "holds" : "FAILS"}: ${what}${figure === "" ? "" : ` (${figure})`}`);
  }
  return checks.every(([, holds]) => holds) ? 0 : 1;
}

function megabytes(count) {
  return `${(count / 1e6).toFixed(1)} MB`;
}
