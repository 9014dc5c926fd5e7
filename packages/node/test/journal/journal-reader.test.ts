import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Value } from "@bigpeer/protocol";
import { afterEach, expect, test } from "vitest";
import type { Replayed } from "../../src/journal/journal-recovery.ts";
import { type JournaledLmdb, openJournaled } from "../../src/journal/journaled-key-value.ts";
import { readJournaled } from "../../src/journal/journaled-reader.ts";

const ALL = { from: "\0", to: "\xff" };
const SMALL = { segmentBytesMin: 4096, segmentBytesMax: 4096, layerMs: 1_000_000 };

const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function openStorage(folder: string): Promise<JournaledLmdb> {
  const storage = await openJournaled(folder, { limits: SMALL });
  cleanups.push(() => storage.close());
  storage.startJournal();
  return storage;
}

/** A folder as a killed process leaves it, with `count` commits, all of them in the journal. */
async function killedFolder(count: number): Promise<string> {
  const folder = newFolder();
  const storage = await openStorage(folder);
  for (let i = 0; i < count; i++) await storage.commit(commitOf(i));
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

function commitOf(i: number): Map<string, Value> {
  return new Map<string, Value>([
    [`key ${String(i).padStart(4, "0")}`, { number: i, text: "x".repeat(100) }],
    ["last", i],
  ]);
}

function segmentsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^journal-\d+/.test(name))
    .map((name) => join(folder, name));
}

async function keyCount(
  folder: string,
): Promise<{ count: number; replayed: Replayed | undefined }> {
  let replayed: Replayed | undefined;
  const storage = await openJournaled(folder, {
    onReplay: (_, found) => {
      replayed = found;
    },
  });
  const snapshot = storage.snapshot();
  const count = [...snapshot.keys(ALL)].length;
  snapshot.close();
  await storage.close();
  return { count, replayed };
}

test("[K81] the journal of a storage that was killed is replayed, and is gone then", async () => {
  const folder = await killedFolder(50);
  expect(segmentsIn(folder).length).toBeGreaterThan(2);
  const { count, replayed } = await keyCount(folder);
  expect(count).toBe(51);
  expect(replayed?.entries).toBe(50);
  expect(segmentsIn(folder)).toEqual([]);
  expect(await keyCount(folder)).toEqual({ count: 51, replayed: undefined });
});

test("[K80] a storage that was closed has no journal, and one that only read never had one", async () => {
  const folder = newFolder();
  const storage = await openStorage(folder);
  expect(segmentsIn(folder)).toEqual([]);
  await storage.commit(commitOf(1));
  expect(segmentsIn(folder)).toHaveLength(1);
  await storage.close();
  expect(readdirSync(folder)).toEqual(["data.mdb", "lock.mdb"]);
});

test("[K81] a torn last entry was not acknowledged, and is left out", async () => {
  const folder = await killedFolder(5);
  const [segment = ""] = segmentsIn(folder);
  const bytes = readFileSync(segment);
  const end = bytes.lastIndexOf("BPJe");
  bytes.fill(0, end + 40, end + 60);
  writeFileSync(segment, bytes);
  expect((await keyCount(folder)).count).toBe(5);
});

test("[K82] a damaged entry before others is refused with its place, and nothing is changed", async () => {
  const folder = await killedFolder(5);
  const [segment = ""] = segmentsIn(folder);
  const bytes = readFileSync(segment);
  const place = bytes.indexOf("BPJe", bytes.indexOf("BPJe") + 4);
  bytes.fill(0, place + 40, place + 60);
  writeFileSync(segment, bytes);
  const refusal = { code: "store.corrupt", message: expect.stringContaining(`at byte ${place}`) };
  await expect(openJournaled(folder)).rejects.toMatchObject(refusal);
  await expect(openJournaled(folder)).rejects.toMatchObject(refusal);
  expect(readFileSync(segment)).toEqual(bytes);
});

test("[K82] a header that is damaged is refused with its file", async () => {
  const folder = await killedFolder(5);
  const [segment = ""] = segmentsIn(folder);
  const bytes = readFileSync(segment);
  bytes.fill(0, 8, 12);
  writeFileSync(segment, bytes);
  const message = expect.stringContaining(segment);
  await expect(openJournaled(folder)).rejects.toMatchObject({ code: "store.corrupt", message });
});

test.each([0, 1, -1])(
  "[K82] a missing segment is refused, and found when it is put back: %d",
  async (at) => {
    const folder = await killedFolder(60);
    const segment = segmentsIn(folder).at(at) ?? "";
    const bytes = readFileSync(segment);
    rmSync(segment);
    const message = expect.stringContaining("acknowledged writes would be lost");
    await expect(openJournaled(folder)).rejects.toMatchObject({ code: "store.corrupt", message });
    writeFileSync(segment, bytes);
    expect((await keyCount(folder)).count).toBe(61);
  },
);

test("[K82] the journal of another storage is refused, after a clean stop and after a kill", async () => {
  const [killed, other] = [await killedFolder(5), await killedFolder(5)];
  const message = expect.stringContaining("found that of another");
  for (const segment of segmentsIn(other)) {
    copyFileSync(segment, join(killed, segment.slice(other.length)));
  }
  await expect(openJournaled(killed)).rejects.toMatchObject({ code: "store.corrupt", message });
  const clean = newFolder();
  await (await openStorage(clean)).close();
  for (const segment of segmentsIn(other)) {
    copyFileSync(segment, join(clean, segment.slice(other.length)));
  }
  await expect(openJournaled(clean)).rejects.toMatchObject({ code: "store.corrupt", message });
});

test("[K82] an older journal under a newer tree is refused", async () => {
  const folder = newFolder();
  const storage = await openStorage(folder);
  for (let i = 0; i < 5; i++) await storage.commit(commitOf(i));
  const [segment = ""] = segmentsIn(folder);
  const older = readFileSync(segment);
  for (let i = 5; i < 10; i++) await storage.commit(commitOf(i));
  // Too large for the journal: it goes to the tree, after everything before it.
  await storage.commit(new Map([["large", "x".repeat(5_000_000)]]));
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  writeFileSync(join(copy, segment.slice(folder.length)), older);
  const message = expect.stringContaining("expected entries up to 10, found them up to 5");
  await expect(openJournaled(copy)).rejects.toMatchObject({ code: "store.corrupt", message });
});

test("[K85] a reader beside sees every commit that was acknowledged before, and a copy has them", async () => {
  const folder = newFolder();
  const storage = await openStorage(folder);
  const reader = readJournaled(folder);
  cleanups.push(() => reader.close());
  for (let i = 0; i < 120; i++) {
    await storage.commit(commitOf(i));
    const snapshot = reader.snapshot();
    expect(snapshot.get("last")).toBe(i);
    expect([...snapshot.keys(ALL)]).toHaveLength(i + 2);
    // Shapes that only the journal has are known too.
    expect(snapshot.get(`key ${String(i).padStart(4, "0")}`)).toMatchObject({ number: i });
    snapshot.close();
  }
  const copy = join(newFolder(), "copy");
  await reader.copyTo(copy);
  expect(readdirSync(copy)).toEqual(["data.mdb"]);
  expect(await keyCount(copy)).toEqual({ count: 121, replayed: undefined });
});
