/**
 * Benchmark of statement preparation: the time before a statement reads data, for a new statement
 * and for one in the cache.
 *
 * The floor of a repeated statement is the read itself: open a snapshot, look up a document that
 * does not exist, close the snapshot.
 */
import { StatementRunner } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";

const STATEMENTS = [
  "SELECT * FROM cars WHERE _id = :id",
  "SELECT make, count(*) AS n FROM cars WHERE year >= :from AND color IN :colors GROUP BY make ORDER BY n DESC LIMIT 10",
  "UPDATE cars SET price = price - :off, sold.at = :at WHERE make = 'Fiat' AND year < 2016 RETURNING _id",
];
const ARGS = { id: "a", from: 2015, colors: ["red", "blue"], off: 10, at: "2026-01-01T00:00:00Z" };
const ROUNDS = 7;

const store = await Store.open(new MemoryKeyValue(), nodePlatform);
const runner = new StatementRunner({ store, platform: nodePlatform, appId: "bench" });

const line = (name, micros) =>
  console.log(`  ${name.padEnd(58)} ${micros.toFixed(2).padStart(8)} µs`);
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** Microseconds of one call, the median of several rounds. */
async function measure(count, work) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let i = 0; i < count; i++) await work(i);
    rounds.push(((performance.now() - start) * 1000) / count);
  }
  return median(rounds);
}

for (const text of STATEMENTS) {
  console.log(`\n  ${text.slice(0, 70)}${text.length > 70 ? "…" : ""}`);
  let fresh = 0;
  // A different comment makes a statement that is not in the cache.
  line(
    "parsed, bound, planned, compiled",
    await measure(2000, () => runner.prepare(`${text} -- ${fresh++}`)),
  );
  line("the same from the cache", await measure(50_000, () => runner.prepare(text)));
}

// The time from text and arguments to the first read, which a recording store reports.
let begun = 0;
let before = 0;
const noting = {
  snapshot: () => {
    before += performance.now() - begun;
    return store.snapshot();
  },
};
const noted = new StatementRunner({ store: noting, platform: nodePlatform, appId: "bench" });

async function repeat() {
  begun = performance.now();
  await noted.execute({ statement: STATEMENTS[0], args: ARGS });
}

const COUNT = 20_000;
const rounds = [];
for (let round = 0; round < ROUNDS; round++) {
  before = 0;
  for (let i = 0; i < COUNT; i++) await repeat();
  rounds.push((before * 1000) / COUNT);
}

console.log("");
const floor = await measure(COUNT, async () =>
  store.read((snapshot) => [snapshot.get("cars", ARGS.id), snapshot.txnId]),
);
const whole = await measure(COUNT, () => runner.execute({ statement: STATEMENTS[0], args: ARGS }));
line("a repeated SELECT by id: before it touches data", median(rounds));
line("the same with its rows and its answer", whole);
line("the read alone (floor)", floor);
await store.close();
