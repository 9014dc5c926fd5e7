import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FileReserve } from "../../src/lmdb/file-reserve.ts";

let folder: string;
let path: string;
let reserve: FileReserve;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bigpeer-reserve-"));
  path = join(folder, "file");
  writeFileSync(path, "content");
  reserve = new FileReserve(path);
});

afterEach(async () => {
  await reserve.close();
  rmSync(folder, { recursive: true });
});

test("a file grows by zeros that are on the disk, and keeps its content", async () => {
  expect(await reserve.grow(10_000, 3_000_000)).toBe(3_000_000);
  expect(statSync(path).size).toBe(3_000_000);
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(3_000_000);
  const bytes = readFileSync(path);
  expect(bytes.subarray(0, 7).toString()).toBe("content");
  expect(bytes.subarray(7).every((byte) => byte === 0)).toBe(true);
});

test("a file that is long enough stays unchanged", async () => {
  expect(await reserve.grow(7, 1000)).toBe(7);
  expect(statSync(path).size).toBe(7);
  expect(await reserve.grow(8, 1000)).toBe(1000);
  expect(statSync(path).size).toBe(1000);
});

test("bytes that another writer puts past the end meanwhile are not overwritten", async () => {
  const growth = reserve.grow(5_000_000, 5_000_000, { isWritten: true });
  const other = openSync(path, "r+");
  writeSync(other, "page", 10_000);
  closeSync(other);
  expect(await growth).toBeGreaterThanOrEqual(5_000_000);
  expect(readFileSync(path).subarray(10_000, 10_004).toString()).toBe("page");
});

test("two growths at a time are one after the other", async () => {
  expect(await Promise.all([reserve.grow(100, 2000), reserve.grow(1500, 3000)])).toEqual([
    2000, 2000,
  ]);
});

test("the reserve may be closed again", async () => {
  await reserve.close();
  await reserve.close();
  expect(statSync(path).size).toBe(7);
});
