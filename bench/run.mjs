/**
 * Runs benchmarks: `npm run bench` runs all of them, and `npm run bench -- store` runs one. Options
 * after the names go to the benchmarks, which parse them.
 *
 * A benchmark is a file in this folder that imports the built packages by name and prints its
 * results. There are no thresholds, because machines differ: people compare the figures.
 */
import { readdirSync } from "node:fs";

const available = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
  .map((file) => file.slice(0, -".mjs".length))
  .toSorted();

const given = process.argv.slice(2);
const firstOption = given.findIndex((argument) => argument.startsWith("--"));
const asked = firstOption === -1 ? given : given.slice(0, firstOption);
const unknown = asked.filter((name) => !available.includes(name));

if (unknown.length > 0) {
  console.error(`no benchmark named ${unknown.join(", ")}; available: ${available.join(", ")}`);
  process.exitCode = 1;
} else {
  for (const name of asked.length > 0 ? asked : available) {
    console.log(`\n${name}`);
    await import(`./${name}.mjs`);
  }
}
