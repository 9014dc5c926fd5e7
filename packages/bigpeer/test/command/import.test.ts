/**
 * Imports of files that are not as they should be, against a real server.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { NO_PROGRESS } from "../../src/transfer/checkpoint.ts";
import type { ReadDocument, ReadRecord } from "../../src/transfer/document-reader.ts";
import { DocumentWriter, type Outcome } from "../../src/transfer/document-writer.ts";
import { ImportRun } from "../../src/transfer/import-run.ts";
import { SourceFault } from "../../src/transfer/source-record.ts";
import { startHttpServer } from "../support/http-server.ts";
import { startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

/** Imports a text as a file into a collection of its own, and returns the rows. */
async function load(name: string, text: string, words: readonly string[] = []) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), text);
  const collection = `c${++collections}`;
  const result = await server.run(["import", name, "-c", collection, ...words], { folder });
  const select = `SELECT * FROM ${collection} ORDER BY _id`;
  const { stdout } = await server.run(["query", select, "--format", "json"]);
  return { ...result, folder, collection, rows: JSON.parse(stdout) as unknown };
}

let collections = 0;

test.each([
  ["a date", '{"_id":"a","at":{"$date":"2026-11-19T00:00:00Z"}}\n'],
  ["a number in a list", '[{"_id":"a","at":[{"in":{"$numberLong":"1"}}]}]'],
])("values of mongoexport are plain in a file whose ids are text: %s", async (_, text) => {
  const { code, stderr, rows } = await load("m.json", text);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(JSON.stringify(rows)).not.toContain("$");
});

test("a value of mongoexport behind the first record is warned about, and --format mongo reads it", async () => {
  const text = '{"_id":"a"}\n{"_id":"b","n":{"$numberLong":"5"}}\n{"_id":"c","n":{"$set":1}}\n';
  const plain = await load("m.json", text);
  expect(plain.code).toBe(0);
  expect(plain.stderr).toContain("warning: line 2 has values such as");
  expect(plain.stderr).toContain("--format mongo");
  const mongo = await load("m.json", text, ["--format", "mongo"]);
  expect(mongo.stderr).toMatch(/^imported 3 documents in [\d.]+ s\n$/);
  expect(mongo.rows).toEqual([{ _id: "a" }, { _id: "b", n: 5 }, { _id: "c", n: { $set: 1 } }]);
  const list = await load("m.json", `[${text.trim().replaceAll("\n", ",")}]`, ["-f", "mongo"]);
  expect(list.rows).toEqual(mongo.rows);
});

test("a pipe is imported without a checkpoint beside it", async () => {
  const folder = temporaryFolder();
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const writing = import("node:fs/promises").then(({ writeFile }) =>
    writeFile(join(folder, "pipe"), '{"_id":"a"}\n'),
  );
  const { code, stderr } = await server.run(["import", "pipe", "-c", "piped"], { folder });
  await writing;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, "pipe.bigpeer-import"))).toBe(false);
});

// Root may write everywhere.
test.runIf(process.getuid?.() !== 0)(
  "a file in a folder that cannot be written is imported",
  async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "fixed"));
    writeFileSync(join(folder, "fixed", "a.ndjson"), '{"_id":"a"}\n');
    chmodSync(join(folder, "fixed"), 0o500);
    const words = ["import", "fixed/a.ndjson", "-c", "fixed"];
    const { code, stderr } = await server.run(words, { folder });
    chmodSync(join(folder, "fixed"), 0o700);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain("an import that is cut begins at the start: EACCES");
  },
);

test("a row that is no CSV is left out with its line, and the rows behind it are imported", async () => {
  const text = '_id,n\na,1\nb"x,2\n"c"y,3\nd,4\n"e\n,5\nf,"6\ng,7\n"h,8\ni,9\n';
  const { code, stderr, folder, rows } = await load("r.csv", text, ["--continue-on-error"]);
  expect({ code, stderr }).toMatchObject({ code: 1 });
  expect(rows).toEqual([
    { _id: "a", n: 1 },
    { _id: "d", n: 4 },
    { _id: "g", n: 7 },
    { _id: "i", n: 9 },
  ]);
  const rejects = readFileSync(join(folder, "r.csv.rejects.ndjson"), "utf8").trimEnd().split("\n");
  const found = rejects.map((line) => JSON.parse(line) as { line: number; reason: string });
  expect(found.map(({ line, reason }) => [line, reason.replace(/^.*, at /, "")])).toEqual([
    [3, "line 3, column 2"],
    [4, "line 4, column 4"],
    [6, "line 8, column 4"],
    [10, "line 10, column 1"],
  ]);
});

test("a fault in a row of CSV ends the import, and what stands before it is imported", async () => {
  const { code, stderr, rows } = await load("r.csv", '_id\na\nb"x\nc\n');
  expect(code).toBe(1);
  expect(stderr).toContain('r.csv: line 3, column 2: expected a quoted cell to begin with "');
  expect(rows).toEqual([{ _id: "a" }]);
  const header = await load("r.csv", '_id,"n\na,1\n', ["--continue-on-error"]);
  expect(header.stderr).toContain("r.csv: line 1, column 5: expected the end of this quoted cell");
});

test("names of columns are the same after an export and an import", async () => {
  const document = {
    _id: "a",
    "@type": 1,
    "=x": "=y",
    "'@z": 2,
    " padded ": 3,
    "a.b": { "c\\": 4, "d\\.e": 5 },
    "1": 6,
  };
  const { collection, rows } = await load("n.ndjson", `${JSON.stringify(document)}\n`);
  const { stdout } = await server.run(["export", collection, "--format", "csv"]);
  expect(stdout).toContain("'@type");
  expect((await load("n.csv", stdout)).rows).toEqual(rows);
});

test("another --separator is another import", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "s.csv"), "_id;n\na;1\nb;2;3\n");
  const words = ["import", "s.csv", "-c", "separated", "--batch", "1"];
  expect((await server.run([...words, "--separator", ";"], { folder })).code).toBe(1);
  const again = await server.run([...words, "--separator", ","], { folder });
  expect(again.stderr).not.toContain("goes on behind");
});

test("a dry run that continues names no file of rejects", async () => {
  const { code, stderr } = await load("d.ndjson", '{"_id":"a"}\n{]\n', [
    "--dry-run",
    "--continue-on-error",
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain("would import 1 documents");
  expect(stderr).toContain("1 records would be left out; without --dry-run");
});

test("a batch without an answer in time is a timeout, which is not a missing connection", async () => {
  const { url } = await startHttpServer((request) => void request.resume());
  const writer = new DocumentWriter({
    url,
    key: "k",
    collection: "c",
    conflict: "fail",
    name: "n",
    signal: new AbortController().signal,
    patienceMs: 0,
    timeoutMs: 100,
    isContinuing: false,
  });
  const record = { text: "{}", line: 1, column: 1 };
  const document = { document: { _id: "a" }, declaration: "", index: 0, record };
  await expect(writer.write([document])).rejects.toMatchObject({
    code: "client.timeout",
    message: "no answer within 0.1 s",
  });
});

/** A group of one record for each index. */
async function* records(
  length: number,
  isDocument: (index: number) => boolean,
): AsyncGenerator<readonly ReadRecord[]> {
  for (let index = 0; index < length; index++) {
    const record = { text: "{}", line: index + 1, column: 1 };
    const fault = new SourceFault("expected a document", record);
    yield [
      isDocument(index)
        ? { document: { _id: index }, declaration: "", index, record }
        : { fault, record, index },
    ];
  }
}

test.each([
  ["every record is broken", () => false],
  ["the first record alone is a document", (index: number) => index === 0],
  ["the last record of each batch is broken", (index: number) => index % 10 !== 9],
])("rejects are written down while the file is read: %s", async (_, isDocument) => {
  const lines: number[] = [];
  const batches: number[][] = [];
  let read = 0;
  let waitingMax = 0;
  const rejects = { add: ({ line }: { line: number }) => void lines.push(line) };
  const writer = {
    write: async (batch: readonly ReadDocument[]): Promise<Outcome> => {
      batches.push(batch.map(({ index }) => index));
      return { written: batch.length, refused: [] };
    },
  };
  const run = new ImportRun(writer, {
    batchSize: 10,
    isContinuing: true,
    rejects,
    checkpoint: undefined,
    from: NO_PROGRESS,
    onProgress: () => {},
  });
  const length = 1_000;
  const expected = (end: number): number =>
    Array.from({ length: end }, (__, index) => index).filter((index) => !isDocument(index)).length;
  const source = (async function* () {
    for await (const group of records(length, isDocument)) {
      if (!isDocument(read++)) waitingMax = Math.max(waitingMax, expected(read) - lines.length);
      yield group;
    }
  })();
  const progress = await run.run(source);
  expect(progress).toMatchObject({ records: length, rejected: expected(length) });
  expect(progress.imported + progress.rejected).toBe(length);
  // Those of the batches that are under way, and of the one that is read.
  expect(waitingMax).toBeLessThanOrEqual(50);
  expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  for (const batch of batches) expect(new Set(batch.map((n) => Math.floor(n / 10))).size).toBe(1);
});
