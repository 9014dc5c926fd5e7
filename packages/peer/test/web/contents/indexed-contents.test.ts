/**
 * The contents of a browser fulfil the contract of a ContentPlace, on a simulated IndexedDB.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { contentPlaceContract } from "../../../../engine/test/contract/content-place-contract.ts";
import { contentHash } from "../../../src/web/contents/content-hash.ts";
import { IndexedContents } from "../../../src/web/contents/indexed-contents.ts";
import { SimulatedDisk } from "../../support/simulated-indexed-db.ts";

const PIECE_BYTES = 1024 * 1024;

contentPlaceContract("IndexedDB", async () => {
  const disk = new SimulatedDisk();
  const db = disk.start();
  const open = (): Promise<IndexedContents> => IndexedContents.open(db, "contents", contentHash);
  return { place: await open(), restart: open, isDurable: true, isBuffered: true };
});

async function* megabytes(count: number, failure?: Error): AsyncIterable<Uint8Array> {
  for (let i = 0; i < count; i++) yield new Uint8Array(PIECE_BYTES).fill(i);
  if (failure !== undefined) throw failure;
}

function recordsOf(disk: SimulatedDisk, store: string): number {
  return disk.databases.get("contents")?.stores.get(store)?.size ?? 0;
}

test("[K96] of a content whose creation was interrupted, the next opening removes all pieces", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  const pieces = async function* (): AsyncIterable<Uint8Array> {
    yield* megabytes(3);
    await new Promise(() => {});
  };
  void contents.create(pieces());
  await expect.poll(() => recordsOf(disk, "piece")).toBe(3);
  await IndexedContents.open(disk.start(), "contents", contentHash);
  expect([recordsOf(disk, "piece"), recordsOf(disk, "partial")]).toEqual([0, 0]);
});

test("a content that is created twice has its pieces once", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  const [first, second] = await Promise.all([
    contents.create(megabytes(2)),
    contents.create(megabytes(2)),
  ]);
  expect(second).toEqual(first);
  expect(["content", "partial", "piece"].map((name) => recordsOf(disk, name))).toEqual([1, 0, 2]);
  await contents.remove(first.id);
  expect(recordsOf(disk, "piece")).toBe(0);
});

test("a content that is created again can be read on by those who read it", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  const { id, len } = await contents.create(megabytes(2));
  const seen: number[] = [];
  for await (const piece of contents.read(id, len, 0)) {
    seen.push(piece[0] ?? -1);
    await contents.create(megabytes(2));
  }
  expect(seen).toEqual([0, 1]);
});

test("a full storage is store.full, and leaves nothing of the content", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  let count = 0;
  disk.faultAt = () => (++count === 3 ? "quota" : undefined);
  const created = contents.create(megabytes(4));
  await expect(created).rejects.toMatchObject({ code: "store.full" });
  await expect(created).rejects.toBeInstanceOf(PeerError);
  expect([recordsOf(disk, "piece"), recordsOf(disk, "partial")]).toEqual([0, 0]);
});

test("a connection that the browser drops is opened again", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  let count = 0;
  disk.faultAt = () => (++count % 3 === 2 ? "closed" : undefined);
  const { id, len } = await contents.create(megabytes(5));
  disk.faultAt = () => undefined;
  let size = 0;
  for await (const piece of contents.read(id, len, 0)) size += piece.length;
  expect([size, recordsOf(disk, "piece")]).toEqual([len, 5]);
});

test("[K96] a crash takes no complete content away, and of a download at most its end", async () => {
  const disk = new SimulatedDisk();
  const contents = await IndexedContents.open(disk.start(), "contents", contentHash);
  const { id, len } = await contents.create(megabytes(2));
  const other = await contents.create(megabytes(3));
  await contents.remove(other.id);
  const download = await contents.resume(other.id);
  for await (const piece of megabytes(2)) await download.append(piece);
  disk.crash(1);
  const next = await IndexedContents.open(disk.start(), "contents", contentHash);
  let size = 0;
  for await (const piece of next.read(id, len, 0)) size += piece.length;
  expect(size).toBe(len);
  const again = await next.resume(other.id);
  expect(again.size).toBe(PIECE_BYTES);
  await again.append(new Uint8Array(PIECE_BYTES).fill(1));
  await again.append(new Uint8Array(PIECE_BYTES).fill(2));
  expect(await again.finish()).toBe(true);
});
