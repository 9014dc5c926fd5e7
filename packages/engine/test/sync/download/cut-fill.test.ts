/**
 * Fills that are cut, as the server sees them: where a fill goes on, what is told of the part that was
 * sent before, and when it begins anew instead (S57).
 */

import type { SyncCursor, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { DEFAULT_RETENTION } from "../../../src/store/maintenance.ts";
import { authorityOf } from "../../support/caller.ts";
import {
  type OpenStreams,
  openStreams,
  type StreamsSetup,
  turns,
} from "../../support/open-streams.ts";
import { type Receiver, Subscription } from "../../support/stream-receiver.ts";

const RED = "SELECT * FROM cars WHERE color = 'red'";
const IDS = ["a", "b", "c", "d", "e", "f"];

function car(_id: string, color = "red"): Value {
  return { _id, color };
}

/** All that came, and the ranges that it came in. */
function reported(receiver: Receiver): string[] {
  return receiver.ofKind("documents").flatMap(({ entries, range }) => {
    const update = entries.map(([kind, id]) => `${kind} ${id as string}`);
    const { after, through } = range ?? {};
    const span = `${(after ?? "") as string}–${(through ?? "") as string}`;
    return range === undefined ? update : [span, ...update];
  });
}

interface Cut extends OpenStreams {
  readonly subscription: Subscription;
}

/** Pieces of two documents; so many of them were taken when the connection ended. */
async function cutAfter(pieces: number, setup: StreamsSetup = {}): Promise<Cut> {
  const limits = { pieceDocuments: 2, ...setup.limits };
  const opened = await openStreams({ ...setup, limits });
  await opened.put("cars", ...IDS.map((id) => car(id)), car("bb", "blue"), car("dd", "blue"));
  const receiver = opened.receiver();
  const subscription = new Subscription(RED);
  receiver.isFast = false;
  receiver.subscribe(subscription);
  await turns();
  receiver.take(1 + pieces);
  receiver.disconnect();
  return { ...opened, subscription };
}

/** Comes back, and takes all that comes. */
async function comeBack({ receiver: open, subscription }: Cut): Promise<Receiver> {
  const receiver = open();
  receiver.subscribe(subscription);
  await turns();
  expect(receiver.fault).toBe(undefined);
  return receiver;
}

test("[S57] each piece of a fill names the transaction as of which all ids up to its end were sent", async () => {
  const { subscription, store, history } = await cutAfter(2);
  const { filter = new Uint8Array(0) } = subscription.cursor ?? {};
  const txn = store.txnId;
  expect(subscription.cursor).toEqual({ history, filter, txn, after: "d" });
  expect(Object.keys(subscription.fields)).toEqual(["a", "b", "c", "d"]);
  expect(subscription.isLive).toBe(false);
});

test("[S72] an interrupted fill continues after the last piece, and is complete only at its end", async () => {
  const cut = await cutAfter(2);
  const receiver = await comeBack(cut);
  expect(cut.subscription.mode).toBe("fill");
  expect(reported(receiver)).toEqual(["d–f", "put e", "put f", "f–"]);
  expect(receiver.ofKind("complete")).toHaveLength(1);
  expect(Object.keys(cut.subscription.fields)).toEqual(IDS);
  await cut.put("cars", car("g"));
  await turns();
  expect(Object.keys(cut.subscription.fields)).toEqual([...IDS, "g"]);
});

test("[S72] of a fill whose last piece was sent, only the changes since are sent", async () => {
  const cut = await cutAfter(4);
  expect(cut.subscription.cursor?.after).toBe(undefined);
  await cut.put("cars", car("bb"));
  const receiver = await comeBack(cut);
  expect(cut.subscription.mode).toBe("resume");
  expect(reported(receiver)).toEqual(["put bb"]);
  expect(receiver.ofKind("complete")).toHaveLength(1);
});

const AWAY: readonly (readonly [
  what: string,
  statements: readonly string[],
  reported: string[],
])[] = [
  ["nothing happened", [], ["d–f", "put e", "put f", "f–"]],
  [
    "one was changed that had come",
    ["UPDATE cars SET n = 1 WHERE _id = 'b'"],
    ["d–f", "put e", "put f", "f–", "put b"],
  ],
  [
    "one was deleted that had come",
    ["DELETE FROM cars WHERE _id = 'b'"],
    ["d–f", "put e", "put f", "f–", "deleted b"],
  ],
  [
    "one stopped matching that had come",
    ["UPDATE cars SET color = 'blue' WHERE _id = 'a'"],
    ["d–f", "put e", "put f", "f–", "left a"],
  ],
  [
    "one came to match in the part that had come",
    ["UPDATE cars SET color = 'red' WHERE _id = 'bb'"],
    ["d–f", "put e", "put f", "f–", "put bb"],
  ],
  [
    "one was inserted in the part that had come, and deleted again",
    [
      "INSERT INTO cars DOCUMENTS ({'_id': 'aa', 'color': 'red'})",
      "DELETE FROM cars WHERE _id = 'aa'",
    ],
    // It may have come before the cut: whoever does not hold it passes over it.
    ["d–f", "put e", "put f", "f–", "deleted aa"],
  ],
  [
    "one was changed that never matched",
    ["UPDATE cars SET n = 1 WHERE _id = 'bb'"],
    ["d–f", "put e", "put f", "f–"],
  ],
  [
    "the rest was changed",
    [
      "UPDATE cars SET color = 'blue' WHERE _id = 'e'",
      "UPDATE cars SET color = 'red' WHERE _id = 'dd'",
    ],
    ["d–f", "put dd", "put f", "f–"],
  ],
  [
    "all was deleted",
    ["DELETE FROM cars"],
    ["d–", "deleted a", "deleted b", "deleted c", "deleted d"],
  ],
];

test.each(AWAY)(
  "[S72] a continued fill sends the changes in the part already sent: %s",
  async (_, statements, expected) => {
    const cut = await cutAfter(2);
    for (const statement of statements) await cut.execute(statement);
    const receiver = await comeBack(cut);
    expect(reported(receiver)).toEqual(expected);
    const { items } = await cut.execute(RED);
    const ids = items.map((item) => (item as { readonly _id: string })["_id"]);
    expect(Object.keys(cut.subscription.fields)).toEqual(ids.toSorted());
    expect(cut.subscription.isLive).toBe(true);
  },
);

test("[S72] a document that may no longer be read is dropped from the part already sent", async () => {
  const mine = authorityOf({ cars: ["owner == 1"] });
  const { execute, receiver: open } = await openStreams({ limits: { pieceDocuments: 1 } });
  for (const id of ["a", "b", "c"]) {
    await execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: id, color: "red", owner: 1 } });
  }
  const subscription = new Subscription(RED);
  const first = open(mine);
  first.isFast = false;
  first.subscribe(subscription);
  await turns();
  first.take(3);
  first.disconnect();
  await execute("UPDATE cars SET owner = 2 WHERE _id = 'a'");
  const second = open(mine);
  second.subscribe(subscription);
  await turns();
  expect(reported(second)).toEqual(["b–c", "put c", "c–", "drop a"]);
  expect(Object.keys(subscription.fields)).toEqual(["b", "c"]);
});

/** What comes back, to which mode that leads, and where the first range begins. */
const ANEW: readonly (readonly [
  what: string,
  change: (cursor: SyncCursor, cut: Cut) => Promise<SyncCursor> | SyncCursor,
  mode: string,
  first: string | undefined,
])[] = [
  ["as it was", (cursor) => cursor, "fill", "d"],
  ["another filter", (cursor) => ({ ...cursor, filter: new Uint8Array(16) }), "compare", undefined],
  ["another history", (cursor) => ({ ...cursor, history: "other" }), "fill", undefined],
  ["a transaction that is not here", (cursor) => ({ ...cursor, txn: 1e6 }), "fill", undefined],
  [
    "a transaction below the floor of the log",
    async (cursor, { store, put }) => {
      for (let i = 0; i < 20; i++) await put("boats", car("x"));
      await store.maintain();
      return cursor;
    },
    "compare",
    undefined,
  ],
  [
    "a transaction too many of which are behind it",
    async (cursor, { put }) => {
      for (let i = 0; i < 120; i++) await put("boats", car("x"));
      return cursor;
    },
    "compare",
    undefined,
  ],
];

test.each(ANEW)(
  "[S72] when a fill continues, and when everything is compared or filled again: %s",
  async (what, change, mode, first) => {
    const logCount = what.includes("floor") ? 5 : DEFAULT_RETENTION.logCount;
    const retention = { ...DEFAULT_RETENTION, logCount };
    const cut = await cutAfter(2, { store: { retention }, limits: { resumeTransactions: 100 } });
    const { subscription } = cut;
    if (subscription.cursor === undefined) throw new Error("expected a cursor");
    subscription.cursor = await change(subscription.cursor, cut);
    const receiver = await comeBack(cut);
    expect(subscription.mode).toBe(mode);
    const ranges = [...receiver.ofKind("documents"), ...receiver.ofKind("versions")];
    expect(ranges.find(({ range }) => range !== undefined)?.range?.after).toBe(first);
    expect(Object.keys(subscription.fields)).toEqual(IDS);
    expect(subscription.isLive).toBe(true);
    // Also where it is compared nothing comes again that is held.
    const puts = reported(receiver).filter((line) => line.startsWith("put "));
    expect(puts).toHaveLength(mode === "fill" && first === undefined ? 6 : 2);
  },
);

test("[S72] [S69] a fill does not continue on a shared stream: it starts over for both subscriptions", async () => {
  const cut = await cutAfter(2);
  const receiver = cut.receiver();
  const other = new Subscription(RED);
  receiver.subscribe(other);
  receiver.subscribe(cut.subscription);
  await turns();
  expect(cut.subscription.mode).toBe("fill");
  expect(reported(receiver).slice(0, 3)).toEqual(["–b", "put a", "put b"]);
  expect(Object.keys(cut.subscription.fields)).toEqual(IDS);
});

test("[S72] a fill may be cut repeatedly, and each document is sent once", async () => {
  const cut = await cutAfter(1, { limits: { pieceDocuments: 1 } });
  const sent = ["a"];
  while (!cut.subscription.isLive) {
    const receiver = cut.receiver();
    receiver.isFast = false;
    receiver.subscribe(cut.subscription);
    await turns();
    // The answer, a piece, and where that was the last, the end.
    receiver.take(sent.length < IDS.length ? 2 : 3);
    for (const line of reported(receiver)) if (line.startsWith("put ")) sent.push(line.slice(4));
    receiver.disconnect();
    if (receiver.ofKind("complete").length > 0) break;
  }
  expect(sent).toEqual(IDS);
  expect(Object.keys(cut.subscription.fields)).toEqual(IDS);
});
