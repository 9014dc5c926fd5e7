/**
 * What a peer must not hear of: every id that any message names is one that its filter has shown it,
 * and how a document ended that it could not read any more is not told.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { authorityOf } from "../../support/caller.ts";
import { openStreams, turns } from "../../support/open-streams.ts";
import { type Receiver, Subscription } from "../../support/stream-receiver.ts";

const ALL = "SELECT * FROM cars";

/** May read what is public. */
const SOME = authorityOf({ cars: ["isPublic == true"] });

function car(id: string, isPublic: boolean): Value {
  return { _id: id, isPublic };
}

/** All ids that the messages to a receiver name, ranges included. */
function namedIds(receiver: Receiver): Set<Value> {
  const ids = new Set<Value>();
  for (const message of receiver.messages) {
    if (message.t === "documents") for (const [, id] of message.entries) ids.add(id);
    if (message.t === "versions") for (const [id] of message.list) ids.add(id);
    if (message.t !== "documents" && message.t !== "versions") continue;
    const { after, through } = message.range ?? {};
    if (after !== undefined) ids.add(after);
    if (through !== undefined) ids.add(through);
  }
  return ids;
}

/** Every look at it takes more time than a slice: so everything has a turn after each step. */
function hurriedClock(): () => number {
  let nowMs = 0;
  return () => (nowMs += 20);
}

test("[S14] a piece that ends at a hidden document does not name it", async () => {
  const { put, follow } = await openStreams({ limits: { pieceLooks: 3 } });
  for (let i = 10; i < 30; i++) await put("cars", car(`c${i}`, i % 7 === 0));
  const { receiver, subscription } = await follow(ALL, SOME);
  await turns(200);
  expect(subscription.isLive).toBe(true);
  expect(receiver.ofKind("documents").length).toBeGreaterThan(2);
  expect([...namedIds(receiver)]).toEqual(["c14", "c21", "c28"]);
});

test("[S13] a piece of a comparison does not name it either", async () => {
  const { put, receiver: open } = await openStreams({ limits: { pieceLooks: 3 } });
  for (let i = 10; i < 30; i++) await put("cars", car(`c${i}`, i % 7 === 0));
  const receiver = open(SOME);
  const subscription = new Subscription(ALL);
  receiver.subscribe(subscription);
  await turns(200);
  receiver.disconnect();
  const { cursor } = subscription;
  subscription.cursor = cursor && { ...cursor, filter: new Uint8Array(16) };
  receiver.subscribe(subscription);
  await turns(200);
  expect(receiver.ofKind("versions").length).toBeGreaterThan(2);
  expect([...namedIds(receiver)]).toEqual(["c14", "c21", "c28"]);
});

test("[S15] a document that comes to match in a range already read is kept", async () => {
  const limits = { pieceLooks: 3, joinTransactions: 0 };
  const setup = { limits, platform: { elapsed: hurriedClock() } };
  const { put, receiver: open } = await openStreams(setup);
  for (let i = 10; i < 60; i++) await put("cars", car(`c${i}`, i === 10 || i === 59));
  const receiver = open(SOME);
  const subscription = new Subscription(ALL);
  receiver.subscribe(subscription);
  while (receiver.ofKind("documents").length === 0) await turns(1);
  // Looked at already, and in no range yet.
  await put("cars", car("c12", true), car("c11", true), car("c12", false));
  await turns(1000);
  expect(subscription.isLive).toBe(true);
  expect(Object.keys(subscription.fields)).toEqual(["c10", "c11", "c59"]);
  const reported = new Set([...namedIds(receiver)].filter((id) => id !== "c12"));
  expect(reported).toEqual(new Set(["c10", "c11", "c59"]));
});

test("[S17] a document hidden before it was deleted is sent as `drop`", async () => {
  const { put, execute, receiver: open, store } = await openStreams();
  await put("cars", car("a", true), car("b", true));
  const receiver = open(SOME);
  const subscription = new Subscription(ALL);
  receiver.subscribe(subscription);
  await turns();
  receiver.disconnect();
  await put("cars", car("a", false));
  await execute("DELETE FROM cars");
  expect(store.txnId).toBeGreaterThan(0);
  receiver.messages.length = 0;
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("resume");
  const entries = receiver.ofKind("documents").flatMap((each) => each.entries);
  expect(entries.map(([kind, id]) => [kind, id])).toEqual([
    ["drop", "a"],
    ["deleted", "b"],
  ]);
});

test("[S28] an outcome that was read with earlier rights is read again", async () => {
  const { put, receiver: open } = await openStreams({ platform: { elapsed: hurriedClock() } });
  await put("cars", car("a", true));
  const receiver = open(SOME);
  const documents = [{ collection: "cars", id: "a" }];
  const outcome = { site: "00000000000000aa", number: 1, txn: 1, reason: "", documents };
  receiver.session.outcome({ ...outcome, kind: "applied" });
  // The round has begun to read: every step is a turn.
  await turns(2);
  receiver.authority = authorityOf({ boats: ["true"] });
  await turns(100);
  expect(receiver.outcomes.map(({ documents: [reported] }) => reported?.[1][0])).toEqual(["drop"]);
});
