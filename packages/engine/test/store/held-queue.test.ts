/**
 * Requests that take longer than a slice: they hold the queue of their store and nothing else.
 */

import { setImmediate } from "node:timers/promises";
import type { Operation, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { SLICE_MS } from "../../src/limits.ts";
import type { Steps } from "../../src/steps.ts";
import type { Transaction } from "../../src/store/transaction.ts";
import { type CountedStore, MS_PER_READ, openCounted } from "../support/counted-store.ts";
import { fieldsOf, problems } from "../support/open-store.ts";

/** Reads of a slice, and what a step or the end of a request may add. */
const PIECE_MAX = SLICE_MS / MS_PER_READ + 20;

function insert(id: string, n = 0): Operation {
  return { kind: "insert", collection: "c", id, fields: { n } };
}

function set(id: string, n: number): Operation {
  const edits = [{ kind: "set", path: ["n"], value: n }] as const;
  return { kind: "update", collection: "c", id, edits };
}

function put({ store }: CountedStore, id: string, n = 0): Promise<number> {
  return store.transact((each) => each.apply([insert(id, n)])).then(({ txnId }) => txnId);
}

function nOf(transaction: Transaction, id: string): number {
  return (transaction.get("c", id)?.fields["n"] as number | undefined) ?? 0;
}

/** Reads a document that is not there `count` times, then counts `id` up. */
function* countSlowly(transaction: Transaction, id: string, count: number): Steps<number> {
  for (let i = 0; i < count; i++) {
    transaction.view.get("c", `none${i}`);
    yield;
  }
  const n = nOf(transaction, id) + 1;
  yield* transaction.applyInSteps([set(id, n)]);
  return n;
}

function slow({ store }: CountedStore, id: string, count = 1000): Promise<number> {
  const evaluate = (transaction: Transaction): Steps<number> => countSlowly(transaction, id, count);
  return store.transactInSteps(evaluate).then(({ result }) => result);
}

/** What a request that must fail is refused with. */
function codeOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => "none",
    (error: PeerError) => error.code,
  );
}

async function settle(times = 20): Promise<void> {
  for (let i = 0; i < times; i++) await setImmediate();
}

async function openWith(...ids: string[]): Promise<CountedStore> {
  const open = await openCounted();
  for (const id of ids) await put(open, id);
  open.work.takeLongest();
  return open;
}

test("[K34] a request that finishes in its first slice is evaluated at once", async () => {
  const open = await openWith("x");
  let isEvaluated = false;
  const done = open.store.transactInSteps(function* short(transaction) {
    yield* countSlowly(transaction, "x", 10);
    isEvaluated = true;
  });
  expect(isEvaluated).toBe(true);
  await done;
});

test("[K34] a long request continues in slices, and later writes wait for it in order", async () => {
  const open = await openWith("x");
  const ended: string[] = [];
  const first = slow(open, "x").then((n) => ended.push(`long ${n}`));
  const second = open.store
    .transact((transaction) => {
      const n = nOf(transaction, "x") + 1;
      transaction.apply([set("x", n)]);
      return n;
    })
    .then(({ result }) => result)
    .then((n) => ended.push(`short ${n}`));
  expect(open.store.stats().queueLength).toBe(2);
  await Promise.all([first, second]);
  expect(ended).toEqual(["long 1", "short 2"]);
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX);
  expect(open.work.pauses).toBeGreaterThan(5);
  expect(fieldsOf(open.store, "c", "x")).toEqual({ n: 2 });
  expect(problems(open.storage)).toEqual([]);
});

test("[K34] reads and writes of other stores continue meanwhile", async () => {
  const open = await openWith("x");
  const other = await openWith();
  let isDone = false;
  const long = slow(open, "x", 5000).then(() => {
    isDone = true;
  });
  for (let i = 0; i < 10; i++) {
    await put(other, `d${i}`);
    expect(fieldsOf(open.store, "c", "x")).toEqual({ n: 0 });
  }
  expect(isDone).toBe(false);
  await long;
});

test("[K34] earlier groups are flushed and answered while it continues", async () => {
  const open = await openWith("x");
  open.disk.holdSyncs();
  const flushing = put(open, "a");
  await Promise.resolve();
  await Promise.resolve();
  const next = put(open, "b");
  const ended: string[] = [];
  const long = slow(open, "x", 20_000).then(() => ended.push("long"));
  void flushing.then(() => ended.push("a"));
  void next.then(() => ended.push("b"));
  await settle();
  expect(open.disk.syncNext()).toBe(true);
  await settle();
  expect(ended).toEqual(["a"]);
  expect(open.store.txnId).toBe(await flushing);
  expect(open.disk.syncNext()).toBe(true);
  await settle();
  expect(ended).toEqual(["a", "b"]);
  expect(fieldsOf(open.store, "c", "b")).toEqual({ n: 0 });
  open.disk.releaseSyncs();
  await long;
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX);
  expect(problems(open.storage)).toEqual([]);
});

test("[K34] it reads one state, whatever is flushed meanwhile", async () => {
  const open = await openWith("x");
  open.disk.holdSyncs();
  const before = [put(open, "a", 1)];
  await Promise.resolve();
  await Promise.resolve();
  before.push(put(open, "b", 2));
  const long = open.store.transactInSteps(function* read(transaction) {
    const seen: unknown[] = [];
    for (const { id, fields } of transaction.view.scan("c")) {
      seen.push([id, fields["n"]]);
      yield* countSlowly(transaction, "x", 300);
    }
    return [seen, nOf(transaction, "a"), nOf(transaction, "b"), transaction.txnId];
  });
  for (let i = 0; i < 4; i++) {
    await settle(3);
    open.disk.syncNext();
  }
  open.disk.releaseSyncs();
  const { result, txnId } = await long;
  expect(result).toEqual([
    [
      ["a", 1],
      ["b", 2],
      ["x", 0],
    ],
    1,
    2,
    txnId,
  ]);
  expect(txnId).toBe((await Promise.all(before)).length + 2);
  expect(problems(open.storage)).toEqual([]);
});

test("[K24] [K34] when a flush that it builds on fails, it is evaluated again, in order", async () => {
  const open = await openWith("x");
  open.disk.holdSyncs();
  open.disk.failNextWrite("store.full");
  const doomed = codeOf(put(open, "a"));
  await Promise.resolve();
  await Promise.resolve();
  const next = put(open, "b");
  const seen: unknown[] = [];
  let closed = 0;
  const long = open.store.transactInSteps(function* again(transaction) {
    seen.push(transaction.get("c", "a")?.fields);
    let isDone = false;
    try {
      yield* countSlowly(transaction, "x", 20_000);
      isDone = true;
    } finally {
      if (!isDone) closed++;
    }
  });
  const last = slow(open, "x", 0);
  await settle();
  open.disk.releaseSyncs();
  expect(await doomed).toBe("store.full");
  const [b, { txnId }, n] = await Promise.all([next, long, last]);
  expect(seen).toEqual([{ n: 0 }, undefined]);
  expect(closed).toBe(1);
  expect(n).toBe(2);
  expect(b).toBeLessThan(txnId);
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX);
  expect(problems(open.storage)).toEqual([]);
});

test("[K24] [K34] many requests that are evaluated again run in slices", async () => {
  const open = await openWith("x");
  open.disk.holdSyncs();
  open.disk.failNextWrite("store.full");
  const doomed = codeOf(put(open, "a"));
  await settle(2);
  const again = Array.from({ length: 300 }, async () => {
    const counted = slow(open, "x", 5);
    // Each in a turn of its own, as they come from outside.
    await setImmediate();
    return counted;
  });
  await settle(2);
  open.work.takeLongest();
  open.disk.releaseSyncs();
  expect(await doomed).toBe("store.full");
  expect(await Promise.all(again)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX);
  expect(fieldsOf(open.store, "c", "x")).toEqual({ n: 300 });
});

test("[K34] requests that arrive together share one slice", async () => {
  const open = await openWith("x");
  const all = Array.from({ length: 20 }, () => slow(open, "x", 60));
  expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX + 60);
});

test("[K34] one that fails midway fails alone", async () => {
  const open = await openWith("x");
  const long = open.store.transactInSteps(function* failing(transaction) {
    yield* transaction.applyInSteps([insert("lost")]);
    yield* countSlowly(transaction, "x", 1000);
    throw new TypeError("half-way");
  });
  const next = put(open, "b");
  await expect(long).rejects.toThrow("half-way");
  await next;
  expect(fieldsOf(open.store, "c", "lost")).toBeUndefined();
  expect(fieldsOf(open.store, "c", "x")).toEqual({ n: 0 });
});

test("[K34] close waits for it and for all requests after it", async () => {
  const open = await openWith("x");
  const all = [slow(open, "x"), slow(open, "x"), put(open, "b")];
  await open.store.close();
  expect(await Promise.all(all)).toEqual([1, 2, 4]);
});

test("[K34] a transaction of many operations is applied and closed in slices", async () => {
  const open = await openWith();
  const operations = Array.from({ length: 1000 }, (_, i) => insert(`d${i}`, i));
  let steps = 0;
  const { txnId } = await open.store.transactInSteps(function* many(transaction) {
    const applying = transaction.applyInSteps(operations);
    let step = applying.next();
    for (; step.done !== true; step = applying.next()) {
      steps++;
      yield;
    }
    expect(step.value).toHaveLength(1000);
  });
  expect(steps).toBeGreaterThan(2000);
  expect(open.work.takeLongest()).toBeLessThanOrEqual(PIECE_MAX);
  const record = open.store.read((snapshot) => {
    const cursor = { historyId: open.store.identity.historyId, txnId: txnId - 1 };
    const changes = snapshot.changesSince(cursor);
    return changes.kind === "changes" ? [...changes.transactions][0]?.record : undefined;
  });
  expect(record?.changes.map(([operation]) => operation)).toEqual(operations.map((_, i) => i));
  expect(problems(open.storage)).toEqual([]);
});
