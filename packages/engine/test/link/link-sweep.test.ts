/**
 * What a follower asks for because a fill does not list it: it looks when what came before is merged,
 * nothing counts as whole before the answers are, and what the source forgot is not waited for.
 */

import type { LinkMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import {
  follow,
  type LinkedSetup,
  type LinkedStore,
  type LinkWire,
  linkedStore,
  settled,
  shown,
  turns,
  until,
} from "../support/linked-stores.ts";

const ONE = "color == 'blue'";
const SAME = "(color == 'blue')";
const queries = { cars: [ONE] };

const SHORT_LOG = { retention: { ...DEFAULT_RETENTION, logCount: 2 } };
const HOUR_MS = 3_600_000;

function wantedOf(wire: LinkWire): unknown[] {
  return wire.accept.heard.flatMap((message) => (message.t === "want" ? message.ids : []));
}

/** So much is written that the log does not reach back. */
async function cutLog({ put, store }: LinkedStore): Promise<void> {
  for (let i = 0; i < 5; i++) await put("other", { _id: `${i}` });
  await store.maintain();
}

interface Pair {
  readonly a: LinkedStore;
  readonly b: LinkedStore;
  readonly disk: MemoryDisk;
}

/** B has followed A, which has four blue cars and a short log. */
async function followedOnce(setup: LinkedSetup = {}): Promise<Pair> {
  const disk = new MemoryDisk();
  const a = await linkedStore("a", { store: SHORT_LOG, ...setup });
  const b = await linkedStore("b", { disk });
  for (let i = 0; i < 4; i++) await a.put("cars", { _id: `${i}`, color: "blue" });
  const wire = follow(b, a, { queries });
  await settled([a, b], [wire]);
  await wire.dial.link.close("closing", "");
  await settled([a, b]);
  return { a, b, disk };
}

function idOf(i: number): string {
  return `order-${String(i).padStart(94, "0")}`;
}

/** A document that is ahead of no clock. */
async function putOld({ store }: LinkedStore, id: string): Promise<void> {
  const stamp = { time: 1000, site: "00000000000000aa" };
  const fields = { color: "blue" };
  await store.transact((transaction) =>
    transaction.applyForeign(stamp, [{ kind: "insert", collection: "cars", id, fields }]),
  );
}

test("[S85] held documents are searched for only after all changes before the piece are merged", async () => {
  const { a, b, disk } = await followedOnce();
  const wire = follow(b, a, { queries });
  await settled([a, b], [wire]);
  disk.holdSyncs();
  await a.put("cars", { _id: "1x", color: "blue" });
  await turns();
  // It is on its way into the store when the stream begins anew without it.
  wire.dial.link.configure({ cars: [ONE, SAME] });
  await a.put("cars", { _id: "1x", color: "red" });
  await turns();
  disk.releaseSyncs();
  await settled([a, b], [wire]);
  expect(wantedOf(wire)).toEqual(["1x"]);
  expect(shown(b)).toEqual(shown(a));
});

test("[S86] [S54] no cursor covers an answer that is held back", async () => {
  const { a, b, disk } = await followedOnce();
  a.platform.nowMs += HOUR_MS;
  await a.put("cars", { _id: "1", color: "red" });
  a.platform.nowMs -= HOUR_MS;
  await putOld(a, "00");
  await cutLog(a);
  disk.holdSyncs();
  const wire = follow(b, a, { queries });
  await turns(200);
  expect(wantedOf(wire)).toEqual(["1"]);
  disk.releaseSyncs();
  await settled([a, b], [wire]);
  expect(wire.dial.link.status().subscriptions.map(({ state }) => state)).toEqual(["held"]);
  for (const { platform } of [a, b]) platform.nowMs += HOUR_MS;
  wire.tick();
  await settled([a, b], [wire]);
  expect(shown(b)).toEqual(shown(a));
});

test("[S54] no cursor covers an answer that is not durable", async () => {
  const { a, b, disk } = await followedOnce();
  await a.put("cars", { _id: "1", color: "red" }, { _id: "2", color: "red" });
  await putOld(a, "00");
  await cutLog(a);
  disk.holdSyncs();
  // Both answers are too much for the transaction of the cursor: the process can end between the two.
  const wire = follow(b, a, { queries, limits: { batchDocuments: 1 } });
  await turns(200);
  expect(wantedOf(wire)).toEqual(["1", "2"]);
  // The piece becomes durable, and then what says how far that is.
  for (let i = 0; i < 3 && !("00" in shown(b)); i++) {
    disk.syncNext();
    await turns(20);
  }
  expect(Object.keys(shown(b))).toContain("00");
  disk.syncNext();
  await turns(20);
  disk.crash({ unsynced: "lost" });
  wire.cut();
  disk.releaseSyncs();
  const restarted = await linkedStore("b", { platform: b.platform, disk });
  const next = follow(restarted, a, { queries });
  await settled([a, restarted], [next]);
  expect(shown(restarted)).toEqual(shown(a));
});

test("[S86] [S54] a link that ends writes no cursor of a query that was held meanwhile", async () => {
  const { a, b, disk } = await followedOnce();
  a.platform.nowMs += HOUR_MS;
  await a.put("cars", { _id: "1", color: "red" });
  a.platform.nowMs -= HOUR_MS;
  await putOld(a, "00");
  await cutLog(a);
  disk.holdSyncs();
  const first = follow(b, a, { queries });
  await turns(200);
  const isClosed = first.dial.link.close("closing", "");
  disk.releaseSyncs();
  await isClosed;
  await settled([a, b]);
  for (const { platform } of [a, b]) platform.nowMs += HOUR_MS;
  const second = follow(b, a, { queries });
  await settled([a, b], [second]);
  expect(shown(b)).toEqual(shown(a));
});

test("[S54] a stream that starts over does not wait for answers to its earlier wants: its cursor moves", async () => {
  const { a, b } = await followedOnce();
  await a.put("cars", { _id: "1", color: "red" });
  await cutLog(a);
  let isArmed = true;
  const isCut = (message: LinkMessage, to: string): boolean => {
    if (isArmed && to === "a" && message.t === "want") {
      isArmed = false;
      // The stream is another one before it can answer, and here nothing matches that it left out.
      wire.dial.link.configure({ cars: [ONE, SAME] });
      void b.execute("UPDATE cars SET color = 'green' WHERE _id = '1'");
    }
    return false;
  };
  const wire: LinkWire = follow(b, a, { queries }, { isCut });
  await until(() => !isArmed);
  await settled([a, b], [wire]);
  await a.put("cars", { _id: "9", color: "blue" });
  await settled([a, b], [wire]);
  await wire.dial.link.close("closing", "");
  await settled([a, b]);
  const last = follow(b, a, { queries: { cars: [ONE, SAME] } });
  await settled([a, b], [last]);
  const cursors = last.accept.heard.flatMap((message) =>
    message.t === "subscribe" ? [message.cursor?.txn] : [],
  );
  expect(cursors).toEqual([a.store.txnId, a.store.txnId]);
});

test.runIf(isFullSize)(
  "[S50] a follower may ask for many documents in total, if it asks for few at a time",
  async () => {
    const COUNT = 14_000;
    // More than the 11,000 that are asked for at a time, and less than all. Answers are slower.
    const streams = { wantedBytes: 1_300_000, pieceDocuments: 200 };
    const a = await linkedStore("a", { store: SHORT_LOG, streams });
    const b = await linkedStore("b");
    await a.put("cars", { _id: "x", color: "blue" });
    const first = follow(b, a, { queries });
    await settled([a, b], [first]);
    await first.dial.link.close("closing", "");
    const fields = { color: "blue" };
    await b.store.transact((transaction) =>
      transaction.apply(
        Array.from(
          { length: COUNT },
          (_, i) => ({ kind: "insert", collection: "cars", id: idOf(i), fields }) as const,
        ),
      ),
    );
    await cutLog(a);
    let wanted = 0;
    const isCut = (message: LinkMessage): boolean => {
      if (message.t === "want") wanted += message.ids.length;
      return false;
    };
    const wire = follow(b, a, { queries }, { isCut });
    await until(() => wanted >= COUNT || wire.dial.link.status().lastError !== undefined);
    await settled([a, b], [wire]);
    expect(wire.dial.link.status().lastError).toBe(undefined);
    expect(wanted).toBe(COUNT);
  },
);
