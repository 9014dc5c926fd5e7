import {
  copyFileSync,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLostIncarnation, recordIncarnation } from "../src/incarnation.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const STANDING = { historyId: "h1", txnId: 10 };
const OTHER_FILE = "its data file is not the one that was written here";
const NO_RECORD = "nothing tells that its data file was written here";

/** A folder with a data file and the record of its life. */
function lived(): string {
  const folder = join(temporaryFolder(), "store");
  mkdirSync(folder);
  writeFileSync(join(folder, "data.mdb"), "content");
  recordIncarnation(folder, STANDING);
  return folder;
}

test("an incarnation continues through restarts, writes, touched times and a rename of the folder", () => {
  const folder = lived();
  expect(findLostIncarnation(folder, STANDING)).toBeUndefined();
  writeFileSync(join(folder, "data.mdb"), "more content", { flag: "a" });
  utimesSync(join(folder, "data.mdb"), 1, 1);
  const moved = `${folder}-moved`;
  renameSync(folder, moved);
  expect(findLostIncarnation(moved, { ...STANDING, txnId: 11 })).toBeUndefined();
});

test("a copy of the folder is another incarnation, with and without times preserved", () => {
  const folder = lived();
  cpSync(folder, `${folder}-copy`, { recursive: true });
  cpSync(folder, `${folder}-exact`, { recursive: true, preserveTimestamps: true });
  expect(findLostIncarnation(`${folder}-copy`, STANDING)).toBe(OTHER_FILE);
  expect(findLostIncarnation(`${folder}-exact`, STANDING)).toBe(OTHER_FILE);
  expect(findLostIncarnation(folder, STANDING)).toBeUndefined();
});

test("a data file that was put in place by a rename is another incarnation", () => {
  const folder = lived();
  copyFileSync(join(folder, "data.mdb"), join(folder, "new.mdb"));
  renameSync(join(folder, "new.mdb"), join(folder, "data.mdb"));
  expect(findLostIncarnation(folder, STANDING)).toBe(OTHER_FILE);
});

test("a data file whose content was replaced is detected by its history or its transaction", () => {
  const folder = lived();
  expect(findLostIncarnation(folder, { historyId: "h2", txnId: 10 })).toBe(
    "its data file is of another history",
  );
  expect(findLostIncarnation(folder, { historyId: "h1", txnId: 9 })).toBe(
    "its data file is an older one, of transaction 9",
  );
});

test.each(["", "{", "null", "[]"])("a record that contains %j is not a record", (content) => {
  const folder = lived();
  writeFileSync(join(folder, "life.json"), content);
  expect(findLostIncarnation(folder, STANDING)).toBe(NO_RECORD);
});

test("a record without its fields matches nothing", () => {
  const folder = lived();
  writeFileSync(join(folder, "life.json"), "{}");
  expect(findLostIncarnation(folder, STANDING)).toBe(OTHER_FILE);
});

test("a data file without a record is another incarnation", () => {
  const folder = lived();
  rmSync(join(folder, "life.json"));
  expect(findLostIncarnation(folder, STANDING)).toBe(NO_RECORD);
});
