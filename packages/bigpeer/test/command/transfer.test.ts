/**
 * Import and export against a real server.
 */

import { createHash } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { NO_PROGRESS, type Progress } from "../../src/transfer/checkpoint.ts";
import type { ReadDocument } from "../../src/transfer/document-reader.ts";
import type { Outcome } from "../../src/transfer/document-writer.ts";
import { ImportRun } from "../../src/transfer/import-run.ts";
import { startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

/** Imports a text as a file. */
async function load(name: string, text: string | Uint8Array, words: readonly string[] = []) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), text);
  const result = await server.run(["import", name, ...words], { folder });
  return { ...result, folder };
}

async function rows(collection: string, order = "_id"): Promise<unknown> {
  const statement = `SELECT * FROM ${collection} ORDER BY ${order}`;
  const { stdout } = await server.run(["query", statement, "--format", "json"]);
  return JSON.parse(stdout) as unknown;
}

test.each([
  ["a.ndjson", '{"_id":"a","n":1}\n{"_id":"b","n":2}\n'],
  ["a.json", '[{"_id":"a","n":1},\n {"_id":"b","n":2}]'],
  ["a.csv", "_id,n\na,1\nb,2\n"],
  ["a.tsv", "_id\tn\na\t1\nb\t2\n"],
  ["a.json", '{"_id":"a","n":1}\n{"_id":"b","n":2}'],
  [
    "a.json",
    '{"total_rows":2,"offset":0,"rows":[\n{"id":"a","doc":{"_id":"a","_rev":"1-x","n":1}},\n{"id":"b","doc":{"_id":"b","_rev":"1-y","n":2}}\n]}',
  ],
  ["a.json", '{"_id":{"$oid":"a"},"n":{"$numberInt":"1"}}\n{"_id":{"$oid":"b"},"n":2}\n'],
])("a file is imported: %s %j", async (name, text) => {
  for (const [suffix, content] of [
    ["", Buffer.from(text)],
    [".gz", gzipSync(text)],
  ] as const) {
    await server.run(["query", "DELETE FROM loaded WHERE true"]);
    const { code, stdout, stderr } = await load(name + suffix, content, ["--collection", "loaded"]);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^imported 2 documents in [\d.]+ s\n$/);
    expect(await rows("loaded")).toEqual([
      { _id: "a", n: 1 },
      { _id: "b", n: 2 },
    ]);
  }
});

test.each([
  ["b.ndjson", '{"_id":"a"}\n{"_id":\n{"_id":"c"}\n', "line 2, column 8"],
  ["b.json", '[{"_id":"a"},\n {"_id":}]', "line 2, column 9"],
  ["b.csv", "_id,n\na,1,9\n", "line 2, column 1"],
  ["b.csv", '_id\n"x\n', "line 2, column 1"],
])("a broken file is refused with its place: %s %j", async (name, text, place) => {
  await server.run(["query", "DELETE FROM broken WHERE true"]);
  const { code, stdout, stderr } = await load(name, text, ["--collection", "broken"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(`${name}: ${place}: expected`);
});

test.each([
  ["b.csv", Buffer.from("_id,n\na,Müller\n", "latin1"), "line 2, column 4"],
  ["b.ndjson", Buffer.from('{"_id":"a"}\n{"_id":"é"}\n', "latin1"), "line 2, column 9"],
  ["b.csv", Buffer.from("\ufeff_id,n\na,1\n", "utf16le"), "line 1, column 1"],
  [
    "b.csv",
    Buffer.concat([Buffer.from("_id\n"), Buffer.from("é").subarray(0, 1)]),
    "line 2, column 1",
  ],
])("a file that is not in UTF-8 is refused with its place: %s %s", async (name, bytes, place) => {
  const { code, stderr } = await load(name, bytes, ["--collection", "encoded", "--dry-run"]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${name}: ${place}: expected text in UTF-8`);
});

test("letters that two reads of a file share, U+FFFD and a byte order mark are no fault", async () => {
  const bytes = Buffer.from("\ufeff_id,n\na,é\ufffd日😀\n");
  const input = Readable.from([...bytes].map((byte) => Buffer.from([byte])));
  const words = ["import", "-", "--collection", "letters", "--format", "csv"];
  expect(await server.run(words, { input })).toMatchObject({ code: 0 });
  expect(await rows("letters")).toEqual([{ _id: "a", n: "é\ufffd日😀" }]);
});

test.each([
  [["--separator", ";;"], "--separator: expected one letter"],
  [["--separator", ""], "--separator: expected one letter"],
  [["--separator", '"'], "--separator: expected one letter"],
  [["--types", "n=int"], "--types: expected name=type"],
  [["--types", "m=text"], "--types: expected columns of _id, n"],
  [["--batch", "0"], "--batch: expected a whole number from 1 on"],
  [["--patience", "x"], "--patience: expected a whole number from 1 on"],
])("a wrong option is wrong usage, and nothing is imported: %j", async (words, message) => {
  const { code, stdout, stderr } = await load("u.csv", "_id,n\na,1\n", ["-c", "unused", ...words]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
  expect(await rows("unused")).toEqual([]);
});

test("the field of --id is the id, also of documents with another _id", async () => {
  const text = '{"_id":"x","plate":"p1","n":1}\n{"plate":"p2","_id":{"$oid":"y"}}\n';
  expect(await load("p.ndjson", text, ["-c", "replaced", "--id", "plate"])).toMatchObject({
    code: 0,
  });
  expect(await rows("replaced")).toEqual([{ _id: "p1", n: 1 }, { _id: "p2" }]);
});

test.runIf(isFullSize)(
  "a gzip file that was cut is refused with its place, and the documents before it are imported",
  async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `{"_id":${n},"hash":"${hash(n)}"}\n`);
    const packed = gzipSync(lines.join(""));
    const cut = packed.subarray(0, packed.length / 2);
    const { code, stdout, stderr } = await load("b.ndjson.gz", cut, ["--collection", "halves"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const [, line = ""] =
      /b\.ndjson\.gz: line (\d+), column \d+: expected more of the gzip file, found unexpected end of file/.exec(
        stderr,
      ) ?? [];
    expect(stderr).toContain("the documents before it are imported");
    expect(await rows("halves")).toHaveLength(Number(line) - 1);
    expect(Number(line)).toBeGreaterThan(100);
    const tiny = await load("b.json.gz", gzipSync('{"_id":"a"}').subarray(0, 20), ["-c", "halves"]);
    expect(tiny.stderr).toContain("b.json.gz: line 1, column ");
  },
);

function hash(number: number): string {
  return createHash("sha256").update(String(number)).digest("hex");
}

test.each(["o.ndjson", "o.json"])(
  "values that JSON can hold arrive as they stand in the file: %s",
  async (name) => {
    const documents = [
      '{"_id":"a","n":9007199254740993,"f":1e300,"z":-0.5,"t":"\\u00e9 \\"q\\" 日本"}',
      '{ "_id" : {"k":[1,2]} , "nested":{"a":[null,true,{"b":""}]}, "__proto__":1 }',
    ];
    const text = name === "o.json" ? `[${documents.join(",\n")}]` : `${documents.join("\r\n")}\r\n`;
    await server.run(["query", "DELETE FROM odds WHERE true"]);
    expect(await load(name, text, ["--collection", "odds"])).toMatchObject({ code: 0 });
    const { stdout } = await server.run(["query", "SELECT * FROM odds", "--format", "json"]);
    expect(stdout).toContain('"n":9007199254740993');
    const found = JSON.parse(stdout) as unknown[];
    const expected = documents.map((line) => JSON.parse(line) as unknown);
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining(expected));
  },
);

test("what stands before a broken record is imported, and the repaired file goes on", async () => {
  const first = await load("c.ndjson", '{"_id":"a"}\n{"_id":\n{"_id":"c"}\n', [
    "--collection",
    "mended",
  ]);
  expect(await rows("mended")).toEqual([{ _id: "a" }]);
  writeFileSync(join(first.folder, "c.ndjson"), '{"_id":"a"}\n{"_id":"b"}\n{"_id":"c"}\n');
  const words = ["import", "c.ndjson", "--collection", "mended", "--on-conflict", "nothing"];
  const second = await server.run(words, { folder: first.folder });
  expect(second.code).toBe(0);
  expect(await rows("mended")).toEqual([{ _id: "a" }, { _id: "b" }, { _id: "c" }]);
});

test("--continue-on-error leaves records out and writes each with line and reason", async () => {
  await server.run(["query", "INSERT INTO odd DOCUMENTS ({'_id': 'there'})"]);
  const text = '{"_id":"a"}\n{"_id":}\n{"_id":"there"}\n[1]\n{"_id":"b"}\n';
  const words = ["--collection", "odd", "--continue-on-error"];
  const { code, stderr, folder } = await load("d.ndjson", text, words);
  expect(code).toBe(1);
  expect(stderr).toContain("imported 2 documents");
  expect(stderr).toContain("3 records were left out: see ");
  const lines = readFileSync(join(folder, "d.ndjson.rejects.ndjson"), "utf8").trimEnd().split("\n");
  const rejects = lines.map((line) => JSON.parse(line) as { line: number; reason: string });
  expect(rejects.map(({ line }) => line).toSorted((a, b) => a - b)).toEqual([2, 3, 4]);
  expect(rejects.find(({ line }) => line === 3)?.reason).toContain("there");
  expect(await rows("odd")).toEqual([{ _id: "a" }, { _id: "b" }, { _id: "there" }]);
});

test.each([
  ["fail", 1, [{ _id: "x", old: 1 }]],
  ["nothing", 0, [{ _id: "x", old: 1 }]],
  ["update", 0, [{ _id: "x", new: 2, old: 1 }]],
])("--on-conflict %s", async (policy, exitCode, expected) => {
  await server.run(["query"], {
    input:
      "DELETE FROM conflict WHERE true; INSERT INTO conflict DOCUMENTS ({'_id': 'x', 'old': 1})",
  });
  const words = ["--collection", "conflict", "--on-conflict", policy];
  const { code, stderr } = await load("e.ndjson", '{"_id":"x","new":2}\n', words);
  expect(code).toBe(exitCode);
  if (exitCode === 1) expect(stderr).toContain("e.ndjson: line 1, column 1: ");
  expect(await rows("conflict")).toEqual(expected);
});

test("--id chooses the id, --batch the size of transactions, --dry-run writes nothing", async () => {
  const text = Array.from({ length: 25 }, (_, n) => `{"plate":"p${n + 10}","n":${n}}\n`).join("");
  const words = ["--collection", "plates", "--id", "plate", "--batch", "10"];
  const dry = await load("f.ndjson", text, [...words, "--dry-run"]);
  expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining("would import 25") });
  expect(await rows("plates")).toEqual([]);
  const before = await server.run(["status"]);
  expect((await load("f.ndjson", text, words)).code).toBe(0);
  const after = await server.run(["status"]);
  const txnId = ({ stdout }: { stdout: string }) =>
    (JSON.parse(stdout) as { transactionId: number }).transactionId;
  expect(txnId(after) - txnId(before)).toBe(3);
  expect((await load("g.ndjson", '{"n":1}\n', words)).stderr).toContain("expected the field plate");
});

test("standard input is imported in a pipe", async () => {
  const input = Readable.from([Buffer.from('{"_id":"p'), Buffer.from('"}\n')]);
  const { code } = await server.run(["import", "-", "--collection", "piped"], { input });
  expect(code).toBe(0);
  expect(await rows("piped")).toEqual([{ _id: "p" }]);
});

test("an import that is cut goes on behind the records that are done", async () => {
  const folder = temporaryFolder();
  const text = Array.from({ length: 40 }, (_, n) => `{"_id":"r${n + 10}"}\n`).join("");
  writeFileSync(join(folder, "h.ndjson"), `${text}{"_id":{}\n`);
  const words = ["import", "h.ndjson", "--collection", "cut", "--batch", "10"];
  expect(await server.run(words, { folder })).toMatchObject({ code: 1 });
  const checkpoint = join(folder, "h.ndjson.bigpeer-import");
  expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toMatchObject({ records: 40, imported: 40 });
  // Had it begun at the start, the ids would be in conflict.
  const again = await server.run(words, { folder });
  expect(again.stderr).toContain("goes on behind 40 records");
  expect(again.stderr).toContain("line 41, column 10: ");
  const rest = [...words, "--continue-on-error"];
  const done = await server.run(rest, { folder });
  expect(done.stderr).toContain("1 records were left out");
  expect(existsSync(checkpoint)).toBe(false);
  expect(await rows("cut")).toHaveLength(40);
});

test("a refused document ends the import, which says what is written behind it and does not send that again", async () => {
  await server.run(["query", "INSERT INTO stopped DOCUMENTS ({'_id': 'r15'})"]);
  const folder = temporaryFolder();
  const text = Array.from({ length: 200 }, (_, n) => `{"_id":"r${n}"}\n`).join("");
  writeFileSync(join(folder, "j.ndjson"), text);
  const words = ["import", "j.ndjson", "--collection", "stopped", "--batch", "10"];
  const { code, stderr } = await server.run(words, { folder });
  expect(code).toBe(1);
  expect(stderr).toContain("j.ndjson: line 16, column 1: ");
  const stored = (await rows("stopped")) as { _id: string }[];
  const numbers = stored.map(({ _id }) => Number(_id.slice(1))).toSorted((a, b) => a - b);
  const behind = numbers.filter((n) => n > 15);
  expect(numbers.slice(0, 16)).toEqual(Array.from({ length: 16 }, (_, n) => n));
  if (behind.length > 0) {
    const lines = `from lines ${(behind[0] ?? 0) + 1} to ${(behind.at(-1) ?? 0) + 1}`;
    expect(stderr).toContain(`and ${behind.length} behind it, ${lines}; `);
  }
  // All that is on the server is known, so nothing but the document at fault is in conflict.
  await server.run(["query", "DELETE FROM stopped WHERE _id = 'r15'"]);
  expect(await server.run(words, { folder })).toMatchObject({ code: 0 });
  expect(await rows("stopped")).toHaveLength(200);
});

test("batches that are on their way when a document is refused are told and not sent again", async () => {
  const sent: number[][] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const writer = {
    write: async (batch: readonly ReadDocument[]): Promise<Outcome> => {
      sent.push(batch.map(({ index }) => index));
      if (sent.length < 4) await held;
      else release();
      const [document] = batch;
      if (document?.index !== 0) return { written: batch.length, refused: [] };
      return { written: 0, refused: [{ document, reason: "it exists" }] };
    },
  };
  const run = new ImportRun(writer, {
    batchSize: 2,
    isContinuing: false,
    rejects: undefined,
    checkpoint: undefined,
    from: NO_PROGRESS,
    onProgress: () => {},
  });
  await expect(run.run(numbered(20))).rejects.toThrow("line 1, column 1: it exists");
  expect(sent).toEqual([
    [0, 1],
    [2, 3],
    [4, 5],
    [6, 7],
  ]);
  expect(run.linesAhead).toEqual({ documents: 6, first: 3, last: 8 });
  expect(run.progress).toEqual({
    records: 0,
    imported: 6,
    rejected: 0,
    ahead: [
      { from: 2, to: 4 },
      { from: 4, to: 6 },
      { from: 6, to: 8 },
    ],
  });
});

test("the checkpoint is written now and then, and with what is done when the import ends or fails", async () => {
  const written: number[] = [];
  let sent = 0;
  const writer = {
    write: async (batch: readonly ReadDocument[]): Promise<Outcome> => {
      if (++sent > 900) throw new Error("the server is away");
      return { written: batch.length, refused: [] };
    },
  };
  const options = { batchSize: 1, isContinuing: false, rejects: undefined, from: NO_PROGRESS };
  const checkpoint = { write: ({ records }: Progress) => void written.push(records) };
  const run = () => new ImportRun(writer, { ...options, checkpoint, onProgress: () => {} });
  await run().run(numbered(800));
  expect(written.at(-1)).toBe(800);
  expect(written.length).toBeLessThan(80);
  await expect(run().run(numbered(800))).rejects.toThrow("the server is away");
  expect(written.at(-1)).toBe(100);
});

async function* numbered(length: number): AsyncGenerator<readonly ReadDocument[]> {
  for (let index = 0; index < length; index++) {
    const record = { text: "{}", line: index + 1, column: 1 };
    yield [{ document: {}, declaration: "", index, record }];
  }
}

test("a file is imported again, also when it was changed or the import had failed", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "k.ndjson");
  const words = ["import", "k.ndjson", "--collection", "again"];
  writeFileSync(path, '{"_id":"a","n":1}\n');
  for (const _ of [1, 2]) {
    expect(await server.run(words, { folder })).toMatchObject({ code: 0 });
    expect(await rows("again")).toEqual([{ _id: "a", n: 1 }]);
    await server.run(["query", "DELETE FROM again WHERE true"]);
  }
  writeFileSync(path, '{"_id":"a","n":2}\n{"_id":}\n');
  expect(await server.run(words, { folder })).toMatchObject({ code: 1 });
  await server.run(["query", "DELETE FROM again WHERE true"]);
  writeFileSync(path, '{"_id":"a","n":3}\n{"_id":"b"}\n');
  expect(await server.run(words, { folder })).toMatchObject({ code: 0 });
  expect(await rows("again")).toEqual([{ _id: "a", n: 3 }, { _id: "b" }]);
});

test.runIf(isFullSize)(
  "a server that is away for longer than --patience ends the import with exit code 3",
  async () => {
    const env = { ...server.env, BIGPEER_URL: "http://127.0.0.1:1" };
    const folder = temporaryFolder();
    writeFileSync(join(folder, "i.ndjson"), '{"_id":"x"}\n');
    const words = ["import", "i.ndjson", "--collection", "away", "--patience", "1"];
    const { code, stderr } = await server.run(words, { env, folder });
    expect(code).toBe(3);
    expect(stderr).toContain("failed to reach http://127.0.0.1:1");
  },
);

test("export writes lines to stdout also on a terminal, and to files that are whole or absent", async () => {
  await server.run([
    "query",
    "INSERT INTO out DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'x': {'y': '=1+1'}})",
  ]);
  const lines = '{"_id":"a","n":1}\n{"_id":"b","x":{"y":"=1+1"}}\n';
  expect(await server.run(["export", "out"])).toMatchObject({ code: 0, stdout: lines, stderr: "" });
  const folder = temporaryFolder();
  const packed = await server.run(["export", "out", "--output", "out.ndjson.gz"], { folder });
  expect(packed).toMatchObject({ code: 0, stdout: "" });
  expect(gunzipSync(readFileSync(join(folder, "out.ndjson.gz"))).toString()).toBe(lines);
  const csv = await server.run(["export", "out", "--format", "csv"]);
  expect(csv.stdout).toBe("_id,n,x.y\na,1,\nb,,'=1+1\n");
  const missing = await server.run(["export", "no_such", "--output", "none.ndjson"], { folder });
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(existsSync(join(folder, "none.ndjson"))).toBe(false);
});

test("--output is whole or absent: a failure leaves what was there, and a device stays one", async () => {
  await server.run(["query", "INSERT INTO kept DOCUMENTS ({'_id': 'a'})"]);
  const folder = temporaryFolder();
  const path = join(folder, "out");
  writeFileSync(path, "before", { mode: 0o640 });
  symlinkSync("out", join(folder, "link"));
  for (const words of [
    ["query", "SELECT * FORM kept"],
    ["export", "no_such"],
    ["attachment", "get", "x".repeat(43)],
  ]) {
    const { code } = await server.run([...words, "--output", "out"], { folder });
    expect({ code, text: readFileSync(path, "utf8") }).toEqual({ code: 1, text: "before" });
  }
  for (const words of [
    ["query", "SELECT * FROM kept"],
    ["export", "kept"],
  ]) {
    for (const file of [folder, "none/out"]) {
      const failed = await server.run([...words, "--output", file], { folder });
      expect(failed).toMatchObject({ code: 1, stdout: "" });
      expect(failed.stderr).toMatch(/^bigpeer: failed to write .*(?:it is a folder|ENOENT)/);
    }
    const whole = await server.run([...words, "--output", "link"], { folder });
    expect(whole).toMatchObject({ code: 0, stdout: "" });
    expect(readFileSync(path, "utf8")).toContain('{"_id":"a"}');
    expect(statSync(path).mode & 0o777).toBe(0o640);
    const device = await server.run([...words, "--output", "/dev/null"], { folder });
    expect(device).toMatchObject({ code: 0 });
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  }
  expect(readdirSync(folder).toSorted()).toEqual(["link", "out"]);
});

test("a full export and its import give equal documents, with counters, types and attachments", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "photo"), "a photo");
  const put = await server.run(["attachment", "put", "photo"], { folder });
  const [{ id, len } = { id: "", len: 0 }] = JSON.parse(put.stdout) as {
    id: string;
    len: number;
  }[];
  const insert =
    "INSERT INTO COLLECTION kinds (n COUNTER, r REGISTER, m MAP (n COUNTER), f ATTACHMENT) DOCUMENTS (:d)";
  const d = { _id: "k", n: 5, r: { a: 1 }, m: { n: 2, t: "x" }, f: { id, len, metadata: {} } };
  const written = await server.run(["query", insert, "--args", JSON.stringify({ d })]);
  expect(written.code).toBe(0);
  const words = ["export", "kinds", "--full", "--output", "k.ndjson", "--attachments", "files"];
  expect((await server.run(words, { folder })).stderr).toContain("exported 1 documents");
  expect(readFileSync(join(folder, "files", id), "utf8")).toBe("a photo");
  const load2 = ["import", "k.ndjson", "--collection", "copies", "--attachments", "files"];
  expect(await server.run(load2, { folder })).toMatchObject({ code: 0 });
  const original = await server.run(["export", "kinds", "--full"]);
  const copy = await server.run(["export", "copies", "--full"]);
  expect(copy.stdout).toBe(original.stdout);
  await server.run(["query", "UPDATE copies APPLY n INCREMENT BY 1 WHERE true"]);
  expect(await rows("copies")).toMatchObject([{ n: 6 }]);
});
