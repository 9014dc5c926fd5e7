/**
 * What an export writes beside the lines of documents, against a real server.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { runBigpeer, startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

test("the export of an emptied collection is an empty file, also where one was", async () => {
  const folder = temporaryFolder();
  await server.run(["query"], {
    input: "INSERT INTO emptied DOCUMENTS ({'_id': 'a'}); DELETE FROM emptied WHERE true",
  });
  writeFileSync(join(folder, "out.ndjson"), "before");
  for (const file of ["out.ndjson", "new.ndjson", "out.csv", "out.ndjson.gz"]) {
    const format = file.endsWith(".csv") ? ["--format", "csv"] : [];
    const words = ["export", "emptied", "--output", file, ...format];
    const { code, stderr } = await server.run(words, { folder });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain("exported 0 documents");
    const bytes = readFileSync(join(folder, file));
    expect((file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString()).toBe("");
    const copy = ["import", file, "--collection", "emptied"];
    expect(await server.run(copy, { folder })).toMatchObject({ code: 0 });
  }
});

test("empty content of an attachment is an empty file", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "nothing"), "");
  writeFileSync(join(folder, "out"), "before");
  const put = await server.run(["attachment", "put", "nothing"], { folder });
  const [{ id } = { id: "" }] = JSON.parse(put.stdout) as { id: string }[];
  const got = await server.run(["attachment", "get", id, "--output", "out"], { folder });
  expect(got).toMatchObject({ code: 0 });
  expect(readFileSync(join(folder, "out"), "utf8")).toBe("");
});

test("a command that fails before it has data leaves what was there", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "out"), "before");
  const words = ["query", "--continue-on-error", "--output", "out"];
  expect(await server.run(words, { folder, input: "SELECT * FORM a" })).toMatchObject({ code: 1 });
  expect(readFileSync(join(folder, "out"), "utf8")).toBe("before");
});

/** Inserts a document with an attachment; the server has its content if it is given. */
async function insertFile(collection: string, content: string | undefined): Promise<string> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "file"), content ?? "");
  const put = await server.run(["attachment", "put", "file"], { folder });
  const [token = { id: "", len: 0 }] = JSON.parse(put.stdout) as { id: string; len: number }[];
  const id = content === undefined ? "x".repeat(token.id.length) : token.id;
  const d = { _id: id, f: { id, len: token.len, metadata: {} } };
  const statement = `INSERT INTO COLLECTION ${collection} (f ATTACHMENT) DOCUMENTS (:d)`;
  const words = ["query", statement, "--args", JSON.stringify({ d })];
  expect(await server.run(words)).toMatchObject({ code: 0 });
  return id;
}

test("a full export has contents beside its file, and an import of the file finds them", async () => {
  const id = await insertFile("files", "a photo");
  const folder = temporaryFolder();
  const words = ["export", "files", "--full", "--output", "f.ndjson.gz"];
  expect(await server.run(words, { folder })).toMatchObject({ code: 0 });
  expect(readFileSync(join(folder, "f.ndjson.gz.attachments", id), "utf8")).toBe("a photo");
  const other = await startTestServer();
  const load = ["import", "f.ndjson.gz", "--collection", "files"];
  expect(await runBigpeer(load, { env: other.env, folder })).toMatchObject({ code: 0 });
  const get = ["attachment", "get", id];
  expect(await runBigpeer(get, { env: other.env })).toMatchObject({ stdout: "a photo" });
});

test("a full export says which contents it does not have", async () => {
  await insertFile("partly", "there");
  await insertFile("partly", undefined);
  const streamed = await server.run(["export", "partly", "--full"]);
  expect(streamed).toMatchObject({ code: 0 });
  expect(streamed.stderr).toContain("2 documents have attachments without their contents");
  expect(streamed.stderr).toContain("--attachments FOLDER");
  const folder = temporaryFolder();
  const words = ["export", "partly", "--full", "--output", "p.ndjson"];
  const written = await server.run(words, { folder });
  expect(written).toMatchObject({ code: 0 });
  expect(written.stderr).toContain("1 attachments are not in the export");
  expect(readdirSync(join(folder, "p.ndjson.attachments"))).toHaveLength(1);
  // Without attachments there is no folder.
  await server.run(["query", "INSERT INTO bare DOCUMENTS ({'_id': 'a'})"]);
  const bare = ["export", "bare", "--full", "--output", "b.ndjson"];
  expect((await server.run(bare, { folder })).stderr).toMatch(/^exported 1 documents in \S+ s\n$/);
  expect(existsSync(join(folder, "b.ndjson.attachments"))).toBe(false);
});
