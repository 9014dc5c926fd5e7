/**
 * Runs the tests: `test.mjs unit`, `full` or `long`, and then options of Vitest and files. The tests
 * run the built packages, so the set-up comes before.
 *
 *   unit   what `npm test` runs
 *   full   the same with all generated cases
 *   long   random and endurance tests
 *
 * `TEST_WORKERS` is how many processes run unit tests at the same time.
 */

const WORKERS = "4";

const UNIT = ["--project", "unit", "--project", "isolated"];
const LONG = ["long", "replacing", "browsers", "pair *", "alone"].flatMap((name) => [
  "--project",
  name,
]);

const workers = `--maxWorkers=${process.env.TEST_WORKERS || WORKERS}`;

const KINDS = {
  unit: { words: [...UNIT, workers], env: {} },
  full: { words: [...UNIT, workers], env: { TEST_SIZE: "full" } },
  long: { words: LONG, env: {} },
};

const [kind = "", ...options] = process.argv.slice(2);
if (!Object.hasOwn(KINDS, kind)) {
  console.error(`bigpeer: expected ${Object.keys(KINDS).join(", ")}, found ${kind || "nothing"}`);
  process.exit(1);
}
const { words, env } = KINDS[kind];
Object.assign(process.env, { TEST_PACKAGES: "built", ...env });

// In this process, so that its signals and its exit code are those of Vitest.
process.argv.splice(2, process.argv.length, "run", ...words, ...options);
await import("../node_modules/vitest/vitest.mjs");
