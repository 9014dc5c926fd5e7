import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { afterAll, expect, test } from "vitest";
import { checkLmdbFile } from "../../src/lmdb/lmdb-file.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { readMetaOf } from "../support/lmdb-meta.ts";
import { failNextCall } from "../support/too-many-files.ts";

const folder = mkdtempSync(join(tmpdir(), "bigpeer-file-"));
const file = join(folder, "data.mdb");

afterAll(() => rmSync(folder, { recursive: true }));

/** A storage whose file ends with its last page; the pages before are those of a large value. */
async function writeStorage(): Promise<void> {
  rmSync(folder, { recursive: true });
  const storage = openLmdb(folder);
  for (let round = 0; round < 3; round++) {
    await storage.commit(
      new Map(Array.from({ length: 3000 }, (_, i) => [`key ${(i * 7919) % 4001}`, `text ${i}`])),
    );
  }
  await storage.commit(new Map([["large", new Uint8Array(2_000_000)]]));
  await storage.close();
  cutToPages(readMetaOf(file).lastPage + 1);
}

function cutToPages(count: number): void {
  truncateSync(file, count * readMetaOf(file).pageSize);
}

function check(): string {
  try {
    return checkLmdbFile(file);
  } catch (error) {
    return error instanceof PeerError ? error.code : `no PeerError: ${String(error)}`;
  }
}

test("a file that cannot be opened now is not a foreign one", async () => {
  await writeStorage();
  failNextCall("openSync");
  expect(check()).toBe("store.busy");
  expect(check()).toBe("used");
  rmSync(file);
});

test("an absent file is distinguished from a foreign one", () => {
  expect(check()).toBe("absent");
  writeFileSync(file, "");
  expect(check()).toBe("store.corrupt");
  for (const text of ["x", "text ".repeat(2000), "\0".repeat(9000)]) {
    writeFileSync(file, text);
    expect(check()).toBe("store.foreign");
  }
});

test("a folder in the place of the file is foreign", () => {
  expect(() => checkLmdbFile(folder)).toThrow(PeerError);
});

test("a valid file is used, and one of another format is foreign", async () => {
  await writeStorage();
  expect(check()).toBe("used");
  const bytes = readFileSync(file);
  for (const [offset, value, code] of [
    [24, 0, "store.foreign"],
    [28, 1, "store.foreign"],
    [48, 1, "store.corrupt"],
    [50, 9, "store.corrupt"],
    [4096 + 24, 0, "store.foreign"],
  ] as const) {
    const damaged = Buffer.from(bytes);
    damaged[offset] = value;
    writeFileSync(file, damaged);
    expect(check()).toBe(code);
  }
});

test("a file that lacks a used page is corrupt, wherever it was truncated", async () => {
  await writeStorage();
  const { lastPage } = readMetaOf(file);
  for (const count of [lastPage - 20, lastPage - 400, lastPage >> 2, 20, 3, 2]) {
    cutToPages(count);
    expect(check()).toBe("store.corrupt");
  }
  truncateSync(file, 5000);
  expect(check()).toBe("store.corrupt");
  truncateSync(file, 100);
  expect(check()).toBe("store.foreign");
});

test("the message names the file, what was expected and what was found", async () => {
  await writeStorage();
  const { lastPage, pageSize } = readMetaOf(file);
  cutToPages(lastPage - 20);
  expect(() => checkLmdbFile(file)).toThrow(
    `expected ${(lastPage + 1) * pageSize} bytes, found ${(lastPage - 20) * pageSize}`,
  );
  expect(() => checkLmdbFile(file)).toThrow(file);
});

test("a file without its free pages at the end is valid, and LMDB continues with it", async () => {
  await writeStorage();
  const storage = openLmdb(folder);
  // The last pages hold the large value; without it they are free.
  await storage.commit(new Map([["large", undefined]]));
  await storage.close();
  const { lastPage } = readMetaOf(file);
  cutToPages(lastPage - 400);
  expect(check()).toBe("used");
  const again = openLmdb(folder);
  const snapshot = again.snapshot();
  expect([...snapshot.entries({ from: "\0", to: "\xff" })]).toHaveLength(3000);
  snapshot.close();
  await again.commit(new Map([["large", new Uint8Array(3_000_000)]]));
  await again.close();
  expect(check()).toBe("used");
});

test("pages that lead nowhere or in a circle are corrupt", async () => {
  await writeStorage();
  const { lastPage, pageSize } = readMetaOf(file);
  const bytes = readFileSync(file);
  for (let page = 2; page < 60; page++) {
    // Shorter than its last page, so that the pages are walked.
    const damaged = Buffer.from(bytes.subarray(0, (lastPage - 20) * pageSize));
    damaged.fill(0xff, page * pageSize + 18, page * pageSize + 200);
    writeFileSync(file, damaged);
    expect(check()).toBe("store.corrupt");
  }
  // Every page is a branch whose only child is itself.
  const circular = Buffer.from(bytes.subarray(0, (lastPage - 20) * pageSize));
  for (let page = 2; page < lastPage - 20; page++) {
    const start = page * pageSize;
    circular.fill(0, start, start + pageSize);
    circular.writeUInt16LE(1, start + 18);
    circular.writeUInt16LE(2, start + 20);
    circular.writeUInt16LE(8, start + 24);
    circular.writeUIntLE(page, start + 32, 6);
  }
  writeFileSync(file, circular);
  expect(() => checkLmdbFile(file)).toThrow("circle");
});
