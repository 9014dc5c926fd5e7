/**
 * Floor of durable upserts: raw LMDB in a process of its own, without HTTP. Each message of the
 * parent process is one round of one of two kinds.
 *
 * `puts` writes the records that the same upserts write in the store (document, metadata, change
 * index, log). They were recorded from a store in memory. One commit holds as many upserts as there
 * are connections. `documents` writes the documents alone: one writer for each connection waits for
 * its own put, and LMDB groups the puts.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { StatementRunner } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { openRaw, putGroup, Recorder } from "../floor/raw-lmdb.mjs";
import { DOCUMENTS, upsertOf } from "./cases.mjs";

const LOAD_BATCH = 1000;
const folder = process.argv[2] ?? "";
mkdirSync(folder, { recursive: true });
const raw = openRaw(join(folder, "puts"));
const documents = openRaw(join(folder, "documents"));
const recorder = new Recorder(new MemoryKeyValue());
const store = await Store.open(recorder, nodePlatform);
const runner = new StatementRunner({ store, platform: nodePlatform, appId: "bench" });

/** Records that groups of `writers` upserts write, from number `from` on. */
async function record(from, count, writers) {
  const groups = [];
  for (let i = from; i < from + count; i += writers) {
    recorder.groups = [];
    const upserts = Array.from({ length: writers }, (_, j) => upsertOf(i + j));
    await Promise.all(upserts.map((upsert) => runner.write({ commands: [upsert] })));
    groups.push(recorder.groups.flat());
  }
  recorder.groups = undefined;
  return groups;
}

async function load() {
  for (const group of await record(0, DOCUMENTS, LOAD_BATCH)) await putGroup(raw, group);
  for (let i = 0; i < DOCUMENTS; i += LOAD_BATCH) {
    const upserts = Array.from({ length: LOAD_BATCH }, (_, j) => upsertOf(i + j));
    await putGroup(
      documents,
      upserts.map(({ id, value }) => [id, value]),
    );
  }
}

async function puts({ from, count, connections, seconds }) {
  const groups = await record(from, count, connections);
  const times = [];
  const start = performance.now();
  for (const group of groups) {
    const begun = performance.now();
    if (begun - start > seconds * 1000) break;
    await putGroup(raw, group);
    times.push(performance.now() - begun);
  }
  const elapsedMs = performance.now() - start;
  return { count: times.length * connections, elapsedMs, times };
}

async function documentsAlone({ from, count, connections, seconds }) {
  const upserts = Array.from({ length: count }, (_, i) => upsertOf(from + i));
  const times = [];
  let sent = 0;
  const start = performance.now();
  const writer = async () => {
    for (;;) {
      const begun = performance.now();
      if (begun - start > seconds * 1000) return;
      const { id, value } = upserts[sent++ % count];
      await documents.put(id, value);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: connections }, writer));
  return { count: times.length, elapsedMs: performance.now() - start, times };
}

process.on("message", (asked) => {
  const round = asked.kind === "puts" ? puts : documentsAlone;
  void round(asked).then((result) => process.send?.(result));
});
await load();
process.send?.({});
