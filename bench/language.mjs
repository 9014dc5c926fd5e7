/**
 * Benchmark of the query language: twelve kinds of statements on documents on disk. It compares Big
 * Peer in process, the reference SDK, SQLite with JSON, and raw LMDB with the least work that can
 * answer each statement.
 *
 * Each contestant is a process of its own. In a round, each contestant runs all operations on a new
 * folder; the order of the contestants changes from round to round. Every answer is checked, and a
 * wrong answer has no time.
 *
 *   --rounds N       rounds (default 5)
 *   --documents N    documents (default 50000)
 *   --seconds N      how long a round repeats short operations (default 1)
 *   --only a,b       only these operations, and those that they depend on
 *   --without a,b    leave out contestants: ditto, sqlite, lmdb
 *   --cpu            also measure the processor time of all threads, steadier on a busy machine
 *   --quick          3 rounds of 0.5 seconds, Big Peer and raw LMDB only
 *   --large          Big Peer only: 3 rounds of 50,000 documents, then one of 1,000,000
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ContestantProcess, KNOWN } from "./language/contestants.mjs";
import { isPossible } from "./language/documents.mjs";
import { OPERATIONS, roundOf } from "./language/operations.mjs";
import {
  Measured,
  printGrowth,
  printSizes,
  printSpreads,
  printTable,
  printWrong,
} from "./language/report.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "language"),
  options: {
    rounds: { type: "string" },
    documents: { type: "string" },
    seconds: { type: "string" },
    only: { type: "string" },
    without: { type: "string", default: "" },
    cpu: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    large: { type: "boolean", default: false },
  },
});
const ROUNDS = Number(options.rounds ?? (options.quick ? 3 : 5));
const PHASE_MS = Number(options.seconds ?? (options.quick ? 0.5 : 1)) * 1000;
const DOCUMENTS = Number(options.documents ?? 50_000);
const LARGE = Number(options.documents ?? 1_000_000);
const HEAP_MB = 4096;
const LARGE_HEAP_MB = 12_288;

const ALL = OPERATIONS.map(({ name }) => name);
const asked = options.only?.split(",") ?? ALL;
const left = options.quick ? ["ditto", "sqlite"] : options.without.split(",");

function participants() {
  if (options.large) return KNOWN.filter(({ name }) => name === "ours");
  return KNOWN.filter(({ name }) => !left.some((word) => word !== "" && name.includes(word)));
}

/** Runs one operation on one contestant. A contestant whose process ended is removed. */
async function ask(contestant, message, alive) {
  try {
    return await contestant.ask(message);
  } catch (error) {
    console.log(`${contestant.name} is removed: ${error.message}`);
    alive.delete(contestant);
    return { wrong: error.message };
  }
}

/** Runs one operation on all contestants in turn. */
async function inTurn(alive, turn, message, take) {
  const order = [...alive];
  for (let i = 0; i < order.length; i++) {
    const contestant = order[(i + turn) % order.length];
    const answer = await ask(contestant, message, alive);
    take?.(contestant.name, answer);
  }
}

/** Runs all rounds. Returns results by operation and contestant, and sizes by contestant. */
async function measure({ documents, rounds, phaseMs, heapMb }) {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
  const started = [];
  try {
    for (const known of participants()) {
      const given = { folder, documents, phaseMs, heapMb };
      const contestant = await ContestantProcess.start(known, given);
      if (contestant !== undefined) started.push(contestant);
    }
    const alive = new Set(started);
    const contestants = [...alive].map(({ name }) => name);
    const results = new Map(
      OPERATIONS.map(({ name, unit }) => [
        name,
        new Map(contestants.map((contestant) => [contestant, new Measured(unit)])),
      ]),
    );
    const sizes = new Map();
    for (let number = 0; number < rounds; number++) {
      process.stderr.write(`round ${number + 1} of ${rounds}\n`);
      await inTurn(alive, number, { kind: "open", number });
      for (const operation of roundOf(asked)) {
        await inTurn(alive, number, { kind: "run", operation }, (name, answer) =>
          results.get(operation).get(name).add(answer),
        );
      }
      await inTurn(alive, number, { kind: "close" }, (name, size) => sizes.set(name, size));
    }
    return { documents, results, sizes, contestants };
  } finally {
    await Promise.all(started.map((contestant) => contestant.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOf({ documents, sizes }) {
  return [`${documents.toLocaleString("en")} documents`, sizes.get("ours")];
}

/** Several rounds with few documents. With many, one round is long enough to warm up. */
async function measureGrowth() {
  const phaseMs = PHASE_MS;
  const few = await measure({ documents: 50_000, rounds: 3, phaseMs, heapMb: HEAP_MB });
  const rounds = Number(options.rounds ?? 1);
  const many = await measure({ documents: LARGE, rounds, phaseMs, heapMb: LARGE_HEAP_MB });
  printGrowth(asked, [few, many]);
  printSizes([few, many].map(sizeOf));
}

async function main() {
  const unknown = asked.filter((name) => !ALL.includes(name));
  if (unknown.length > 0 || !isPossible(DOCUMENTS) || !isPossible(LARGE)) {
    console.error(
      `expected --only with some of ${ALL.join(", ")}, and --documents with a multiple of 5000 from 10000 on`,
    );
    process.exitCode = 1;
    return;
  }
  if (options.large) {
    await measureGrowth();
    return;
  }
  const given = { documents: DOCUMENTS, rounds: ROUNDS, phaseMs: PHASE_MS, heapMb: HEAP_MB };
  const { results, sizes, contestants } = await measure(given);
  console.log(
    `${DOCUMENTS.toLocaleString("en")} documents, ${ROUNDS} rounds, short operations for ${PHASE_MS / 1000} s`,
  );
  const report = { names: asked, results, contestants };
  printTable(report, "ms");
  printSpreads(report);
  if (options.cpu) printTable(report, "cpuMs");
  printWrong(results);
  printSizes(sizes);
}

await main();
