/**
 * Runs measurements: `npm run bench` for all of them, `npm run bench -- store` for one.
 *
 * A measurement is a file in this folder that imports the built packages by name, and prints what it
 * measured as it runs. Numbers are compared by people, not by a threshold: machines differ.
 */
import { readdirSync } from "node:fs";

const available = readdirSync(new URL(".", import.meta.url))
  .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
  .map((file) => file.slice(0, -".mjs".length))
  .toSorted();

const asked = process.argv.slice(2);
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
