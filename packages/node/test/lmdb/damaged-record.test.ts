import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Key, Snapshot } from "@bigpeer/engine";
import { type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { DATA_FILE } from "../../src/lmdb/lmdb-file.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const COUNT = 200;
const ALL = { from: "\0", to: "\xff" };

function keyOf(i: number): Key {
  return `key-${i.toString().padStart(4, "0")}`;
}

function valueOf(i: number): Value {
  return { number: i, text: `text-${i.toString().padStart(4, "0")}`, rest: "x".repeat(i) };
}

async function filledFolder(): Promise<string> {
  const folder = temporaryFolder();
  const storage = openLmdb(folder);
  await storage.commit(
    new Map(Array.from({ length: COUNT }, (_, i) => [keyOf(i), valueOf(i)] as const)),
  );
  await storage.close();
  return folder;
}

/** Puts `other` in the place of `text`, wherever the data file has it. */
function replaceInFile(folder: string, text: string, other: string): void {
  const path = join(folder, DATA_FILE);
  const bytes = readFileSync(path);
  let at = bytes.indexOf(text, 0, "latin1");
  expect(at).toBeGreaterThan(0);
  for (; at >= 0; at = bytes.indexOf(text, at + 1, "latin1")) bytes.write(other, at, "latin1");
  writeFileSync(path, bytes);
}

async function inSnapshot(folder: string, body: (snapshot: Snapshot) => void): Promise<void> {
  const storage = openLmdb(folder);
  const snapshot = storage.snapshot();
  try {
    body(snapshot);
  } finally {
    snapshot.close();
    await storage.close();
  }
}

test("[K70] a record with changed bytes is not read, whole or in part, and others are", async () => {
  const folder = await filledFolder();
  replaceInFile(folder, "text-0050", "text-0059");
  await inSnapshot(folder, (snapshot) => {
    for (const fields of [undefined, ["text"], ["number"], []]) {
      expect(codeOf(() => snapshot.get(keyOf(50), fields))).toBe("store.corrupt");
      expect(codeOf(() => [...snapshot.entries(ALL, fields)])).toBe("store.corrupt");
    }
    expect([...snapshot.entries({ from: keyOf(0), to: keyOf(50) })]).toHaveLength(50);
    expect(snapshot.get(keyOf(51))).toEqual(valueOf(51));
  });
});

test("[K70] a record under another key than it was written with is not read", async () => {
  const folder = await filledFolder();
  replaceInFile(folder, keyOf(199), keyOf(299));
  await inSnapshot(folder, (snapshot) => {
    expect(codeOf(() => snapshot.get(keyOf(299)))).toBe("store.corrupt");
    expect(codeOf(() => [...snapshot.entries(ALL)])).toBe("store.corrupt");
  });
});

test("[K70] keys that are out of order are not returned, forwards or backwards", async () => {
  const folder = await filledFolder();
  replaceInFile(folder, keyOf(50), keyOf(90));
  await inSnapshot(folder, (snapshot) => {
    expect(codeOf(() => [...snapshot.keys(ALL)])).toBe("store.corrupt");
    expect(codeOf(() => [...snapshot.keys({ ...ALL, reverse: true })])).toBe("store.corrupt");
  });
});

test("[K70] the shapes of records are checked when a storage is opened", async () => {
  const folder = await filledFolder();
  replaceInFile(folder, "fnumberdtext", "fnumbertdext");
  expect(codeOf(() => openLmdb(folder))).toBe("store.corrupt");
});
