/**
 * The target of a link by itself: when it has room, whatever becomes of what took it, and what is
 * known of a query that ends in the middle.
 */

import { expect, test } from "vitest";
import { partsOf } from "../../src/crdt/state-parts.ts";
import { LinkTarget, type TargetEvent } from "../../src/link/link-target.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { linkedStore, turns } from "../support/linked-stores.ts";

const FILTER = new Uint8Array(16).fill(3);
const QUERY = { collection: "cars", condition: "true" };

test("[S56] a removed query frees the memory of its sweep", async () => {
  const b = await linkedStore("b");
  await b.put("cars", { _id: "1", n: 1 });
  const events: TargetEvent["kind"][] = [];
  const target = new LinkTarget({
    store: b.store,
    // Nothing that goes on in turns gets one.
    platform: { ...b.platform, pause: () => new Promise(() => {}) },
    appId: "app",
    source: "a",
    onEvent: ({ kind }) => events.push(kind),
  });
  target.follow(1, QUERY);
  target.subscribed(1, FILTER, false);
  target.complete({ t: "complete", filter: FILTER, txn: 5 });
  await turns(20);
  target.subscribed(1, FILTER, false);
  const range = { after: "0", through: "2" };
  while (!target.isFull)
    target.documents({ t: "documents", filter: FILTER, entries: [], range }, 9);
  await turns(20);
  expect([target.isFull, events]).toEqual([true, []]);
  target.unfollow(1);
  expect([target.isFull, events]).toEqual([false, ["room"]]);
});

/** A target whose queries hold something and are filled again; what goes on in turns waits for `go`. */
async function filledAgain(...ids: number[]) {
  const disk = new MemoryDisk();
  const b = await linkedStore("b", { disk });
  await b.put("cars", { _id: "1", n: 1 });
  await b.put("cars", { _id: "2", n: 1 });
  const waiting: (() => void)[] = [];
  const events: TargetEvent[] = [];
  const target = new LinkTarget({
    store: b.store,
    platform: { ...b.platform, pause: () => new Promise((resolve) => waiting.push(resolve)) },
    appId: "app",
    source: "a",
    onEvent: (event) => events.push(event),
  });
  for (const id of ids) {
    target.follow(id, { ...QUERY, condition: id === 1 ? "true" : `true OR n == ${id}` });
    target.subscribed(id, FILTER, false);
  }
  target.complete({ t: "complete", filter: FILTER, txn: 5 });
  await turns(20);
  for (const id of ids) target.subscribed(id, FILTER, false);
  const go = async (): Promise<void> => {
    for (const resolve of waiting.splice(0)) resolve();
    await turns(20);
  };
  /** The whole fill, which lists `2` alone, as another value. */
  const fill = (): void => {
    const { state } = b.store.read((snapshot) => snapshot.state("cars", "2"));
    const dead = { time: state.alive.time + 1, site: state.alive.site };
    const parts = partsOf({ ...state, dead });
    const entries = [["left", "2", 8, parts] as const];
    target.documents({ t: "documents", filter: FILTER, entries, range: {}, asOf: 8 }, 9);
    target.complete({ t: "complete", filter: FILTER, txn: 9 });
  };
  return { target, disk, events, go, fill };
}

test("[S51] [S54] a query that ends before its documents were checked is not whole", async () => {
  const { target, disk, go, fill } = await filledAgain(1);
  disk.holdSyncs();
  fill();
  target.unfollow(1);
  await go();
  disk.releaseSyncs();
  await turns(20);
  expect(target.stats.documents).toBe(1);
  expect(target.follow(2, QUERY)).toBe(undefined);
});

test("[S51] wants of a query that shares a stream are sent when the other query ends", async () => {
  const { target, events, go, fill } = await filledAgain(1, 2);
  fill();
  target.unfollow(1);
  await go();
  const wants = events.filter(({ kind }) => kind === "want");
  expect(wants).toEqual([{ kind: "want", filter: FILTER, ids: ["1"] }]);
  expect(target.query(2)?.isDoubtful).toBe(true);
});
