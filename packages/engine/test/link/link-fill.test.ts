/**
 * Fills over a link that is cut: they go on where they were, tell what happened to what had come, and
 * begin anew only where the log does not reach back.
 */

import type { LinkMessage, SyncCursor, ValueObject } from "@bigpeer/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import {
  briefly,
  entriesOf,
  follow,
  type LinkedStore,
  type LinkWire,
  linkedStore,
  settled,
  shown,
  states,
  turns,
  until,
  type WireSide,
} from "../support/linked-stores.ts";
import { problems } from "../support/open-store.ts";

/** One piece is on its way at a time. */
const PIECES = { pieceDocuments: 10, roomBytes: 1 };

const SHORT_LOG = { retention: { ...DEFAULT_RETENTION, logCount: 2 } };

let a: LinkedStore;
let b: LinkedStore;

beforeEach(async () => {
  a = await linkedStore("a", { streams: PIECES });
  b = await linkedStore("b");
});

/** Ids of so many digits that their order is that of the numbers. */
function idOf(i: number): string {
  return String(i).padStart(4, "0");
}

async function insert(
  at: LinkedStore,
  count: number,
  fields: ValueObject = { n: 1 },
): Promise<void> {
  await at.store.transact((transaction) =>
    transaction.apply(
      Array.from(
        { length: count },
        (_, i) => ({ kind: "insert", collection: "cars", id: idOf(i), fields }) as const,
      ),
    ),
  );
}

/** B follows A, until it has heard so many frames with documents. */
function followFor(
  frames: number,
  side: Partial<WireSide> = {},
  whenCut: () => void = () => undefined,
): LinkWire {
  let left = frames;
  const isCut = (message: LinkMessage): boolean => {
    const isOver = message.t === "documents" && --left < 0;
    if (isOver) whenCut();
    return isOver;
  };
  return follow(b, a, side, { isCut });
}

/** The process of B ends with the wire: nothing is written any more. */
function killedAfter(frames: number, side: Partial<WireSide> = {}): LinkWire {
  return followFor(frames, side, () => b.disk.crash({ unsynced: "lost" }));
}

async function cutAfter(frames: number, side: Partial<WireSide> = {}): Promise<LinkWire> {
  const wire = followFor(frames, side);
  await until(() => wire.isOver);
  await settled([a, b]);
  return wire;
}

function isLive(wire: LinkWire): boolean {
  return wire.dial.link.status().subscriptions.some(({ state }) => state === "live");
}

/** Where a side asked to go on. */
function cursorsOf(wire: LinkWire): (SyncCursor | undefined)[] {
  return wire.accept.heard.flatMap((message) =>
    message.t === "subscribe" ? [message.cursor] : [],
  );
}

function wantedOf(wire: LinkWire): unknown[] {
  return wire.accept.heard.flatMap((message) => (message.t === "want" ? message.ids : []));
}

describe("an interrupted fill", () => {
  test("[S88] continues after the merged documents: however often it is cut, each document crosses once", async () => {
    await insert(a, 400);
    let crossed = 0;
    let cuts = 0;
    for (let isWhole = false; !isWhole; cuts++) {
      const wire = followFor(3);
      await until(() => wire.isOver || isLive(wire));
      isWhole = !wire.isOver;
      await settled([a, b], [wire]);
      crossed += entriesOf(wire.dial).length;
      wire.cut();
      expect(cuts).toBeLessThan(100);
    }
    expect(states(b)).toEqual(states(a));
    expect(crossed).toBe(400);
    expect(cuts).toBeGreaterThan(10);
    const last = followFor(3);
    await settled([a, b], [last]);
    expect(entriesOf(last.dial)).toEqual([]);
    expect(problems(b.storage)).toEqual([]);
  });

  test.runIf(isFullSize)(
    "[S88] continues also if the follower was killed: documents under way cross again",
    async () => {
      await insert(a, 400);
      const limits = { batches: 2, batchDocuments: 10 };
      let crossed = 0;
      let cuts = 0;
      for (let isWhole = false; !isWhole; cuts++) {
        const wire = killedAfter(6, { limits });
        await until(() => wire.isOver || isLive(wire));
        isWhole = !wire.isOver;
        if (isWhole) await settled([a, b], [wire]);
        crossed += entriesOf(wire.dial).length;
        wire.cut();
        b = await linkedStore("b", { platform: b.platform, disk: b.disk });
        expect(cuts).toBeLessThan(100);
      }
      expect(states(b)).toEqual(states(a));
      // Of six pieces no more than those of the transactions that were under way, and the next.
      expect(crossed).toBeLessThan(400 * 2);
      expect(problems(b.storage)).toEqual([]);
    },
  );

  test("[S50] [S54] sends later changes to documents already sent, and nothing about the others", async () => {
    await insert(a, 60);
    const queries = { cars: ["n < 10"] };
    await cutAfter(3, { queries });
    expect(Object.keys(shown(b))).toHaveLength(30);
    await a.execute("UPDATE cars SET n = 50 WHERE _id = '0003'");
    await a.execute("UPDATE cars SET n = 2 WHERE _id = '0004'");
    await a.execute("DELETE FROM cars WHERE _id = '0005'");
    await a.put("cars", { _id: "0006+", n: 3 });
    await a.execute("UPDATE cars SET n = 60 WHERE _id = '0040'");
    await a.execute("DELETE FROM cars WHERE _id = '0041'");
    const wire = followFor(100, { queries });
    await settled([a, b], [wire]);
    const heard = briefly(entriesOf(wire.dial));
    expect(heard.filter((entry) => !/^put 00[345]/.test(entry)).sort()).toEqual([
      "deleted 0005",
      "deleted 0041",
      "left 0003",
      "put 0004",
      "put 0006+",
    ]);
    expect(heard).toHaveLength(33);
    const { "0040": _, ...rest } = states(a);
    expect(states(b)).toEqual(rest);
  });

  test("[S50] after many changes catches up first, and continues from there", async () => {
    a = await linkedStore("a", { streams: { ...PIECES, joinTransactions: 3 } });
    await insert(a, 60);
    const first = await cutAfter(3);
    for (let i = 0; i < 10; i++) await a.put("cars", { _id: idOf(i), n: 2 });
    const second = await cutAfter(2);
    const third = followFor(100);
    await settled([a, b], [third]);
    expect(states(b)).toEqual(states(a));
    const [, cursor, next] = [first, second, third].flatMap((wire) => cursorsOf(wire));
    expect([cursor?.after, next?.after]).toEqual([idOf(29), idOf(39)]);
    expect((next?.txn ?? 0) - (cursor?.txn ?? 0)).toBe(10);
  });

  test("[S50] also sends a document that came to match behind the cursor, was sent, and matches no longer", async () => {
    a = await linkedStore("a", { streams: { ...PIECES, joinTransactions: 0 } });
    await insert(a, 60);
    const queries = { cars: ["n < 10"] };
    let pieces = 0;
    let isReported = false;
    const isCut = (message: LinkMessage): boolean => {
      if (message.t !== "documents") return false;
      if (message.range === undefined) isReported = true;
      else if (++pieces === 3) void a.put("cars", { _id: "0006+", n: 3 });
      return isReported && message.range !== undefined;
    };
    const first = follow(b, a, { queries }, { isCut });
    await until(() => first.isOver);
    await settled([a, b]);
    expect(shown(b)["0006+"]).toEqual({ n: 3 });
    await a.execute("UPDATE cars SET n = 50 WHERE _id = '0006+'");
    const second = followFor(100, { queries });
    await settled([a, b], [second]);
    expect(cursorsOf(second)[0]).toEqual(expect.objectContaining({ txn: a.store.txnId - 2 }));
    expect(briefly(entriesOf(second.dial))).toContain("left 0006+");
    expect(states(b)).toEqual(states(a));
  });

  test("[S50] starts over where the log does not reach back, and misses nothing", async () => {
    a = await linkedStore("a", {
      streams: PIECES,
      store: SHORT_LOG,
    });
    await insert(a, 60);
    const queries = { cars: ["n < 10"] };
    await cutAfter(3, { queries });
    await a.execute("UPDATE cars SET n = 50 WHERE _id = '0003'");
    for (let i = 0; i < 6; i++) await a.put("cars", { _id: "0004", n: i });
    await a.store.maintain();
    const wire = followFor(100, { queries });
    await settled([a, b], [wire]);
    expect(cursorsOf(wire)[0]?.after).toBe(idOf(29));
    expect(wantedOf(wire)).toEqual(["0003"]);
    expect(entriesOf(wire.dial)).toHaveLength(60);
    expect(states(b)).toEqual(states(a));
  });

  test("[S87] sets aside no document that the follower never had, however long the link was down", async () => {
    await insert(a, 60);
    await b.put("cars", { _id: "own", n: 1 });
    await b.execute("DELETE FROM cars WHERE _id = 'own'");
    for (const { platform } of [a, b]) platform.nowMs += 86_400_000;
    await cutAfter(3);
    for (let day = 0; day < 40; day++) {
      for (const { platform } of [a, b]) platform.nowMs += 86_400_000;
      for (const { store } of [a, b]) await store.maintain();
    }
    expect(b.store.read(({ head }) => head.horizon)).toBeGreaterThan(0);
    const wire = followFor(100);
    await settled([a, b], [wire]);
    expect(wire.dial.link.status().pulled.stale).toBe(0);
    expect(states(b)).toEqual(states(a));
  });

  test("[S54] does not use the cursor of another filter", async () => {
    await insert(a, 60);
    await cutAfter(3);
    const wire = followFor(100, { queries: { cars: ["true", "n = 1"] } });
    await settled([a, b], [wire]);
    expect(cursorsOf(wire).map((cursor) => cursor?.after)).toEqual([idOf(29), undefined]);
    expect(entriesOf(wire.dial)).toHaveLength(90);
    expect(states(b)).toEqual(states(a));
  });

  test("[S86] [S88] does not count documents that were held back, nor later ones", async () => {
    a = await linkedStore("a", { streams: { pieceDocuments: 10 } });
    await insert(a, 10, { n: 1, text: "x".repeat(2000) });
    await a.put("cars", ...Array.from({ length: 20 }, (_, i) => ({ _id: idOf(20 + i), n: 1 })));
    a.platform.nowMs += 3_600_000;
    await a.put("cars", { _id: idOf(15), n: 1 });
    a.platform.nowMs -= 3_600_000;
    b.disk.holdSyncs();
    const first = followFor(100, { limits: { batchDocuments: 1, waitingBytes: 10_000 } });
    // The others wait for the first piece, and then come at once, in transactions of their own.
    await turns(200);
    b.disk.releaseSyncs();
    await settled([a, b], [first]);
    expect(first.dial.link.status().subscriptions.map(({ state }) => state)).toEqual(["held"]);
    first.cut();
    await settled([a, b]);
    for (const { platform } of [a, b]) platform.nowMs += 3_600_000;
    const second = followFor(100);
    await settled([a, b], [second]);
    expect(cursorsOf(second)[0]?.after).toBe(idOf(9));
    expect(states(b)).toEqual(states(a));
  });
});

describe("a repeated first fill", () => {
  const queries = { cars: ["color == 'blue'"] };
  let disk: MemoryDisk;

  beforeEach(async () => {
    disk = new MemoryDisk();
    a = await linkedStore("a", { streams: { pieceDocuments: 2, roomBytes: 1 }, store: SHORT_LOG });
    b = await linkedStore("b", { disk });
    for (let i = 0; i < 9; i++) await a.put("cars", { _id: `${i}`, color: "blue" });
    disk.holdSyncs();
  });

  /** B follows A; the first piece has come, and is not durable. */
  async function begun(limits: WireSide["limits"] = {}): Promise<LinkWire> {
    const wire = follow(b, a, { queries, limits });
    await until(() => entriesOf(wire.dial).length > 0);
    return wire;
  }

  test("[S85] [S51] asks for earlier documents if its query was removed and added again", async () => {
    const wire = await begun();
    wire.dial.link.configure({});
    await a.put("cars", { _id: "1", color: "red" });
    wire.dial.link.configure(queries);
    await turns();
    disk.releaseSyncs();
    await settled([a, b], [wire]);
    expect(wantedOf(wire)).toEqual(["1"]);
    expect(shown(b)).toEqual(shown(a));
  });

  test("[S85] [S51] asks for documents that came over an earlier link that has not ended yet", async () => {
    const first = await begun();
    first.cut();
    await a.put("cars", { _id: "1", color: "red" });
    const second = follow(b, a, { queries });
    await turns();
    disk.releaseSyncs();
    await settled([a, b], [second]);
    expect(wantedOf(second)).toEqual(["1"]);
    expect(shown(b)).toEqual(shown(a));
  });

  test("[S85] [S51] asks for earlier documents if it starts over because the log was trimmed", async () => {
    const wire = await begun({ waitingBytes: 1 });
    await turns();
    await a.put("cars", { _id: "1", color: "red" });
    for (let i = 0; i < 9; i++) await a.put("other", { _id: `${i}` });
    await a.store.maintain();
    disk.releaseSyncs();
    await settled([a, b], [wire]);
    a.streams.tick();
    await settled([a, b], [wire]);
    expect(wantedOf(wire)).toEqual(["1"]);
    expect(shown(b)).toEqual(shown(a));
  });
});

describe("a fill that is not the first", () => {
  const queries = { cars: ["n < 10"] };

  /** The log of A does not reach back to the cursor of B. */
  async function lost({ isChanged = true } = {}): Promise<void> {
    a = await linkedStore("a", { streams: PIECES, store: SHORT_LOG });
    await insert(a, 60);
    const wire = followFor(100, { queries });
    await settled([a, b], [wire]);
    wire.cut();
    await settled([a, b]);
    if (isChanged) await a.execute("UPDATE cars SET n = 50 WHERE _id = '0003'");
    for (let i = 0; i < 6; i++) await a.put("cars", { _id: "0059", n: i });
    await a.store.maintain();
  }

  test("[S88] also continues if nothing changed, and makes few transactions", async () => {
    await lost();
    const before = b.store.txnId;
    const first = await cutAfter(3, { queries, limits: { batchDocuments: 10 } });
    // What was asked for, and how far it is.
    expect(b.store.txnId - before).toBeLessThanOrEqual(3);
    const second = followFor(100, { queries });
    await settled([a, b], [second]);
    expect(cursorsOf(second)[0]?.after).toBeDefined();
    expect(entriesOf(first.dial).length + entriesOf(second.dial).length).toBeLessThan(80);
    const { "0003": left, ...rest } = states(a);
    expect(states(b)).toEqual({ ...rest, "0003": left });
  });

  test("[S88] writes its cursor now and then even if nothing changed, so it continues after a kill", async () => {
    await lost({ isChanged: false });
    const goesOn: boolean[] = [];
    let made = 0;
    for (const cursorDocuments of [1000, 15]) {
      const before = b.store.txnId;
      const wire = killedAfter(5, { queries, limits: { batchDocuments: 10, cursorDocuments } });
      await until(() => wire.isOver);
      b = await linkedStore("b", { platform: b.platform, disk: b.disk });
      const next = await cutAfter(0, { queries });
      goesOn.push(cursorsOf(next)[0]?.after !== undefined);
      made += b.store.txnId - before;
    }
    expect(goesOn).toEqual([false, true]);
    // Of fifty documents for each fifteen.
    expect(made).toBeLessThanOrEqual(3);
  });

  test("[S85] [S88] asks again for documents that were not answered before the cut", async () => {
    await lost();
    let pieces = 0;
    const isCut = (message: LinkMessage): boolean =>
      message.t === "documents" && (message.range === undefined || ++pieces > 4);
    const first = follow(b, a, { queries }, { isCut });
    await until(() => first.isOver);
    await settled([a, b]);
    expect(wantedOf(first)).toEqual(["0003"]);
    expect(shown(b)["0003"]).toEqual({ n: 1 });
    const second = followFor(100, { queries });
    await settled([a, b], [second]);
    expect(wantedOf(second)).toEqual(["0003"]);
    expect(states(b)).toEqual(states(a));
  });

  test("[S85] [S88] does not ask again for documents that were answered", async () => {
    await lost();
    const first = follow(b, a, { queries }, { isCut: ({ t }) => t === "complete" });
    await until(() => first.isOver);
    await settled([a, b]);
    expect(wantedOf(first)).toEqual(["0003"]);
    const second = followFor(100, { queries });
    await settled([a, b], [second]);
    expect(wantedOf(second)).toEqual([]);
    expect(entriesOf(second.dial).length).toBeLessThan(20);
    expect(states(b)).toEqual(states(a));
  });
});
