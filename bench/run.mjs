/**
 * Runs measurements: `npm run bench` for all of them, `npm run bench -- store` for one. What begins
 * with `--` after the names is for the measurements, which read it themselves.
 *
 * A measurement is a file in this folder that imports the built packages by name, and prints what it
 * measured as it runs. Numbers are compared by people, not by a threshold: machines differ.
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
  console.error(`no measurement named ${unknown.join(", ")}; there are: ${available.join(", ")}`);
  process.exitCode = 1;
} else {
  for (const name of asked.length > 0 ? asked : available) {
    console.log(`\n${name}`);
    await import(`./${name}.mjs`);
  }
}
