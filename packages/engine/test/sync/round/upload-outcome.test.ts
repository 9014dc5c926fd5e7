/**
 * Outcomes of uploads in the stream: rule S28 of docs/sync-protocol.md.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { authorityOf } from "../../support/caller.ts";
import { openStreams, turns } from "../../support/open-streams.ts";
import { Subscription } from "../../support/stream-receiver.ts";

const ALL = "SELECT * FROM cars";
const RED = "SELECT * FROM cars WHERE color = 'red'";

function car(id: string, color: string): Value {
  return { _id: id, color };
}

/** Every look at it takes more time than a slice: so everything has a turn after each step. */
function hurriedClock(): () => number {
  let nowMs = 0;
  return () => (nowMs += 20);
}

test("[S28] an outcome is in `committed`, with the documents that no live stream has brought", async () => {
  const { put, execute, store, receiver: open } = await openStreams();
  await put("cars", car("a", "red"), car("b", "blue"), car("c", "blue"), car("d", "blue"));
  const receiver = open(authorityOf({ cars: ["_id != 'c'"] }));
  const subscription = new Subscription(RED);
  receiver.subscribe(subscription);
  await turns();
  const before = receiver.messages.length;
  await execute("UPDATE cars SET n = 1");
  const deleted = "EVICT FROM cars WHERE _id = 'd'";
  await execute(deleted);
  const txn = store.txnId;
  const documents = ["a", "b", "c", "d"].map((id) => ({ collection: "cars", id }));
  const outcome = {
    site: "0000000000000001",
    number: 1,
    kind: "applied" as const,
    txn,
    reason: "",
  };
  receiver.session.outcome({ ...outcome, documents });
  await turns();
  const update = receiver.messages.slice(before);
  expect(update.map(({ t }) => t)).toEqual(["documents", "committed"]);
  expect(receiver.committed).toBe(txn);
  const [reported] = receiver.outcomes;
  expect(
    reported?.documents.map(([name, [kind, id]]) => `${name} ${kind} ${id as string}`),
  ).toEqual(["cars put b", "cars drop c", "cars drop d"]);
});

test("[S28] a late outcome does not repeat documents that a live stream has brought", async () => {
  const { put, follow } = await openStreams();
  const { receiver } = await follow(RED);
  const txn = await put("cars", car("a", "red"), car("b", "blue"));
  await turns();
  const documents = ["a", "b"].map((id) => ({ collection: "cars", id }));
  const outcome = {
    site: "0000000000000001",
    number: 1,
    kind: "applied" as const,
    txn,
    reason: "",
  };
  receiver.session.outcome({ ...outcome, documents });
  await turns();
  expect(
    receiver.outcomes.map(({ number, documents: reported }) => [number, reported.length]),
  ).toEqual([[1, 1]]);
  expect(receiver.committed).toBeGreaterThanOrEqual(txn);
});

test("[S28] a session without live streams gets its outcomes at once, and also during a fill", async () => {
  const setup = { limits: { pieceLooks: 1 }, platform: { elapsed: hurriedClock() } };
  const { put, receiver: open } = await openStreams(setup);
  for (let i = 0; i < 50; i++) await put("cars", car(`c${i}`, "red"));
  const receiver = open();
  const subscription = new Subscription(ALL);
  receiver.subscribe(subscription);
  const txn = await put("cars", car("z", "blue"));
  const outcome = {
    site: "0000000000000001",
    number: 1,
    kind: "applied" as const,
    txn,
    reason: "",
  };
  receiver.session.outcome({ ...outcome, documents: [{ collection: "cars", id: "z" }] });
  receiver.session.outcome({ ...outcome, number: 2, kind: "refused", reason: "no", documents: [] });
  // Each piece that begins has a turn of its own, by this clock.
  await turns(12);
  expect(subscription.isLive).toBe(false);
  expect(receiver.outcomes.map(({ number, reason }) => [number, reason])).toEqual([
    [1, ""],
    [2, "no"],
  ]);
  await turns(400);
  expect(subscription.held.size).toBe(51);
});

test("[S28] a session with limited read rights receives its own delete, but no deletes of others", async () => {
  const { put, execute, store, receiver: open } = await openStreams();
  await put("cars", car("a", "red"));
  await execute("DELETE FROM cars WHERE _id = 'a'");
  const { txnId: txn } = store;
  const receiver = open(authorityOf({ cars: ["color == 'blue'"] }));
  const { site } = store.identity;
  const outcome = { number: 1, kind: "applied" as const, txn, reason: "" };
  const documents = [{ collection: "cars", id: "a" }];
  receiver.session.outcome({ ...outcome, site, documents });
  receiver.session.outcome({ ...outcome, site: "0000000000000001", documents });
  await turns();
  expect(receiver.outcomes.map(({ documents: [reported] }) => reported?.[1][0])).toEqual([
    "deleted",
    "drop",
  ]);
});
