/**
 * Benchmark of the store against raw LMDB: durable commits with 1 and 64 writers, point reads, a
 * full scan with decoding, and bytes on disk.
 *
 * The floor is the lmdb package alone with the same settings. It makes exactly the puts and gets of
 * the store (documents, metadata, change index and log), in its own msgpack encoding with shared
 * structures. Rounds of both alternate, and medians are compared, because the load of the machine
 * varies. `--documents N`, `--seconds N` and `--rounds N` change the size of the run.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { fieldsOf, idOf } from "./floor/cars.mjs";
import { openRaw, putGroup, Recorder } from "./floor/raw-lmdb.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "store"),
  options: {
    documents: { type: "string", default: "100000" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
  },
});
const DOCUMENTS = Number(options.documents);
const PHASE_MS = Number(options.seconds) * 1000;
const ROUNDS = Number(options.rounds);
const LOAD_BATCH = 1000;

function insert(i) {
  return { kind: "insert", collection: "cars", id: idOf(i), fields: fieldsOf(i) };
}

async function load(store, raw, recorder) {
  recorder.groups = [];
  for (let i = 0; i < DOCUMENTS; i += LOAD_BATCH) {
    // One transaction for each document, like single writes.
    const writes = [];
    for (let j = i; j < Math.min(i + LOAD_BATCH, DOCUMENTS); j++) {
      writes.push(store.transact((transaction) => transaction.apply([insert(j)])));
    }
    await Promise.all(writes);
    for (const group of recorder.groups.splice(0)) await putGroup(raw, group);
  }
  recorder.groups = undefined;
}

/** Durable commits a second of `writers`, each with one commit in flight. */
async function storeCommits(store, writers, operations) {
  let started = 0;
  const start = performance.now();
  const writer = async () => {
    while (performance.now() - start < PHASE_MS) {
      const operation = operations[started++];
      await store.transact((transaction) => transaction.apply([operation]));
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return (started * 1000) / (performance.now() - start);
}

/** More inserts than can become durable in a phase. */
function manyInserts(writers, next) {
  const count = Math.ceil(((writers === 1 ? 6000 : 50_000) * PHASE_MS) / 1000);
  return Array.from({ length: count }, () => insert(next()));
}

/** The same puts with the lmdb package: one batch for `writers` transactions. */
async function rawCommits(raw, writers, groups) {
  let done = 0;
  const start = performance.now();
  for (let i = 0; i < groups.length && performance.now() - start < PHASE_MS; i++) {
    await putGroup(raw, groups[i]);
    done += writers;
  }
  return (done * 1000) / (performance.now() - start);
}

/** Records of groups of `writers` transactions, taken before from a store in memory. */
async function recordGroups(writers, operations) {
  const recorder = new Recorder(new MemoryKeyValue());
  const store = await Store.open(recorder, nodePlatform);
  recorder.groups = [];
  for (let i = 0; i < operations.length; i += writers) {
    await Promise.all(
      operations
        .slice(i, i + writers)
        .map((operation) => store.transact((transaction) => transaction.apply([operation]))),
    );
  }
  return recorder.groups;
}

function timed(count, work) {
  const start = performance.now();
  const seen = work();
  if (seen !== count) throw new Error(`expected ${count} documents, saw ${seen}`);
  return (count * 1000) / (performance.now() - start);
}

const READS = 100_000;

function storeReads(store, ids) {
  return timed(READS, () => {
    let seen = 0;
    for (const id of ids) {
      if (store.read((snapshot) => snapshot.get("cars", id)) !== undefined) seen++;
    }
    return seen;
  });
}

function snapshotReads(store, ids) {
  return store.read((snapshot) =>
    timed(READS, () => {
      let seen = 0;
      for (const id of ids) if (snapshot.get("cars", id) !== undefined) seen++;
      return seen;
    }),
  );
}

function rawReads(raw, ids, prefix) {
  return timed(READS, () => {
    let seen = 0;
    for (const id of ids) if (raw.get(`${prefix}${id}\x00`) !== undefined) seen++;
    return seen;
  });
}

function storeScan(store) {
  return store.read((snapshot) => {
    const count = snapshot.count("cars");
    return timed(count, () => {
      let seen = 0;
      for (const document of snapshot.scan("cars")) if (document.fields.make === "Volvo") seen++;
      return seen;
    });
  });
}

function rawScan(raw, count) {
  return timed(count, () => {
    let seen = 0;
    for (const { value } of raw.getRange({ start: "d", end: "e" })) {
      if (value.make === "Volvo") seen++;
    }
    return seen;
  });
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function figure(number) {
  return Math.round(number).toLocaleString("en").padStart(10);
}

function line(name, ours, floor) {
  const ratio = (median(ours) / median(floor)).toFixed(2);
  console.log(`${name.padEnd(34)}${figure(median(ours))}${figure(median(floor))}      ${ratio}`);
}

async function rounds(ours, floor) {
  const results = { ours: [], floor: [] };
  for (let round = 0; round < ROUNDS; round++) {
    results.ours.push(await ours(round));
    results.floor.push(await floor(round));
  }
  return results;
}

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
const storage = await openStorage(join(folder, "store"));
const recorder = new Recorder(storage);
const store = await Store.open(recorder, nodePlatform);
const raw = openRaw(join(folder, "raw"));
let counter = DOCUMENTS;
const next = () => counter++;

try {
  await load(store, raw, recorder);
  const { treeBranchPageCount, treeLeafPageCount, overflowPages, pageSize } = raw.getStats();
  const rawPages = treeBranchPageCount + treeLeafPageCount + overflowPages;
  const onDisk = {
    store: storage.usedBytes() / DOCUMENTS,
    raw: (rawPages * pageSize) / DOCUMENTS,
  };
  const sample = fieldsOf(1);
  const versionBytes = store.read((snapshot) => {
    const prefix = "m";
    for (const { value } of snapshot.reader.entries({ from: prefix, to: "n" })) return value.length;
    return 0;
  });

  const ids = Array.from({ length: READS }, (_, i) => idOf((i * 7919) % DOCUMENTS));
  const number = store.read((snapshot) => snapshot.collectionNumber("cars"));
  const prefix = `d${String.fromCharCode(0, 0, 0, number)}\x40`;

  console.log(
    `${DOCUMENTS} documents of ${JSON.stringify(sample).length} bytes of JSON, ${ROUNDS} rounds`,
  );
  console.log(
    `${"a second".padEnd(34)}${"store".padStart(10)}${"raw lmdb".padStart(10)}      ratio`,
  );
  const raws = () => rawReads(raw, ids, prefix);
  const reads = await rounds(() => snapshotReads(store, ids), raws);
  line("point reads in one snapshot", reads.ours, reads.floor);
  const single = await rounds(() => storeReads(store, ids), raws);
  line("point reads, a snapshot for each", single.ours, single.floor);
  const scans = await rounds(
    () => storeScan(store),
    () => rawScan(raw, DOCUMENTS),
  );
  line("full scan, documents", scans.ours, scans.floor);
  for (const writers of [1, 64]) {
    const commits = await rounds(
      () => storeCommits(store, writers, manyInserts(writers, next)),
      async () => rawCommits(raw, writers, await recordGroups(writers, manyInserts(writers, next))),
    );
    line(
      `durable commits, ${writers} writer${writers > 1 ? "s" : ""}`,
      commits.ours,
      commits.floor,
    );
  }
  console.log(
    `\nbytes a document, in used pages: ${Math.round(onDisk.store)} store, ` +
      `${Math.round(onDisk.raw)} raw (document, metadata, change index, log)`,
  );
  console.log(`metadata of a document written once: ${versionBytes} bytes`);
} finally {
  await store.close();
  await storage.close();
  await raw.close();
  rmSync(folder, { recursive: true, force: true });
}
