/**
 * Runs the unit tests on other versions of Node, one after the other: `npm run test:versions`, or
 * `npm run test:versions -- 24` for some of them. Options of Vitest and files come after `--`:
 * `npm run test:versions -- 24 -- packages/node`.
 *
 * The packages are installed and built by the Node that runs this script. Their native code is the
 * same for all versions.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findNode, NODE_MAJORS } from "./node-version.mjs";

const script = fileURLToPath(new URL("test.mjs", import.meta.url));

const words = process.argv.slice(2);
const split = words.includes("--") ? words.indexOf("--") : words.length;
const named = words.slice(0, split).map(Number);
const others = NODE_MAJORS.filter((major) => !process.version.startsWith(`v${major}.`));
const options = words.slice(split + 1);

const failed = [];
for (const major of named.length === 0 ? others : named) {
  const { path, version, reason } = await findNode(major);
  console.log(`bigpeer: ${reason ?? `unit tests on Node ${version}`}`);
  if (path === undefined || runTests(path) !== 0) failed.push(major);
}
if (failed.length > 0) console.error(`bigpeer: failed on Node ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function runTests(node) {
  return spawnSync(node, [script, "unit", ...options], { stdio: "inherit" }).status;
}
