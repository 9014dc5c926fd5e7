/**
 * Runs a proof: `npm run prove -- availability`. A proof starts the real server, attacks it in the
 * ways that the documentation says it withstands, and exits with 1 if a guarantee does not hold.
 * Proofs take minutes and need a quiet machine, so they are not part of the tests. Each proof is a
 * file with the text of its help, the reader of its options, and `prove`, which runs it.
 */
import { readdirSync } from "node:fs";

const available = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
  .map((file) => file.slice(0, -".mjs".length))
  .toSorted();

const [name, ...rest] = process.argv.slice(2);
if (name === undefined || !available.includes(name)) {
  console.error(`expected the name of a proof (${available.join(", ")}), found ${name ?? "none"}`);
  process.exitCode = 2;
} else {
  process.exitCode = await run(await import(`./${name}.mjs`), rest);
}

async function run({ parseOptions, USAGE, prove }, words) {
  let options;
  try {
    options = parseOptions(words);
  } catch (error) {
    console.error(`bigpeer: ${error.message}`);
    return 2;
  }
  if (!options.help) return prove(options);
  console.log(USAGE);
  return 0;
}
