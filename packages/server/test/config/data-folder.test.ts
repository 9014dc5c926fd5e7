import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import {
  checkDataFolder,
  markDataFolder,
  prepareDataFolder,
} from "../../src/config/data-folder.ts";

function withFormat(content: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "format.json"), content);
  return folder;
}

test("a missing folder is created, with its parents, and is empty until it is marked", () => {
  const folder = join(temporaryFolder(), "a", "b");
  prepareDataFolder(folder);
  expect(readdirSync(folder)).toEqual([]);
  expect(() => checkDataFolder(folder)).toThrow(/expected a data folder of Big Peer/);
  markDataFolder(folder);
  expect(readdirSync(folder)).toEqual(["format.json"]);
  expect(JSON.parse(readFileSync(join(folder, "format.json"), "utf8"))).toEqual({ format: 4 });
  prepareDataFolder(folder);
  markDataFolder(folder);
  checkDataFolder(folder);
});

test("[K1] a folder of a newer format is refused with both numbers and left unchanged", () => {
  const folder = withFormat('{"format": 5, "more": true}');
  const sentence =
    `the folder ${folder} has format 5, this version reads up to 4; ` +
    "use the version that wrote it, or a newer one";
  for (const check of [prepareDataFolder, markDataFolder, checkDataFolder]) {
    expect(() => check(folder)).toThrow(
      expect.objectContaining({ code: "store.format_newer", message: sentence }),
    );
  }
  expect(readFileSync(join(folder, "format.json"), "utf8")).toBe('{"format": 5, "more": true}');
});

test("[K1] a folder of an older format is migrated when it is marked, not when it is read", () => {
  const folder = withFormat('{"format": 1}');
  checkDataFolder(folder);
  prepareDataFolder(folder);
  expect(readFileSync(join(folder, "format.json"), "utf8")).toBe('{"format": 1}');
  markDataFolder(folder);
  expect(JSON.parse(readFileSync(join(folder, "format.json"), "utf8"))).toEqual({ format: 4 });
});

test.each(["", "{", "null", "[]", '{"format":"1"}', '{"format":0}', '{"format":1.5}'])(
  "a format.json with %j is reported as corrupt, without a guess",
  (content) => {
    const folder = withFormat(content);
    expect(() => prepareDataFolder(folder)).toThrow(
      expect.objectContaining({ code: "store.corrupt" }),
    );
  },
);

test("[K1] a folder with other files and no format.json is refused and left unchanged", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "thesis.txt"), "");
  for (const check of [prepareDataFolder, markDataFolder]) {
    expect(() => check(folder)).toThrow(
      expect.objectContaining({
        code: "store.foreign",
        message: expect.stringContaining("found thesis.txt and no format.json"),
      }),
    );
  }
  expect(readdirSync(folder)).toEqual(["thesis.txt"]);
});

test("a fresh disk, a lock and the remains of a crashed first start do not count as other files", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "lost+found"));
  mkdirSync(join(folder, "lock"));
  mkdirSync(join(folder, "lock.12-ab"));
  writeFileSync(join(folder, "format.json.partial"), "{");
  prepareDataFolder(folder);
  markDataFolder(folder);
  expect(() => checkDataFolder(folder)).not.toThrow();
});

test("a file in the place of the folder is refused", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const refusal = expect.objectContaining({
    code: "store.foreign",
    message: `expected a folder at ${file}, found a file`,
  });
  expect(() => prepareDataFolder(file)).toThrow(refusal);
  expect(existsSync(file)).toBe(true);
});
