/**
 * Observers: the first result at once, then each change, one call at a time.
 */
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { Gate } from "../src/gate.ts";
import { nodeHost } from "../src/node/node-host.ts";
import type { ObservedResult } from "../src/observer.ts";
import { openLocalStore } from "./support/open-local-store.ts";
import { settle, until } from "./support/turns.ts";

const QUERY = "SELECT * FROM tasks ORDER BY _id";

function idsOf({ items }: ObservedResult): unknown[] {
  return items.map((item) => item["_id"]);
}

test("the first result is delivered after the registration returned", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  const seen: unknown[] = [];
  local.registerObserver(QUERY, {}, (result) => seen.push(idsOf(result)));
  expect(seen).toEqual([]);
  await until(() => seen.length === 1);
  expect(seen).toEqual([[1]]);
});

test("an empty result is delivered too", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  local.registerObserver(QUERY, (result) => seen.push(idsOf(result)));
  await until(() => seen.length === 1);
  expect(seen).toEqual([[]]);
});

test("a change of the rows is delivered, a change of other documents is not", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  const query = "SELECT * FROM tasks WHERE owner = :me";
  local.registerObserver(query, { me: "ada" }, (result) => seen.push(idsOf(result)));
  await until(() => seen.length === 1);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1, 'owner': 'bob'})");
  await local.execute("INSERT INTO cars DOCUMENTS ({'_id': 2, 'owner': 'ada'})");
  await settle();
  expect(seen).toEqual([[]]);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 3, 'owner': 'ada'})");
  await until(() => seen.length === 2);
  expect(seen).toEqual([[], [3]]);
});

test("a callback that returns a promise is not called again before the promise settles", async () => {
  const { local } = await openLocalStore();
  const gates = [new Gate(), new Gate()];
  const seen: unknown[] = [];
  let running = 0;
  let most = 0;
  local.registerObserver(QUERY, async (result) => {
    most = Math.max(most, ++running);
    seen.push(idsOf(result));
    await gates[seen.length - 1]?.opened;
    running--;
  });
  await until(() => seen.length === 1);
  for (let i = 1; i <= 3; i++)
    await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': :i})", { i });
  await settle();
  expect(seen).toEqual([[]]);
  gates[0]?.open();
  await until(() => seen.length === 2);
  expect(seen).toEqual([[], [1, 2, 3]]);
  gates[1]?.open();
  await settle();
  expect(seen).toHaveLength(2);
  expect(most).toBe(1);
});

test("with signalNext the next result is delivered after the call, and not before", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  const signals: (() => void)[] = [];
  local.registerObserver(QUERY, {}, (result, signalNext) => {
    seen.push(idsOf(result));
    signals.push(signalNext);
  });
  await until(() => seen.length === 1);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 2})");
  await settle();
  expect(seen).toEqual([[]]);
  signals[0]?.();
  await until(() => seen.length === 2);
  expect(seen).toEqual([[], [1, 2]]);
});

test("signalNext may be called first: the callback still does not run concurrently", async () => {
  const { local } = await openLocalStore();
  const first = new Gate();
  const seen: unknown[] = [];
  local.registerObserver(QUERY, {}, async (result, signalNext) => {
    signalNext();
    seen.push(idsOf(result));
    if (seen.length === 1) await first.opened;
  });
  await until(() => seen.length === 1);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  await settle();
  expect(seen).toEqual([[]]);
  first.open();
  await until(() => seen.length === 2);
});

test("rows that changed back before the callback is ready are not delivered", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  const signals: (() => void)[] = [];
  local.registerObserver(QUERY, {}, (result, signalNext) => {
    seen.push(idsOf(result));
    signals.push(signalNext);
  });
  await until(() => seen.length === 1);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  await settle();
  await local.execute("DELETE FROM tasks");
  await settle();
  signals[0]?.();
  await settle();
  expect(seen).toEqual([[]]);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 2})");
  await until(() => seen.length === 2);
  expect(seen).toEqual([[], [2]]);
});

test("a callback that throws is reported and gets the next result nevertheless", async () => {
  const { local, errors } = await openLocalStore();
  let calls = 0;
  local.registerObserver(QUERY, {}, (_result, _signalNext) => {
    calls++;
    throw new Error(`call ${calls}`);
  });
  await until(() => errors.length === 1);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  await until(() => errors.length === 2);
  expect(errors.map(String)).toEqual(["Error: call 1", "Error: call 2"]);
});

test("after cancel nothing is delivered, and cancel may be called again", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  const observer = local.registerObserver(QUERY, (result) => seen.push(idsOf(result)));
  await until(() => seen.length === 1);
  expect(local.observers).toEqual([observer]);
  observer.cancel();
  observer.cancel();
  expect(observer.isCancelled).toBe(true);
  expect(local.observers).toEqual([]);
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1})");
  await settle();
  expect(seen).toEqual([[]]);
});

test("an observer that is cancelled at once is never called", async () => {
  const { local } = await openLocalStore();
  const seen: unknown[] = [];
  local.registerObserver(QUERY, (result) => seen.push(result)).cancel();
  await settle();
  expect(seen).toEqual([]);
});

test("two observers of one query are both called, and each has its own items", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO tasks DOCUMENTS ({'_id': 1, 'tags': ['a']})");
  const seen: unknown[] = [];
  local.registerObserver(QUERY, ({ items }) => {
    for (const item of items) (item["tags"] as string[]).push("changed");
  });
  local.registerObserver(QUERY, ({ items }) => seen.push(items));
  await until(() => seen.length === 1);
  expect(seen).toEqual([[{ _id: 1, tags: ["a"] }]]);
  expect((await local.execute(QUERY)).items).toEqual([{ _id: 1, tags: ["a"] }]);
});

test.each([
  ["INSERT INTO tasks DOCUMENTS ({})", "query.semantic"],
  ["SELECT", "query.syntax"],
  ["SELECT * FROM tasks WHERE a = :missing", "query.semantic"],
])("%s cannot be observed, and is refused at once", async (query, code) => {
  const { local, errors } = await openLocalStore();
  let found: unknown;
  try {
    local.registerObserver(query, () => undefined);
  } catch (error) {
    found = error instanceof PeerError ? error.code : error;
  }
  expect(found).toBe(code);
  expect(local.observers).toEqual([]);
  expect(errors).toEqual([]);
});

test("the error of a query that fails later goes to onFailed, or is reported", async () => {
  const error = new PeerError("query.busy", "the code for patterns cannot be loaded");
  const host = { ...nodeHost, loadCode: () => Promise.reject(error) };
  const { local, errors } = await openLocalStore({ host });
  const failures: Error[] = [];
  const ignore = (): void => {};
  const handled = local.registerObserver(QUERY, {}, ignore, (failure) => failures.push(failure));
  const reported = local.registerObserver(QUERY, ignore);
  await until(() => handled.isCancelled && reported.isCancelled);
  await settle();
  expect([failures, errors]).toEqual([[error], [error]]);
});
