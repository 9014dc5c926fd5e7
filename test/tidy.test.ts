/**
 * Style as a test. The first half applies the checks to the repository; the second half shows that
 * each check finds a planted fault, since a check that finds nothing would pass as well.
 */
import { expect, test } from "vitest";
import { isSource, isTest, readFiles, type SourceFile } from "./support/repository.ts";
import {
  checkEntries,
  checkErrorLines,
  checkFolderOrder,
  checkHeaders,
  checkImports,
  checkLeftOutTests,
  checkLooseFiles,
  checkNames,
  checkOrphans,
  checkRetiredNames,
  checkUnfinished,
  LOOSE_FILES,
} from "./support/tidy.ts";
import { checkCircles } from "./support/tidy-circles.ts";

const files = readFiles([".ts", ".tsx", ".mts", ".mjs", ".js"]);

test("there are sources and tests to check", () => {
  expect(files.filter(isSource).length).toBeGreaterThan(3);
  expect(files.filter(isTest).length).toBeGreaterThan(3);
});

test("every source starts with a comment that says what it is", () => {
  expect(checkHeaders(files)).toEqual([]);
});

test("no file has an empty name such as utils or manager", () => {
  expect(checkNames(files)).toEqual([]);
});

test("no name has a retired word", () => {
  expect(checkRetiredNames(files)).toEqual([]);
});

test("no log line of level error starts like an input error", () => {
  expect(checkErrorLines(files)).toEqual([]);
});

test("no comment mentions unfinished work", () => {
  expect(checkUnfinished(files)).toEqual([]);
});

test("no test uses only, skip or todo", () => {
  expect(checkLeftOutTests(files)).toEqual([]);
});

test("index.ts is an entry of a package and lists what it exports", () => {
  expect(checkEntries(files)).toEqual([]);
});

test("imports follow the package order, and each third-party library is imported in one file", () => {
  expect(checkImports(files)).toEqual([]);
});

test("the folders of the statement language, of sync and of the server import only what stands to their left", () => {
  expect(checkFolderOrder(files)).toEqual([]);
});

test("a source is in a folder, or is listed as loose", () => {
  expect(checkLooseFiles(files)).toEqual([]);
});

test("every loose file that is listed exists", () => {
  const paths = new Set(files.map(({ path }) => path));
  const listed = [...LOOSE_FILES].flatMap(([owner, names]) =>
    names.map((name) => `packages/${owner}/src/${name}`),
  );
  expect(listed.filter((path) => !paths.has(path))).toEqual([]);
});

test("no files import each other in a circle", () => {
  expect(checkCircles(files)).toEqual([]);
});

test("every source is reached from an entry", () => {
  expect(checkOrphans(files)).toEqual([]);
});

function plant(path: string, text: string): SourceFile[] {
  return [{ path, text }];
}

test("a source without a header is found", () => {
  expect(checkHeaders(plant("packages/engine/src/a.ts", "export const a = 1;\n"))).toHaveLength(1);
  expect(checkHeaders(plant("packages/engine/src/a.ts", "/** A. */\n"))).toEqual([]);
  expect(checkHeaders(plant("packages/server/src/main.ts", "#!/bin/x\n/** A. */\n"))).toEqual([]);
});

test("an empty name is found, also as a part of a name", () => {
  expect(checkNames(plant("packages/engine/src/utils.ts", ""))).toHaveLength(1);
  expect(checkNames(plant("packages/engine/src/store-manager.ts", ""))).toHaveLength(1);
  expect(checkNames(plant("packages/engine/src/commonality.ts", ""))).toEqual([]);
});

test.each([
  ["told", "packages/engine/src/a.ts:1: told is an old name"],
  ["isUploadSealed", "packages/engine/src/a.ts:1: isUploadSealed is an old name: use sequenced"],
  ["RepeatKey", "packages/engine/src/a.ts:1: RepeatKey is an old name: use IdempotencyKey"],
])("the retired name %s is found", (name, complaint) => {
  const [found = ""] = checkRetiredNames(plant("packages/engine/src/a.ts", `const ${name} = 1;`));
  expect(found.startsWith(complaint)).toBe(true);
});

test("a retired name is found in the name of a file, and not in comments, texts and stored names", () => {
  const text = 'const a = { seal: 1 };\n// told\nconst b = "told";';
  expect(checkRetiredNames(plant("packages/engine/src/a.ts", text))).toEqual([]);
  expect(checkRetiredNames(plant("packages/engine/src/upload-parcel.ts", text))).toHaveLength(1);
});

test("a log line of level error that says what was expected is found", () => {
  const text = 'log("error", `expected ${path}`);\nlog("warn", "expected it");';
  expect(checkErrorLines(plant("packages/server/src/a.ts", text))).toEqual([
    "packages/server/src/a.ts:1: a line of level error says what failed",
  ]);
});

test("unfinished work is found in comments only", () => {
  const word = "TODO";
  expect(checkUnfinished(plant("scripts/a.mjs", `\n// ${word}: later\n`))).toEqual([
    "scripts/a.mjs:2: unfinished work is an issue, not a comment",
  ]);
  expect(checkUnfinished(plant("scripts/a.mjs", `const a = "${word}";`))).toEqual([]);
});

test("a test with only, skip or todo is found", () => {
  for (const word of ["only", "skip", "todo"]) {
    const text = `\ntest.${word}("a", () => {});`;
    expect(checkLeftOutTests(plant("test/a.test.ts", text))).toEqual([
      `test/a.test.ts:2: .${word} leaves tests out`,
    ]);
  }
});

test("export * and an inner index.ts are found", () => {
  const entry = plant("packages/engine/src/index.ts", `export * from "./a.ts";`);
  expect(checkEntries(entry)).toHaveLength(1);
  expect(checkEntries(plant("packages/engine/src/crdt/index.ts", ""))).toHaveLength(1);
});

test.each([
  ["packages/protocol/src/a.ts", `import { a } from "@bigpeer/engine";`, "upwards"],
  ["packages/engine/src/a.ts", `export { a } from "@bigpeer/server";`, "upwards"],
  ["packages/engine/src/a.ts", `import type { A } from "@bigpeer/protocol/dist/a.js";`, "deep"],
  ["packages/server/src/a.ts", `import type { A } from "@bigpeer/engine/crdt";`, "deep"],
  ["packages/server/src/a.ts", `import type { A } from "@bigpeer/engine/store/a.ts";`, "deep"],
  ["packages/engine/src/a.ts", `import { a } from "../../protocol/src/a.ts";`, "around the entry"],
  ["packages/engine/src/a.ts", `import { readFile } from "node:fs";`, "input and output"],
  ["packages/peer/src/a.ts", `import { hostname } from "node:os";`, "a part of Node on every host"],
  ["packages/peer/src/web/a.ts", `import { a } from "../node/b.ts";`, "the Node host in a browser"],
  ["packages/engine/src/a.ts", `const a = await import("lmdb");`, "third party, dynamic"],
  ["packages/node/src/a.ts", `import { open } from "lmdb";`, "third party, wrong file"],
  ["packages/server/src/a.ts", `import { open } from "lmdb";`, "third party, wrong package"],
  ["packages/node/src/a.ts", `import { a } from "@bigpeer/server";`, "upwards"],
  ["packages/peer/src/a.ts", `import { a } from "@bigpeer/server";`, "sideways"],
  ["packages/server/src/a.ts", `import fastify from "fastify";`, "third party, unlisted"],
  ["packages/engine/test/a.test.ts", `import { a } from "@bigpeer/server";`, "test, upwards"],
  ["packages/engine/test/a.test.ts", `import { open } from "lmdb";`, "test, third party"],
])("in %s, %s is found: %s", (path, text) => {
  expect(checkImports(plant(path, text))).toHaveLength(1);
});

test("imports that follow the package order pass", () => {
  const engine = `import { a } from "@bigpeer/protocol";\nimport { b } from "../crdt/b.ts";`;
  expect(checkImports(plant("packages/engine/src/store/a.ts", engine))).toEqual([]);
  const storage = `import { open } from "lmdb";\nimport { join } from "node:path";`;
  expect(checkImports(plant("packages/node/src/lmdb/lmdb-environment.ts", storage))).toEqual([]);
});

test.each([
  ["value/a.ts", `import { b } from "../run/b.ts";`, "to the right"],
  ["syntax/a.ts", `import type { B } from "../frame/b.ts";`, "to the right, type only"],
  ["run/a.ts", `export { b } from "../mutate/b.ts";`, "to the right, handed on"],
  ["statement/a.ts", `const b = await import("../statement-runner.ts");`, "the runner, dynamic"],
  ["fault.ts", `import { b } from "./value/b.ts";`, "a folder, from what all share"],
  ["other/a.ts", "", "a folder that is not in the order"],
])("in the statement language, %s: %s is found: %s", (path, text) => {
  expect(checkFolderOrder(plant(`packages/engine/src/query/${path}`, text))).toHaveLength(1);
});

test.each([
  ["http/a.ts", `import { b } from "../data-api/b.ts";`, "to the right"],
  ["apps/a.ts", `import type { B } from "../sync/b.ts";`, "to the right, type only"],
  ["observability/a.ts", `export { b } from "../link/b.ts";`, "to the right, handed on"],
  ["command/a.ts", `const b = await import("../main.ts");`, "an entry, dynamic"],
  ["openapi/a.ts", `import { b } from "../server.ts";`, "the server, from its parts"],
  ["other/a.ts", "", "a folder that is not in the order"],
])("in the server, %s: %s is found: %s", (path, text) => {
  expect(checkFolderOrder(plant(`packages/server/src/${path}`, text))).toHaveLength(1);
});

test.each([
  ["stream/a.ts", `import type { B } from "../download/b.ts";`, "a folder to the right"],
  ["device/a.ts", `import { b } from "../sync-server.ts";`, "the file that uses all folders"],
  ["other.ts", "", "a file that is not in the order"],
])("in sync, %s: %s is found: %s", (path, text) => {
  expect(checkFolderOrder(plant(`packages/engine/src/sync/${path}`, text))).toHaveLength(1);
});

test("imports to the left are not complained of", () => {
  const run = `import { a } from "../value/a.ts";\nimport { b } from "../fault.ts";\nimport "./c.ts";`;
  expect(checkFolderOrder(plant("packages/engine/src/query/run/a.ts", run))).toEqual([]);
  const runner = `import { a } from "./statement/a.ts";\nimport { b } from "../store/b.ts";`;
  expect(checkFolderOrder(plant("packages/engine/src/query/statement-runner.ts", runner))).toEqual(
    [],
  );
  const round = `import { a } from "../download/a.ts";\nimport { b } from "../../query/live/b.ts";`;
  expect(checkFolderOrder(plant("packages/engine/src/sync/round/a.ts", round))).toEqual([]);
});

test("a loose file that is not listed is found", () => {
  expect(checkLooseFiles(plant("packages/server/src/rotation.ts", ""))).toEqual([
    "packages/server/src/rotation.ts:1: belongs in a folder: rotation.ts is not listed as loose",
  ]);
  expect(checkLooseFiles(plant("packages/other/src/index.ts", ""))).toHaveLength(1);
  expect(checkLooseFiles(plant("packages/server/src/main.ts", ""))).toEqual([]);
  expect(checkLooseFiles(plant("packages/server/src/limits/rotation.ts", ""))).toEqual([]);
});

test("a circle of imports is found once, with the way around it", () => {
  const sources = [
    ...plant("packages/server/src/a/a.ts", `// A.\nimport { b } from "../b/b.ts";`),
    ...plant("packages/server/src/b/b.ts", `import type { C } from "./c.ts";`),
    ...plant(
      "packages/server/src/b/c.ts",
      `import { d } from "../d.ts";\nexport {a} from "../a/a.ts";`,
    ),
    ...plant("packages/server/src/d.ts", ""),
  ];
  expect(checkCircles(sources)).toEqual([
    "packages/server/src/a/a.ts:2: import circle: packages/server/src/a/a.ts → " +
      "packages/server/src/b/b.ts → packages/server/src/b/c.ts → packages/server/src/a/a.ts",
  ]);
  expect(checkCircles(sources.slice(0, 2))).toEqual([]);
});

test("a circle of tests is found, and a file that imports itself", () => {
  const tests = [
    ...plant("packages/peer/test/a.ts", `import { b } from "./support/b.ts";`),
    ...plant("packages/peer/test/support/b.ts", `const a = await import("../a.ts");`),
    ...plant("packages/peer/src/c.ts", `import { c } from "./c.ts";`),
  ];
  expect(checkCircles(tests)).toHaveLength(2);
});

test("a source that nothing imports is found", () => {
  const sources = [
    ...plant("packages/engine/src/index.ts", `export { a } from "./a.ts";`),
    ...plant("packages/engine/src/a.ts", ""),
    ...plant("packages/engine/src/b.ts", ""),
  ];
  expect(checkOrphans(sources)).toEqual([
    "packages/engine/src/b.ts:1: no source imports this file",
  ]);
});
