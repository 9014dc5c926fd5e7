/**
 * Benchmark of live queries: the cost of durable upserts on LMDB without queries, with 10 queries
 * and with 10,000 queries that each select one owner.
 *
 * Every document has its own owner, and the upserts go over all documents evenly. With 10,000
 * queries each commit changes the result of one, and with 10 queries of hardly any. The comparison
 * therefore covers the whole cost: to find, evaluate and notify the query. Rounds of all stores
 * alternate, and medians are compared, because the load of the machine varies. `--queries N`,
 * `--seconds N` and `--rounds N` change the size of the run.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LiveQueries } from "@bigpeer/engine/query";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { fieldsOf, idOf } from "./floor/cars.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "live"),
  options: {
    queries: { type: "string", default: "10000" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
  },
});
const MANY = Number(options.queries);
const FEW = 10;
const PHASE_MS = Number(options.seconds) * 1000;
const ROUNDS = Number(options.rounds);
const LOAD_BATCH = 500;

const TEXT = "SELECT * FROM cars WHERE owner = :me";

function upsert(i, turn) {
  const fields = { ...fieldsOf(i), owner: `owner ${i}`, turn };
  return { kind: "insert", collection: "cars", id: idOf(i), fields };
}

/** Opens a store with `count` live queries. */
async function open(folder, count) {
  const storage = await openStorage(join(folder, String(count)));
  const store = await Store.open(storage, nodePlatform);
  const live = new LiveQueries({ store, platform: nodePlatform, appId: "bench" });
  const notified = { changed: 0 };
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    await live.register({ statement: TEXT, args: { me: `owner ${i}` } });
  }
  const registerUs = count === 0 ? 0 : ((performance.now() - start) * 1000) / count;
  const advance = async () => {
    const { changed } = await live.advance();
    notified.changed += changed.length;
  };
  store.onCommit(() => void advance());
  for (let i = 0; i < MANY; i += LOAD_BATCH) {
    const operations = [];
    for (let j = i; j < Math.min(i + LOAD_BATCH, MANY); j++) operations.push(upsert(j, 0));
    await store.transact((transaction) => transaction.apply(operations));
  }
  return { count, storage, store, live, notified, registerUs };
}

let turn = 0;

/** Processor time of a commit in microseconds, and commits a second, with `writers` writers. */
async function commits({ store, notified }, writers) {
  let done = 0;
  let next = turn;
  turn += 7919;
  const changedBefore = notified.changed;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const writer = async () => {
    while (performance.now() - start < PHASE_MS) {
      next = (next + 7919) % MANY;
      const operation = upsert(next, ++turn);
      await store.transact((transaction) => transaction.apply([operation]));
      done++;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return {
    cpuUs: (user + system) / done,
    perSecond: (done * 1000) / elapsedMs,
    notified: (notified.changed - changedBefore) / done,
  };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function figure(number, digits = 0) {
  const shown = number.toLocaleString("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
  return shown.padStart(14);
}

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
const opened = [];
try {
  for (const count of [0, FEW, MANY]) opened.push(await open(folder, count));
  const { live, registerUs } = opened[2];
  console.log(`${MANY} documents, one for each owner, ${ROUNDS} rounds`);
  console.log(
    `to register a query: ${registerUs.toFixed(1)} µs; held for all: ${live.heldBytes} bytes`,
  );
  for (const writers of [1, 64]) {
    const results = opened.map(() => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, each] of opened.entries()) results[i].push(await commits(each, writers));
    }
    console.log(`\n${writers} writer${writers > 1 ? "s" : ""}`);
    const head = ["queries", "a second", "CPU µs", "notified", "CPU ratio", "time ratio"];
    console.log(head.map((name) => name.padStart(14)).join(""));
    const of = (i, name) => median(results[i].map((result) => result[name]));
    for (const [i, { count }] of opened.entries()) {
      const line = [figure(count), figure(of(i, "perSecond")), figure(of(i, "cpuUs"), 1)];
      line.push(figure(of(i, "notified"), 2));
      line.push(figure(of(i, "cpuUs") / of(1, "cpuUs"), 2));
      line.push(figure(of(1, "perSecond") / of(i, "perSecond"), 2));
      console.log(line.join(""));
    }
  }
} finally {
  for (const { store, storage } of opened) {
    await store.close();
    await storage.close();
  }
  rmSync(folder, { recursive: true, force: true });
}
