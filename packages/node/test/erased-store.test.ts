/**
 * The removal of a store: its own files alone, also when the process ended in the middle.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eraseStore, finishErasing, isErasing } from "../src/erased-store.ts";
import { createStore } from "../src/store-folder.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** A folder with a store that was written to, and files of others. */
async function fill(): Promise<string> {
  const folder = temporaryFolder();
  const opened = await createStore(folder, testHost());
  await opened.store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: "a", fields: {} }]),
  );
  await opened.close();
  writeFileSync(join(folder, "notes.txt"), "mine");
  writeFileSync(join(folder, "journal-1.seg"), "left by a crash");
  return folder;
}

test("the files of a store are removed, and no others", async () => {
  const folder = await fill();
  eraseStore(folder);
  expect(readdirSync(folder)).toEqual(["notes.txt"]);
  expect(isErasing(folder)).toBe(false);
  rmSync(join(folder, "notes.txt"));
  const again = await createStore(folder, testHost());
  expect(again.store.read((snapshot) => snapshot.get("c", "a"))).toBeUndefined();
  await again.close();
});

test("a removal that was interrupted is completed by the next call", async () => {
  const folder = await fill();
  writeFileSync(join(folder, "erasing.json"), "{}");
  rmSync(join(folder, "life.json"));
  expect(isErasing(folder)).toBe(true);
  finishErasing(folder);
  expect(readdirSync(folder)).toEqual(["notes.txt"]);
});

test("without a removal that was begun nothing is removed", async () => {
  const folder = await fill();
  finishErasing(folder);
  expect(existsSync(join(folder, "data.mdb"))).toBe(true);
});
