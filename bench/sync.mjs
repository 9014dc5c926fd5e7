/**
 * Benchmark of sync: the first download, one write to many subscribers, memory of idle connections,
 * the cost of a commit with many other subscribers, and the latency from a write to a subscriber.
 * It compares Big Peer with a floor on the bare `ws` package and with other products from npm.
 *
 * Each server and each kind of client is a process of its own. Rounds alternate, and medians are
 * compared, because the load of the machine varies.
 *
 *   --only a,b       some of download, fan-out, idle, commits, latency
 *   --without a,b    leave out some of triplit, pouchdb, hocuspocus
 *   --quick          a short run with small numbers, to check that everything works
 *   --documents N    documents of the first download (default 100000); other products get a tenth
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureCommits } from "./sync/commits.mjs";
import { measureDownload } from "./sync/download.mjs";
import { measureFanOut } from "./sync/fan-out.mjs";
import { measureIdle } from "./sync/idle.mjs";
import { measureLatency } from "./sync/latency.mjs";
import { stopAll } from "./sync/process.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    only: { type: "string" },
    without: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    documents: { type: "string" },
  },
});
const { quick } = options;
const without = options.without.split(",");

const PARTS = {
  download: ["The first download", measureDownload],
  "fan-out": ["One write to many", measureFanOut],
  idle: ["Memory of idle connections", measureIdle],
  commits: ["A commit with many who follow something else", measureCommits],
  latency: ["From a write to a subscriber", measureLatency],
};

/** Returns the result of `begin`, or undefined with a printed reason if it fails. */
async function takePart(name, begin) {
  if (without.includes(name)) return undefined;
  try {
    return await begin();
  } catch (error) {
    console.log(`${name} cannot take part: ${error.message.split("\n")[0]}`);
    if (name === "big peer") process.exitCode = 1;
    return undefined;
  }
}

async function main() {
  const asked = options.only?.split(",") ?? Object.keys(PARTS);
  const unknown = asked.filter((name) => PARTS[name] === undefined);
  if (unknown.length > 0) {
    console.error(`expected --only with some of ${Object.keys(PARTS).join(", ")}`);
    process.exitCode = 1;
    return;
  }
  const documents = Number(options.documents ?? (quick ? 10_000 : 100_000));
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
  try {
    for (const name of asked) {
      const [title, measure] = PARTS[name];
      console.log(`\n${title}`);
      await measure({ folder, quick, documents, takePart });
    }
  } finally {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
