/**
 * Streams: rules S9 to S23 of docs/sync-protocol.md, each seen by a receiver that knows only
 * the messages.
 */

import { type DocumentEntry, PeerError, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { SUBSCRIPTION_TOKENS_MAX, SUBSCRIPTION_VALUES_MAX } from "../../src/limits.ts";
import { View } from "../../src/store/view.ts";
import { authorityOf } from "../support/caller.ts";
import { openStreams, turns } from "../support/open-streams.ts";
import { replace } from "../support/replaced-method.ts";
import { type Receiver, Subscription } from "../support/stream-receiver.ts";

const ALL = "SELECT * FROM cars";
const RED = "SELECT * FROM cars WHERE color = 'red'";

function car(id: string, color: string, more: { readonly [name: string]: Value } = {}): Value {
  return { _id: id, color, ...more };
}

function entriesOf(receiver: Receiver): DocumentEntry[] {
  return receiver.ofKind("documents").flatMap(({ entries }) => entries);
}

function kindsOf(receiver: Receiver): string[] {
  return entriesOf(receiver).map(([kind, id]) => `${kind} ${id as string}`);
}

/** Every look at it takes more time than a slice: so everything has a turn after each step. */
function hurriedClock(): () => number {
  let nowMs = 0;
  return () => (nowMs += 20);
}

test("[S9] only SELECT * with a condition on one document can be subscribed to", async () => {
  const { streams } = await openStreams();
  const refused = [
    "SELECT color FROM cars",
    "SELECT * FROM cars LIMIT 1",
    "SELECT * FROM cars ORDER BY color",
    "SELECT * FROM cars WHERE now() > 1",
    "SELECT * FROM cars WHERE color IN (SELECT VALUE c FROM colors)",
    "SELECT * FROM system:indexes",
    "DELETE FROM cars",
  ];
  for (const query of refused) {
    expect([query, codeOf(() => streams.prepare(query, {}, undefined))]).toEqual([
      query,
      "query.semantic",
    ]);
  }
  expect(codeOf(() => streams.prepare("SELECT * FROM", {}, undefined))).toBe("query.syntax");
  const ids = Array.from({ length: SUBSCRIPTION_TOKENS_MAX }, (_, i) => i).join();
  expect(codeOf(() => streams.prepare(`SELECT * FROM c WHERE a IN (${ids})`, {}, undefined))).toBe(
    "query.too_large",
  );
  expect(codeOf(() => streams.prepare("SELECT * FROM c WHERE a = :a", {}, undefined))).toBe(
    "query.semantic",
  );
});

test("[S68] the number of values in the arguments of a subscription is limited", async () => {
  const { streams } = await openStreams();
  const query = "SELECT * FROM cars WHERE a IN :list";
  const listOf = (length: number): number[] => Array.from({ length }, (_, i) => i);
  const fits = { list: listOf(SUBSCRIPTION_VALUES_MAX - 1) };
  expect(streams.prepare(query, fits, undefined).collection).toBe("cars");
  const misfits = [
    { list: listOf(SUBSCRIPTION_VALUES_MAX) },
    { list: [Object.fromEntries(listOf(30_000).map((i) => [`f${i}`, i]))] },
    { list: [], ...Object.fromEntries(listOf(30_000).map((i) => [`unused${i}`, i])) },
  ];
  for (const args of misfits) {
    expect(codeOf(() => streams.prepare(query, args, undefined))).toBe("query.arguments");
  }
});

test("[S9] a collection without a read rule is refused", async () => {
  const { streams } = await openStreams();
  const authority = authorityOf({ boats: ["true"] });
  expect(codeOf(() => streams.prepare(ALL, {}, authority))).toBe("permission.denied");
  expect(streams.prepare("SELECT * FROM boats", {}, authority).collection).toBe("boats");
});

test("[S10] the hash differs for filters that could select other documents, and only for those", async () => {
  const { streams } = await openStreams();
  const full = authorityOf(true);
  const whole = authorityOf({ cars: ["true"] });
  const some = authorityOf({ cars: ["color == 'red'"] });
  const other = authorityOf({ cars: ["color == 'blue'"] });
  const key = (query: string, args: object, authority = full): string =>
    streams.prepare(query, args as never, authority).filterKey;
  const query = "SELECT * FROM cars WHERE a = :a";
  const same = [
    key(query, { a: 1 }),
    key("select  *  from cars where (a = :a)", { a: 1, unused: 2 }),
    key(query, { a: 1 }, whole),
  ];
  expect(new Set(same).size).toBe(1);
  const different = [
    same[0],
    key(query, { a: 2 }),
    key("SELECT * FROM cars WHERE b = :a", { a: 1 }),
    key("SELECT * FROM boats WHERE a = :a", { a: 1 }),
    key("SELECT * FROM cars a WHERE a.a = :a", { a: 1 }),
    key(query, { a: 1 }, some),
    key(query, { a: 1 }, other),
  ];
  expect(new Set(different).size).toBe(different.length);
  expect(streams.prepare(ALL, {}, undefined).filter).toHaveLength(16);
});

test("[S11] [S14] a subscription without a cursor is filled, in the order of ids", async () => {
  const { put, follow } = await openStreams({ limits: { pieceDocuments: 2 } });
  await put("cars", car("c", "red"), car("a", "red"), car("b", "blue"), car("d", "red"));
  const { receiver, subscription } = await follow(RED);
  expect(subscription.mode).toBe("fill");
  expect(receiver.ofKind("documents").map(({ range, entries }) => [range, entries.length])).toEqual(
    [
      [{ through: "c" }, 2],
      [{ after: "c" }, 1],
    ],
  );
  expect(Object.keys(subscription.fields)).toEqual(["a", "c", "d"]);
  expect(subscription.isLive).toBe(true);
});

test("[S14] held documents in the range of a piece that are not in it are released", async () => {
  const { put, receiver: open } = await openStreams();
  await put("cars", car("a", "red"));
  const subscription = new Subscription(ALL);
  const receiver = open();
  receiver.subscribe(subscription);
  await turns();
  receiver.disconnect();
  const [held] = subscription.held.values();
  if (held !== undefined) subscription.held.set("@zz\x00", { ...held, id: "zz" });
  const { cursor } = subscription;
  subscription.cursor = cursor && { ...cursor, history: "another" };
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("fill");
  expect(Object.keys(subscription.fields)).toEqual(["a"]);
});

test("[S15] changes during a fill are sent before `complete`", async () => {
  const setup = { limits: { pieceLooks: 3 }, platform: { elapsed: hurriedClock() } };
  const { put, execute, receiver: open } = await openStreams(setup);
  for (let i = 0; i < 40; i++) await put("cars", car(`c${i}`, i % 2 === 0 ? "red" : "blue"));
  const subscription = new Subscription(RED);
  const receiver = open();
  receiver.subscribe(subscription);
  await turns(2);
  expect(receiver.ofKind("complete")).toEqual([]);
  // One of the first ids comes and goes while the rest is read.
  await put("cars", car("c1", "red"));
  await execute("UPDATE cars SET color = 'blue' WHERE _id = 'c1'");
  await execute("DELETE FROM cars WHERE _id = 'c0'");
  await turns(400);
  const [complete] = receiver.ofKind("complete");
  expect(complete?.txn).toBe(subscription.cursor?.txn);
  expect(Object.keys(subscription.fields)).toHaveLength(19);
  expect(subscription.isLive).toBe(true);
});

test("[S12] a resumed subscription gets each changed document once, in its current state", async () => {
  const { put, execute, follow } = await openStreams();
  await put("cars", car("a", "red"), car("b", "red"), car("c", "red"), car("e", "red"));
  const { receiver, subscription } = await follow(RED);
  receiver.disconnect();
  const before = receiver.messages.length;
  await put("cars", car("a", "red", { n: 1 }));
  await put("cars", car("a", "red", { n: 2 }), car("d", "red"), car("x", "blue"));
  await execute("DELETE FROM cars WHERE _id = 'b'");
  await execute("UPDATE cars SET color = 'blue' WHERE _id = 'c'");
  await execute("EVICT FROM cars WHERE _id = 'e'");
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("resume");
  const update = receiver.messages.slice(before);
  expect(update.map(({ t }) => t)).toEqual(["subscribed", "documents", "complete"]);
  const [, documents] = update;
  const entries = documents?.t === "documents" ? documents.entries : [];
  expect(entries.map(([kind, id]) => `${kind} ${id as string}`)).toEqual([
    "put a",
    "deleted b",
    "left c",
    "put d",
    "drop e",
  ]);
  expect(Object.keys(subscription.fields)).toEqual(["a", "d"]);
  expect(subscription.isLive).toBe(true);
});

test("[S12] many streams that resume at once share one reading", async () => {
  const { put, streams, follow } = await openStreams();
  await put("cars", car("a", "red"));
  const followed = [];
  for (let i = 0; i < 20; i++) followed.push(await follow(RED));
  for (const { receiver } of followed) receiver.disconnect();
  await put("cars", car("b", "red"));
  const { framesEncoded } = streams.stats();
  for (const { receiver, subscription } of followed) receiver.subscribe(subscription);
  await turns();
  expect(streams.stats().framesEncoded - framesEncoded).toBe(1);
  for (const { subscription } of followed) {
    expect(Object.keys(subscription.fields)).toEqual(["a", "b"]);
  }
});

test("[S13] another filter is compared: missing documents are wanted, the others released", async () => {
  const { put, execute, follow } = await openStreams();
  await put("cars", car("a", "red"), car("b", "red"), car("c", "blue"));
  const { receiver, subscription } = await follow(RED);
  receiver.disconnect();
  const narrow = authorityOf({ cars: ["_id != 'b'"] });
  receiver.authority = narrow;
  await put("cars", car("d", "red"));
  await execute("UPDATE cars SET n = 1 WHERE _id = 'a'");
  const before = receiver.messages.length;
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("compare");
  expect(receiver.messages.slice(before).map(({ t }) => t)).toEqual([
    "subscribed",
    "versions",
    "documents",
    "complete",
  ]);
  expect(subscription.fields).toEqual({ a: { color: "red", n: 1 }, d: { color: "red" } });
});

test("[S13] versions are compared if the cursor is below the start of the log", async () => {
  const retention = {
    logAgeMs: 0,
    logCount: 1,
    logBytes: 1,
    horizonMs: 86_400_000,
    answerMs: 86_400_000,
    siteMs: 86_400_000,
  };
  const opened = await openStreams({ store: { retention } });
  const { put, execute, follow, store, platform } = opened;
  await put("cars", car("a", "red"), car("b", "red"), car("c", "red"));
  const { receiver, subscription } = await follow(RED);
  receiver.disconnect();
  await execute("DELETE FROM cars WHERE _id = 'b'");
  platform.nowMs += 1000;
  await store.maintain();
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("compare");
  expect(entriesOf(receiver).filter(([kind]) => kind !== "put")).toEqual([]);
  expect(Object.keys(subscription.fields)).toEqual(["a", "c"]);
  expect(subscription.isLive).toBe(true);
});

test("[S70] `complete` waits until the peer has sent all its wants", async () => {
  const { put, follow } = await openStreams();
  await put("cars", car("a", "red"));
  const { receiver, subscription } = await follow(RED);
  receiver.disconnect();
  receiver.authority = authorityOf({ cars: ["color == 'red'"] });
  receiver.isFast = false;
  await put("cars", car("b", "red"));
  receiver.subscribe(subscription);
  await turns();
  expect(receiver.queuedFrames).toBe(2);
  await put("cars", car("c", "red"));
  await turns();
  expect(receiver.queuedFrames).toBe(2);
  receiver.take();
  await turns();
  receiver.take();
  await turns();
  receiver.take();
  expect(Object.keys(subscription.fields)).toEqual(["a", "b", "c"]);
  expect(subscription.isLive).toBe(true);
});

test("[S16] the frames of a transaction end with `committed`, for all filters at once", async () => {
  const { execute, receiver: open } = await openStreams();
  const receiver = open();
  const one = new Subscription("SELECT * FROM cars WHERE n = 1");
  const two = new Subscription("SELECT * FROM cars WHERE n = 2");
  receiver.subscribe(one);
  receiver.subscribe(two);
  await turns();
  const before = receiver.messages.length;
  const documents = [
    { _id: "a", n: 1 },
    { _id: "b", n: 2 },
    { _id: "c", n: 3 },
  ];
  await execute("INSERT INTO cars DOCUMENTS (:a), (:b), (:c)", {
    a: documents[0],
    b: documents[1],
    c: documents[2],
  });
  await turns();
  const update = receiver.messages.slice(before);
  expect(update.map(({ t }) => t)).toEqual(["documents", "documents", "committed"]);
  expect([one.fields, two.fields]).toEqual([{ a: { n: 1 } }, { b: { n: 2 } }]);
  expect(one.cursor?.txn).toBe(two.cursor?.txn);
});

test("[S16] a session with one affected filter gets the mark in its last frame", async () => {
  const { put, follow } = await openStreams();
  const { receiver } = await follow(ALL);
  const before = receiver.messages.length;
  const txn = await put("cars", car("a", "red"));
  await turns();
  const [only, ...others] = receiver.messages.slice(before);
  expect(others).toEqual([]);
  expect(only?.t === "documents" && only.committed).toBe(txn);
  expect(receiver.session.completeUpTo).toBe(txn);
});

test("[S16] transactions that become durable together are sent as one", async () => {
  const { execute, store, follow } = await openStreams();
  const { receiver, subscription } = await follow(ALL);
  const before = receiver.messages.length;
  const writes = Array.from({ length: 10 }, (_, i) =>
    execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: `c${i}`, n: i } }),
  );
  await Promise.all(writes);
  await turns();
  const update = receiver.messages.slice(before);
  expect(update.length).toBeLessThan(10);
  expect(subscription.held.size).toBe(10);
  expect(subscription.cursor?.txn).toBe(store.txnId);
});

test("[S17] a document is sent as put, left, drop or deleted", async () => {
  const { put, execute, follow } = await openStreams();
  await put("cars", car("a", "red"), car("b", "red"), car("c", "red"), car("d", "red"));
  const { receiver, subscription } = await follow(
    RED,
    authorityOf({ cars: ["_id != 'b' || color == 'red'"] }),
  );
  const before = entriesOf(receiver).length;
  await execute("UPDATE cars SET color = 'blue' WHERE _id = 'a'");
  await turns();
  await execute("UPDATE cars SET color = 'blue' WHERE _id = 'b'");
  await turns();
  await execute("DELETE FROM cars WHERE _id = 'c'");
  await turns();
  await execute("EVICT FROM cars WHERE _id = 'd'");
  await turns();
  await put("cars", car("e", "red"));
  await turns();
  const update = entriesOf(receiver).slice(before);
  expect(update.map(([kind, id]) => `${kind} ${id as string}`)).toEqual([
    "left a",
    "drop b",
    "deleted c",
    "drop d",
    "put e",
  ]);
  expect(update[1]).toEqual(["drop", "b"]);
  expect(Object.keys(subscription.fields)).toEqual(["e"]);
});

test("[S17] [S18] a small change of a large document is sent as a delta that gives the same state", async () => {
  const { put, execute, store, follow } = await openStreams();
  await put("cars", car("a", "red", { text: "x".repeat(5000), n: 1 }));
  const { receiver, subscription } = await follow(RED);
  await execute("UPDATE cars SET n = 2 WHERE _id = 'a'");
  await turns();
  expect(kindsOf(receiver)).toEqual(["put a", "delta a"]);
  const [held] = subscription.held.values();
  const kept = store.read((snapshot) => snapshot.state("cars", "a"));
  expect(held?.version).toBe(kept.version);
  expect(held && stateToBytes(held.state)).toEqual(stateToBytes(kept.state));
});

test("[S18] for a delta of a version that is not held the peer wants the whole, which comes with `committed`", async () => {
  const { put, execute, follow } = await openStreams();
  await put("cars", car("a", "red", { text: "x".repeat(5000), n: 1 }));
  const { receiver, subscription } = await follow(RED);
  subscription.held.clear();
  await execute("UPDATE cars SET n = 2 WHERE _id = 'a'");
  await turns();
  expect(kindsOf(receiver)).toEqual(["put a", "delta a", "put a"]);
  expect(receiver.messages.at(-1)?.t).toBe("committed");
  expect(Object.keys(subscription.fields)).toEqual(["a"]);
});

test("[S19] nothing is sent about a document that was not readable before and is not now", async () => {
  const { put, execute, follow } = await openStreams();
  const authority = authorityOf({ cars: ["owner == 'me'"] });
  await put("cars", car("a", "red", { owner: "other" }));
  const { receiver } = await follow(ALL, authority);
  await execute("UPDATE cars SET n = 1 WHERE _id = 'a'");
  await execute("DELETE FROM cars WHERE _id = 'a'");
  await put("cars", car("b", "red", { owner: "other" }));
  await execute("EVICT FROM cars WHERE _id = 'b'");
  await turns();
  expect(entriesOf(receiver)).toEqual([]);
});

test("[S21] an ended stream gets nothing more", async () => {
  const { put, follow, streams } = await openStreams();
  const { receiver, subscription } = await follow(ALL);
  receiver.unsubscribe(subscription);
  const before = receiver.messages.length;
  await put("cars", car("a", "red"));
  await turns();
  expect(receiver.messages.length).toBe(before);
  const { groups, streams: count, live } = streams.stats();
  expect({ groups, count, live }).toEqual({ groups: 0, count: 0, live: 0 });
});

test("[S22] a session that does not read falls behind, and continues when its queue is empty", async () => {
  const limits = { queueBytes: 2000, roomBytes: 1000 };
  const { put, follow, streams } = await openStreams({ limits });
  const slow = await follow(ALL);
  const fast = await follow(ALL);
  slow.receiver.isFast = false;
  for (let i = 0; i < 20; i++) {
    await put("cars", car(`c${i}`, "red", { text: "x".repeat(300) }));
    await turns(4);
  }
  expect(slow.receiver.queuedBytes).toBeLessThan(3000);
  expect(streams.stats().behind).toBe(1);
  expect(fast.subscription.held.size).toBe(20);
  slow.receiver.take();
  expect(slow.receiver.ofKind("behind")).toHaveLength(1);
  expect(slow.subscription.isLive).toBe(false);
  for (let i = 0; i < 10; i++) {
    await turns();
    slow.receiver.take();
  }
  expect(slow.subscription.held.size).toBe(20);
  expect(slow.subscription.isLive).toBe(true);
  expect(slow.subscription.cursor?.txn).toBe(fast.subscription.cursor?.txn);
});

test("[S22] a session that repeatedly falls behind is slowed down, up to a limit", async () => {
  let nowMs = 0;
  const limits = { queueBytes: 2000, roomBytes: 1000, pauseMs: 3000 };
  const setup = { limits, platform: { elapsed: () => nowMs } };
  const { put, follow, streams } = await openStreams(setup);
  const { receiver, subscription } = await follow(ALL);
  const waits: number[] = [];
  for (let fall = 0; fall < 6; fall++) {
    receiver.isFast = false;
    for (let i = 0; i < 10; i++) {
      await put("cars", car(`c${i}`, "red", { text: `${fall}`.repeat(300) }));
      await turns(4);
    }
    receiver.take();
    receiver.isFast = true;
    expect(subscription.isLive).toBe(false);
    const startMs = nowMs;
    for (; !subscription.isLive; nowMs += 250) {
      streams.tick();
      await turns(12);
    }
    waits.push(nowMs - startMs);
  }
  expect(waits.map((wait) => Math.max(0, wait - 250))).toEqual([0, 500, 1000, 2000, 3000, 3000]);
});

test("[S23] a transaction that is too large for one frame is sent in pieces, with `complete` at its end", async () => {
  const limits = { roundBytes: 3000, catchUpBytes: 1000, frameBytes: 500 };
  const { execute, follow, store } = await openStreams({ limits });
  const { receiver, subscription } = await follow(ALL);
  const few = await follow("SELECT * FROM cars WHERE _id = 'c1'");
  const before = receiver.messages.length;
  const text = "x".repeat(400);
  const names = Array.from({ length: 20 }, (_, i) => `(:d${i})`).join(", ");
  const args = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`d${i}`, { _id: `c${i}`, text }]),
  );
  await execute(`INSERT INTO cars DOCUMENTS ${names}`, args);
  await turns(80);
  const update = receiver.messages.slice(before).map(({ t }) => t);
  expect(update[0]).toBe("behind");
  expect(update.at(-1)).toBe("complete");
  expect(update.filter((kind) => kind === "documents").length).toBeGreaterThan(5);
  expect(subscription.held.size).toBe(20);
  expect(subscription.cursor?.txn).toBe(store.txnId);
  // Whoever has little of it has it as one.
  expect(few.receiver.ofKind("behind")).toEqual([]);
  expect(few.subscription.held.size).toBe(1);
});

test("[S9] a condition that cannot be evaluated ends the subscription with its reason", async () => {
  const { put, receiver: open, streams } = await openStreams();
  const receiver = open();
  // Each text is as large as a document may be; four of them are more than a condition may hold.
  const long = "rpad('x', n, 'y')";
  const query = `SELECT * FROM cars WHERE length([${long}, ${long}, ${long}, ${long}]) > 1`;
  const subscription = new Subscription(query);
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.isLive).toBe(true);
  await put("cars", { _id: "a", n: 5_000_000 });
  await turns();
  expect(receiver.failures.map(({ code }) => code)).toEqual(["query.too_large"]);
  expect(streams.stats().groups).toBe(0);
});

test("a second subscription of a session to a filter starts its stream over, from a state that fits both", async () => {
  const { put, follow } = await openStreams();
  await put("cars", car("a", "red"));
  const { receiver, subscription } = await follow(RED);
  const again = { ...subscription.cursor };
  receiver.subscribe(subscription);
  await turns();
  expect(subscription.mode).toBe("compare");
  expect(receiver.ofKind("behind")).toHaveLength(1);
  expect(subscription.isLive).toBe(true);
  expect(subscription.cursor?.txn).toBe(again.txn);
  await put("cars", car("b", "red"));
  await turns();
  expect(Object.keys(subscription.fields)).toEqual(["a", "b"]);
});

test("[S15] a snapshot that expired while it was read is read again", async () => {
  const { put, follow, streams } = await openStreams();
  await put("cars", car("a", "red"));
  let failures = 0;
  const mend = replace(View.prototype, "getByKey", (original) => {
    return function failing(this: View, ...args: Parameters<View["getByKey"]>) {
      if (failures++ % 2 === 0) throw new PeerError("store.snapshot_expired", "expired");
      return original.apply(this, args);
    };
  });
  const { receiver, subscription } = await follow("SELECT * FROM cars WHERE _id IN ('a', 'b')");
  await put("cars", car("b", "red"));
  await turns();
  mend();
  expect(failures).toBeGreaterThan(2);
  expect(receiver.failures).toEqual([]);
  expect(Object.keys(subscription.fields)).toEqual(["a", "b"]);
  expect(streams.stats().live).toBe(1);
});

test("a store that cannot be read ends the streams with the reason", async () => {
  const { put, follow, streams } = await openStreams();
  const { receiver } = await follow(ALL);
  const mend = replace(View.prototype, "getByKey", () => () => {
    throw new PeerError("store.corrupt", "expected a document");
  });
  await put("cars", car("a", "red"));
  await turns();
  mend();
  expect(receiver.failures.map(({ code }) => code)).toEqual(["store.corrupt"]);
  expect(streams.stats().streams).toBe(0);
});

test("statistics count groups, streams by state, frames and bytes", async () => {
  const limits = { queueBytes: 2000, roomBytes: 1000 };
  const { put, follow, streams, receiver: open } = await openStreams({ limits });
  const slow = await follow(ALL);
  await follow(ALL);
  slow.receiver.isFast = false;
  for (let i = 0; i < 10; i++) {
    await put("cars", car(`c${i}`, "red", { text: "x".repeat(300) }));
    await turns(4);
  }
  const filling = open();
  filling.isFast = false;
  filling.subscribe(new Subscription(RED));
  const { groups, streams: count, live, filling: fills, behind, bytesQueued } = streams.stats();
  expect({ groups, count, live, fills, behind }).toEqual({
    groups: 2,
    count: 3,
    live: 1,
    fills: 1,
    behind: 1,
  });
  expect(bytesQueued).toBe(slow.receiver.queuedBytes + filling.queuedBytes);
  const { framesSent, framesEncoded, bytesSent, lagMs } = streams.stats();
  expect(framesSent).toBeGreaterThan(framesEncoded);
  expect(bytesSent).toBeGreaterThan(3000);
  expect(lagMs).toBeGreaterThanOrEqual(0);
  streams.close();
  expect(streams.stats().streams).toBe(0);
});

test("a peer that wants more than it could ever need ends its stream", async () => {
  const { follow, streams, put } = await openStreams({ limits: { wantedBytes: 100 } });
  await put("cars", car("a", "red"));
  const { receiver } = await follow(ALL);
  const { filterKey } = streams.prepare(ALL, {}, undefined);
  receiver.session.want(
    filterKey,
    Array.from({ length: 11 }, (_, i) => `x${i}`),
    false,
  );
  expect(receiver.failures.map(({ code }) => code)).toEqual(["sync.malformed"]);
});

test("[S19] a made-up id that a peer wants is dropped, whether or not the document exists", async () => {
  const { follow, streams, put } = await openStreams();
  await put("cars", car("a", "red"), car("b", "blue"));
  const authority = authorityOf({ cars: ["color == 'red'"] });
  const { receiver } = await follow(ALL, authority);
  const { filterKey } = streams.prepare(ALL, {}, authority);
  const before = entriesOf(receiver).length;
  receiver.session.want(filterKey, ["b", "none"], false);
  await turns();
  expect(entriesOf(receiver).slice(before)).toEqual([
    ["drop", "b"],
    ["drop", "none"],
  ]);
});
