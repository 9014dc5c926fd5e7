/**
 * Components that share a query, without React: one observer, rows that stay the same objects.
 */
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openPeer, type Peer } from "../../src/index.ts";
import { followQuery, type QueryState } from "../../src/react/followed-query.ts";
import type { ProvidedPeer } from "../../src/react/provided-peer.ts";
import { SharedValues } from "../../src/react/shared-values.ts";
import { until } from "../support/turns.ts";

const QUERY = "SELECT * FROM tasks ORDER BY _id";

async function openTestPeer(): Promise<{ peer: Peer; values: SharedValues }> {
  const appId = crypto.randomUUID();
  const peer = await openPeer({ appId, url: "http://127.0.0.1:9", token: "t", memory: true });
  onTestFinished(() => peer.close());
  // The compiler checks that the peer of Node is one for the hooks.
  const provided: ProvidedPeer = peer;
  return { peer, values: SharedValues.of(provided) };
}

interface Task {
  readonly _id: string;
  readonly n: number;
}

function stateIn(values: SharedValues, key: string): QueryState<Task> | undefined {
  return values.get(key) as QueryState<Task> | undefined;
}

test("two listeners of a key share one observer, which ends after the last of them", async () => {
  const { peer, values } = await openTestPeer();
  const start = followQuery<Task>(QUERY, undefined);
  const calls: string[] = [];
  const remove = [1, 2].map((i) => values.listen("q", start, () => calls.push(`${i}`)));
  expect(peer.store.observers).toHaveLength(1);
  await until(() => calls.length === 2);
  expect(stateIn(values, "q")).toEqual({ rows: [], error: undefined, isLoading: false });
  remove[0]?.();
  await setTimeout();
  expect(peer.store.observers).toHaveLength(1);
  remove[1]?.();
  expect(peer.store.observers).toHaveLength(1);
  await until(() => peer.store.observers.length === 0);
  expect(values.get("q")).toBeUndefined();
});

test("a listener that is added again at once keeps the observer", async () => {
  const { peer, values } = await openTestPeer();
  const start = followQuery<Task>(QUERY, undefined);
  const [before] = (values.listen("q", start, () => {})(), peer.store.observers);
  const remove = values.listen("q", start, () => {});
  await setTimeout();
  expect(peer.store.observers).toEqual([before]);
  remove();
});

test("a change replaces the changed row alone; a write of the same value replaces nothing", async () => {
  const { peer, values } = await openTestPeer();
  await peer.store.execute(
    "INSERT INTO tasks DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 1})",
  );
  const states: (QueryState<Task> | undefined)[] = [];
  const look = (): void => void states.push(stateIn(values, "q"));
  const remove = values.listen("q", followQuery<Task>(QUERY, {}), look);
  onTestFinished(remove);
  await until(() => states.length === 1);
  await peer.store.execute("UPDATE tasks SET n = 1");
  await peer.store.execute("UPDATE tasks SET n = 2 WHERE _id = 'b'");
  await until(() => states.length === 2);
  const [first, second] = states;
  expect(second?.rows.map(({ n }) => n)).toEqual([1, 2]);
  expect(second?.rows[0]).toBe(first?.rows[0]);
  expect(second?.rows[1]).not.toBe(first?.rows[1]);
});

test("a query that is not valid has an error, and no observer", async () => {
  const { peer, values } = await openTestPeer();
  const remove = values.listen("q", followQuery<Task>("SELECT", undefined), () => {});
  const state = stateIn(values, "q");
  expect(state).toMatchObject({ rows: [], isLoading: false, error: { code: "query.syntax" } });
  expect(peer.store.observers).toEqual([]);
  remove();
});

test("providers of one peer have the same values, those of another peer have others", async () => {
  const [one, other] = [await openTestPeer(), await openTestPeer()];
  expect(SharedValues.of(one.peer)).toBe(one.values);
  expect(other.values).not.toBe(one.values);
});
