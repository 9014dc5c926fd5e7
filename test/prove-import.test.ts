/**
 * The parts of `npm run prove -- import` that decide whether it holds: its options, and the comparison
 * of files.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import {
  differenceOfDocuments,
  differenceOfFiles,
  differenceOfFolders,
} from "../prove/import/compare.mjs";
import { parseOptions } from "../prove/import/options.mjs";

test("command-line options have defaults and are checked", () => {
  expect(parseOptions([])).toMatchObject({ documents: 1_000_000, rounds: 4, kills: 20 });
  expect(parseOptions(["--documents", "8", "--seed", "5"])).toMatchObject({
    documents: 8,
    seed: 5,
  });
  expect(() => parseOptions(["--documents", "2"])).toThrow(
    "expected an integer of at least 4, found '2' at --documents",
  );
});

function fileOf(...lines: string[]): string {
  const path = join(temporaryFolder(), "documents.ndjson");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

test("files differ by one byte or by their length", () => {
  const one = fileOf('{"a":1}');
  expect(differenceOfFiles(one, fileOf('{"a":1}'))).toBeUndefined();
  expect(differenceOfFiles(one, fileOf('{"a":2}'))).toContain("differ after 0 bytes");
  expect(differenceOfFiles(one, fileOf('{"a":11}'))).toContain("has 8 bytes");
});

test("documents differ by a value, or when one is missing or too many, and not by the order of fields", async () => {
  const sources = [fileOf('{"_id":1,"a":2}'), fileOf('{"_id":2}')];
  const difference = (...lines: string[]) => differenceOfDocuments(sources, fileOf(...lines));
  expect(await difference('{"a":2,"_id":1}', '{"_id":2}')).toBeUndefined();
  expect(await difference('{"a":3,"_id":1}', '{"_id":2}')).toContain("document 1 of");
  expect(await difference('{"_id":1,"a":2}')).toContain("has 1 documents");
  expect(await difference('{"_id":1,"a":2}', '{"_id":2}', "{}")).toContain("has more than 2");
});

test("folders differ by a name or by a content", () => {
  const folderOf = (name: string, text: string): string => {
    const folder = join(temporaryFolder(), "files");
    mkdirSync(folder);
    writeFileSync(join(folder, name), text);
    return folder;
  };
  const one = folderOf("a", "text");
  expect(differenceOfFolders(one, folderOf("a", "text"))).toBeUndefined();
  expect(differenceOfFolders(one, folderOf("b", "text"))).toContain(" has b");
  expect(differenceOfFolders(one, folderOf("a", "test"))).toContain("a differs");
});
