/**
 * Benchmark of growth: how much more CREATE INDEX and single inserts cost in a large store than in a
 * small one. Both are on disk, with cars in random order of their ids.
 *
 * `--large N` and `--small N` are the numbers of documents, `--seconds N` the length of a round of
 * inserts.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fieldsOf, idOf } from "./floor/cars.mjs";
import { Contestant } from "./language/ours.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    large: { type: "string", default: "1000000" },
    small: { type: "string", default: "50000" },
    seconds: { type: "string", default: "3" },
  },
});
const [LARGE, SMALL] = [Number(options.large), Number(options.small)];
const ROUND_MS = Number(options.seconds) * 1000;
const ROUNDS = 3;
const LOAD_BATCH = 1000;
const WRITERS = 64;

function car(i) {
  return { _id: idOf(i), ...fieldsOf(i) };
}

async function load(store, count) {
  const start = performance.now();
  for (let i = 0; i < count; i += LOAD_BATCH) {
    await store.insertMany(Array.from({ length: LOAD_BATCH }, (_, j) => car(i + j)));
  }
  return performance.now() - start;
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Inserts a second, each of one document, by so many writers. */
async function inserts(state, writers) {
  const from = state.next;
  const start = performance.now();
  const writer = async () => {
    while (performance.now() - start < ROUND_MS) {
      await state.store.start("INSERT INTO cars DOCUMENTS (:car)", { car: car(state.next++) });
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return ((state.next - from) * 1000) / (performance.now() - start);
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}

const folder = mkdtempSync(join(tmpdir(), "bigpeer-growth-"));
const states = [];
try {
  for (const count of [SMALL, LARGE]) {
    const store = await Contestant.open(join(folder, String(count)));
    const loadMs = await load(store, count);
    console.log(`${count} documents: loaded ${Math.round((count * 1000) / loadMs)} a second`);
    states.push({ store, count, next: count });
  }
  for (const [name, writers] of [
    ["1 writer", 1],
    [`${WRITERS} writers`, WRITERS],
  ]) {
    const rates = states.map(() => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, state] of states.entries()) rates[i].push(await inserts(state, writers));
    }
    const [small, large] = rates.map(median);
    console.log(
      `single inserts, ${name}: ${Math.round(small)} and ${Math.round(large)} a second, ` +
        `${(small / large).toFixed(2)} times slower`,
    );
  }
  const builds = [];
  for (const { store } of states) {
    builds.push(await timed(() => store.start("CREATE INDEX by_price ON cars (price)")));
    builds[builds.length - 1] += await timed(async () => {
      while (await store.isIndexBuilding()) await new Promise((resolve) => setTimeout(resolve, 2));
    });
  }
  const [small = 0, large = 0] = builds;
  const times = large / small;
  console.log(
    `CREATE INDEX: ${Math.round(small)} and ${Math.round(large)} ms, ${times.toFixed(1)} times, ` +
      `${((times * SMALL) / LARGE).toFixed(2)} of the number of documents`,
  );
  for (const { store } of states) await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
