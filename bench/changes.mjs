/**
 * Benchmark of the change feed: one write to many readers of Server-Sent Events, beside a server on
 * `node:http` alone, and the cost of a commit with many readers of which each follows another value.
 *
 * Each server and each part of the readers is a process of its own. Rounds alternate, and medians
 * are compared, because the load of the machine varies.
 *
 *   --only a,b   some of fan-out, commits
 *   --quick      a short run with small numbers, to check that everything works
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compareCosts, OverSockets } from "./sync/commits.mjs";
import { Contestant, compareRates, startOurs } from "./sync/fan-out.mjs";
import { stopAll } from "./sync/process.mjs";
import { startBareEvents } from "./sync/servers.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    only: { type: "string", default: "fan-out,commits" },
    quick: { type: "boolean", default: false },
  },
});
const { quick } = options;
const asked = options.only.split(",");

const FEW = 10;
const MANY = quick ? 200 : 1_000;

/** The change feed, as clients connect to it. */
const FEED = "change feed";

async function measureFanOut(folder) {
  const bare = new Contestant("bare SSE", await startBareEvents());
  const server = await startOurs(folder);
  server.name = FEED;
  const ours = new Contestant(FEED, server);
  const contestants = [bare, ours];
  for (const contestant of contestants) await contestant.join(MANY);
  await compareRates({ contestants, bare, ours, clients: MANY, quick, floor: "bare SSE" });
}

/** `targets`: how many values are written. */
async function measureCommits(folder, title, targets) {
  const sides = [];
  for (const readers of [FEW, MANY]) {
    const place = join(folder, `of-${targets}`);
    sides.push(await OverSockets.open(place, readers, MANY, { name: FEED, targets }));
  }
  await compareCosts(title, sides, quick ? { count: 1, ms: 500 } : { count: 5, ms: 2_000 });
  for (const side of sides) await side.close();
}

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
try {
  if (asked.includes("fan-out")) {
    console.log("\nOne write to many readers");
    await measureFanOut(folder);
  }
  if (asked.includes("commits")) {
    console.log("\nA commit with many readers of other values");
    await measureCommits(folder, `the values of ${FEW} readers are written`, FEW);
    await measureCommits(folder, "the values of all readers are written", MANY);
  }
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
