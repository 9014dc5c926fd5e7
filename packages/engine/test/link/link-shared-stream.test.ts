/**
 * Queries that say the same in other words: each has a cursor of its own, and all share one stream. What
 * one of them does must not take anything from the others.
 */

import type { LinkMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import {
  follow,
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

const HOUR_MS = 3_600_000;

async function putBlue(at: LinkedStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await at.put("cars", { _id: `${i}`, color: "blue" });
}

test("[S16] [S56] a removed query leaves the open transaction to the remaining query of the stream", async () => {
  const a = await linkedStore("a");
  const b = await linkedStore("b");
  const bikes = { bikes: ["true"] };
  let isArmed = false;
  const isCut = (message: LinkMessage, to: string): boolean => {
    if (isArmed && to === "b" && message.t === "committed") {
      isArmed = false;
      wire.dial.link.configure({ ...bikes, cars: [ONE] });
    }
    return false;
  };
  const queries = { ...bikes, cars: [ONE, SAME] };
  const wire: LinkWire = follow(b, a, { queries }, { isCut });
  await settled([a, b], [wire]);
  isArmed = true;
  await a.store.transact((transaction) =>
    transaction.apply([
      { kind: "insert", collection: "cars", id: "1", fields: { color: "blue" } },
      { kind: "insert", collection: "bikes", id: "1", fields: { n: 1 } },
    ]),
  );
  await settled([a, b], [wire]);
  expect(isArmed).toBe(false);
  expect(shown(b, "bikes")).toEqual(shown(a, "bikes"));
  expect(shown(b)).toEqual(shown(a));
});

test("[S86] a held query leaves waiting documents to a query that was added after it", async () => {
  const disk = new MemoryDisk();
  const a = await linkedStore("a");
  const b = await linkedStore("b", { disk });
  await putBlue(a, 1);
  // So all that comes behind one document waits for it.
  const limits = { batches: 1 };
  const wire = follow(b, a, { queries: { cars: [ONE] }, limits });
  await settled([a, b], [wire]);
  disk.holdSyncs();
  await a.put("cars", { _id: "1", color: "blue" });
  await turns();
  // Waits behind it, for the first query alone.
  a.platform.nowMs += HOUR_MS;
  await a.put("cars", { _id: "ahead", color: "blue" });
  await turns();
  const isRed = a.put("cars", { _id: "ahead", color: "red" });
  a.platform.nowMs -= HOUR_MS;
  wire.dial.link.configure({ cars: [ONE, SAME] });
  await isRed;
  // In time, though its store is ahead: only the fill of both brings it.
  const stamp = { time: 1000, site: "00000000000000aa" };
  await a.store.transact((transaction) =>
    transaction.applyForeign(stamp, [
      { kind: "insert", collection: "cars", id: "2", fields: { color: "blue" } },
    ]),
  );
  await until(() => wire.dial.heard.filter(({ t }) => t === "complete").length === 2);
  disk.releaseSyncs();
  await settled([a, b], [wire]);
  const states = wire.dial.link.status().subscriptions.map(({ state }) => state);
  expect(states).toEqual(["held", "live"]);
  const { ahead: _, ...inTime } = shown(a);
  expect(shown(b)).toEqual(inTime);
});

test("[S85] [S51] a first fill that starts over for a second query asks for documents that no longer match", async () => {
  const a = await linkedStore("a", { streams: { pieceDocuments: 2, roomBytes: 1 } });
  const b = await linkedStore("b");
  await putBlue(a, 9);
  let isArmed = true;
  const isCut = (message: LinkMessage, to: string): boolean => {
    if (isArmed && to === "b" && message.t === "documents") {
      isArmed = false;
      queueMicrotask(() => {
        void a.put("cars", { _id: "1", color: "red" });
        wire.dial.link.configure({ cars: [ONE, SAME] });
      });
    }
    return false;
  };
  const wire: LinkWire = follow(b, a, { queries: { cars: [ONE] } }, { isCut });
  await until(() => !isArmed);
  await settled([a, b], [wire]);
  expect(shown(b)).toEqual(shown(a));
});
