import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CommitSpace, type StorageSize } from "../../src/lmdb/commit-space.ts";
import { FileReserve } from "../../src/lmdb/file-reserve.ts";

const root = mkdtempSync(join(tmpdir(), "bigpeer-room-"));
afterAll(() => rmSync(root, { recursive: true }));

const SIZE: StorageSize = {
  pageSize: 4096,
  treeDepth: 2,
  treeBranchPageCount: 3,
  treeLeafPageCount: 100,
  lastPageNumber: 110,
};
const ENTRY = { keySize: 40, size: 200 };

function openRoom(name: string): { room: CommitSpace; path: string; asked: () => number } {
  const path = join(root, name);
  writeFileSync(path, new Uint8Array(111 * 4096));
  let asked = 0;
  const room = new CommitSpace(new FileReserve(path), () => {
    asked++;
    return SIZE;
  });
  return { room, path, asked: () => asked };
}

test("the file has space for a commit before it is written, and for more", async () => {
  const { room, path, asked } = openRoom("grows");
  await room.take([ENTRY]);
  expect(statSync(path).size).toBeGreaterThan(111 * 4096 + 1024 * 1024);
  expect(asked()).toBe(1);
  await room.close();
});

test("small commits share the reserved space, without reading the size again", async () => {
  const { room, path, asked } = openRoom("shares");
  await room.take([ENTRY]);
  const size = statSync(path).size;
  let commits = 0;
  while (asked() === 1) {
    await room.take([ENTRY]);
    commits++;
  }
  expect(commits).toBeGreaterThan(1);
  // The storage says that nothing was used after all, so the file need not grow.
  expect(statSync(path).size).toBe(size);
  await room.close();
});

test("so do two large ones, each of which may need more than the minimum step", async () => {
  const { room, asked } = openRoom("shares-large");
  const entries = Array.from({ length: 200 }, () => ENTRY);
  for (let i = 0; i < 2; i++) await room.take(entries);
  expect(asked()).toBe(1);
  await room.close();
});

test("a commit larger than the remaining space reads the size and grows the file", async () => {
  const { room, path, asked } = openRoom("large");
  await room.take([ENTRY]);
  const size = statSync(path).size;
  await room.take([{ keySize: 40, size: 8_000_000 }]);
  expect(asked()).toBe(2);
  expect(statSync(path).size).toBeGreaterThan(size + 6_000_000);
  await room.close();
});
