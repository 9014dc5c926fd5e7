/**
 * Uploads that continue by offset, as a client sees them: cut, resumed, refused, and over a restart.
 */

import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readPermissions } from "@bigpeer/engine/query";
import { attachmentOf } from "@bigpeer/engine/store";
import { describe, expect, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { collectAttachments } from "../../src/attachments/attachment-collector.ts";
import { appAttachmentsFolder } from "../../src/config/data-folder.ts";
import { UPLOADS_PER_CREDENTIAL_MAX } from "../../src/limits/limits.ts";
import { startServer } from "../../src/server.ts";
import {
  type AttachmentReply,
  beginUpload,
  continueUpload,
  download,
  formOf,
  idOf,
  proofOf,
  sendTo,
  upload,
  uploaded,
} from "../support/attachment-client.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";
import { readExposition } from "../support/exposition.ts";
import { openFirstApp } from "../support/open-app.ts";
import { contentLength, RawConnection, requestBytes } from "../support/raw-connection.ts";
import { testConfig } from "../support/test-config.ts";

const api = await openDataApi();

function folderIn({ config, quickstart }: DataApi, name: string): string {
  return join(appAttachmentsFolder(config.dataDir, quickstart.appId), name);
}

/** Files in a folder below the attachments of the app. */
function namesIn(one: DataApi, name: string): string[] {
  const folder = folderIn(one, name);
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Resolves when the one partial upload has so many bytes. */
async function arrived(one: DataApi, size: number): Promise<void> {
  await vi.waitFor(() => {
    const sizes = namesIn(one, "uploads").map(
      (name) => statSync(join(folderIn(one, "uploads"), name)).size,
    );
    expect(sizes).toEqual([size]);
  });
}

let made = 0;

/** Header of a new key. */
async function keyWith(one: DataApi, permissions: unknown): Promise<Record<string, string>> {
  made++;
  const content = { name: `key-${made}`, permissions: readPermissions(permissions) };
  const key = await one.server.registry.keys.create(one.quickstart.appId, content, {
    actor: "test",
  });
  return { authorization: `Bearer ${key}` };
}

const OWN = { queriesByCollection: { notes: ["true"] } };

/** A caller who may write, and reads nothing of the others. */
function writerOf(one: DataApi): Promise<Record<string, string>> {
  return keyWith(one, { read: OWN, write: OWN });
}

function statusAndBody({ status, body }: AttachmentReply): unknown {
  return { status, body };
}

function progress(content: Uint8Array, offset: number): unknown {
  return { status: 200, body: { id: idOf(content), len: content.length, offset } };
}

/** Connection on which a part has begun to arrive. */
async function halfSent(
  one: DataApi,
  content: Uint8Array,
  { from, to, headers }: { from: number; to: number; headers?: Record<string, string> },
): Promise<RawConnection> {
  const connection = await RawConnection.open(one.server.url);
  const head = requestBytes({
    method: "PATCH",
    target: `/api/v4/attachments/${idOf(content)}/upload`,
    headers: [
      ["Host", "x"],
      ["Authorization", headers?.["authorization"] ?? `Bearer ${one.quickstart.apiKey}`],
      ["Content-Type", "application/octet-stream"],
      ["Upload-Offset", String(from)],
      ["Upload-Length", String(content.length)],
      contentLength(content.length - from),
    ],
  });
  await connection.write(Buffer.concat([head, content.subarray(from, to)]));
  return connection;
}

describe("[H54] an upload", () => {
  test("begins at 0, takes parts of any size, and is stored when all bytes are here", async () => {
    const content = randomBytes(300_000);
    const id = idOf(content);
    const len = content.length;
    expect(statusAndBody(await beginUpload(api, id, { len }))).toEqual(progress(content, 0));
    let offset = 0;
    for (const end of [1, 1, 70_000, 299_999, 300_000]) {
      const part = content.subarray(offset, end);
      const reply = await continueUpload(api, id, { offset, len, part });
      expect(statusAndBody(reply)).toEqual(progress(content, end));
      offset = end;
    }
    expect(idOf((await download(api, id)).bytes)).toBe(id);
    expect(namesIn(api, "uploads")).toEqual([]);
    expect(namesIn(api, "partial")).toEqual([]);
    const { store } = await openFirstApp(api.server);
    expect(store.read((view) => attachmentOf(view, id)?.len)).toBe(len);
  });

  test("needs no part for an empty content", async () => {
    const empty = Buffer.alloc(0);
    const reply = await beginUpload(api, idOf(empty), { len: 0 });
    expect(statusAndBody(reply)).toEqual(progress(empty, 0));
    expect((await download(api, idOf(empty))).status).toBe(200);
    const other = await beginUpload(api, idOf(Buffer.from("other")), { len: 0 });
    expect(other.status).toBe(422);
  });

  test.each(["/api/v5", "app"])("is also served under %s, and in CBOR", async (where) => {
    const prefix = where === "app" ? `/${api.quickstart.appId}/api/v4` : where;
    const content = Buffer.from(`resumable under ${where}`);
    const headers = { accept: "application/cbor" };
    const id = idOf(content);
    const len = content.length;
    const begun = await beginUpload(api, id, { len }, { prefix, headers });
    expect(statusAndBody(begun)).toEqual(progress(content, 0));
    const part = { offset: 0, len, part: content };
    const sent = await continueUpload(api, id, part, { prefix, headers });
    expect(statusAndBody(sent)).toEqual(progress(content, len));
  });

  test.each<[string, unknown, number]>([
    ["short", { len: 1 }, 400],
    [`${idOf(Buffer.from("a"))}x`, { len: 1 }, 400],
    ["..%2F..%2Fstore%2Fdata.mdb", { len: 1 }, 400],
    [idOf(Buffer.from("a")), {}, 400],
    [idOf(Buffer.from("a")), { len: -1 }, 400],
    [idOf(Buffer.from("a")), { len: 1.5 }, 400],
    [idOf(Buffer.from("a")), { len: "1" }, 400],
    [idOf(Buffer.from("a")), { len: 1, proof: 7 }, 400],
    [idOf(Buffer.from("a")), { len: 268_435_457 }, 413],
    [idOf(Buffer.from("a")), { len: 1, proof: null }, 200],
  ])("with the id %s and %j is %s %i", async (id, body, status) => {
    expect((await beginUpload(api, id, body)).status).toBe(status);
  });

  test("needs a credential that may write", async () => {
    const id = idOf(Buffer.from("a"));
    const reader = await keyWith(api, { read: { everything: true } });
    for (const headers of [reader, { authorization: "Bearer nobody" }]) {
      expect((await beginUpload(api, id, { len: 1 }, { headers })).status).toBe(401);
      const part = { offset: 0, len: 1, part: "a" };
      expect((await continueUpload(api, id, part, { headers })).status).toBe(401);
    }
  });

  test("other methods are 405", async () => {
    const reply = await sendTo(api, `/attachments/${idOf(Buffer.from("a"))}/upload`);
    expect([reply.status, reply.headers.get("allow")]).toEqual([405, "POST, PATCH"]);
  });

  test("can be made by a web page", async () => {
    const response = await fetch(`${api.server.url}/api/v4/attachments/x/upload`, {
      method: "OPTIONS",
      headers: { origin: "http://localhost:3000", "access-control-request-method": "PATCH" },
    });
    expect(response.headers.get("access-control-allow-methods")).toBe("POST, PATCH");
    const allowed = response.headers.get("access-control-allow-headers");
    expect(allowed).toContain("Upload-Offset, Upload-Length");
  });
});

describe("[H56] a part", () => {
  const content = randomBytes(10_000);
  const id = idOf(content);
  const len = content.length;

  test("at another offset is 409 with the right one", async () => {
    const headers = await writerOf(api);
    const send = (offset: number, end: number): Promise<AttachmentReply> =>
      continueUpload(api, id, { offset, len, part: content.subarray(offset, end) }, { headers });
    const message = (offset: number): string => `expected an upload from the offset ${offset}`;
    expect(statusAndBody(await send(5, 10))).toEqual({
      status: 409,
      body: { message: message(0), offset: 0 },
    });
    expect((await send(0, 4_000)).status).toBe(200);
    for (const offset of [0, 3_999, 4_001]) {
      expect(statusAndBody(await send(offset, len))).toEqual({
        status: 409,
        body: { message: message(4_000), offset: 4_000 },
      });
    }
    expect(statusAndBody(await send(4_000, len))).toEqual(progress(content, len));
  });

  test("whose content has another digest is 422, and nothing remains", async () => {
    const wrong = { offset: 0, len: 5, part: "wrong" };
    const other = idOf(Buffer.from("right"));
    const reply = await continueUpload(api, other, wrong);
    expect(reply.status).toBe(422);
    expect(reply.body).toEqual({
      message: `expected the content of the attachment ${other}, found another (attachment.invalid)`,
    });
    expect(namesIn(api, "uploads")).toEqual([]);
    expect((await download(api, other)).status).toBe(404);
    expect((await beginUpload(api, other, { len: 5 })).body).toMatchObject({ offset: 0 });
    const right = { offset: 0, len: 5, part: "right" };
    expect((await continueUpload(api, other, right)).status).toBe(200);
  });

  test.each<[string, Record<string, string>, number]>([
    ["of another type", { "content-type": "application/json" }, 415],
    ["that is compressed", { "content-encoding": "gzip" }, 415],
    ["with a negative offset", { "upload-offset": "-1" }, 400],
    ["with an offset that is no number", { "upload-offset": "1e3" }, 400],
    ["without a length", { "upload-length": "" }, 400],
    ["beyond the end", { "upload-offset": "11", "upload-length": "10" }, 400],
    ["longer than the rest", { "upload-length": "2" }, 400],
    ["of a content that is too large", { "upload-length": "268435457" }, 413],
  ])("%s is refused", async (_, headers, status) => {
    const some = idOf(Buffer.from("abc"));
    const part = { offset: 0, len: 3, part: "abc" };
    expect((await continueUpload(api, some, part, { headers })).status).toBe(status);
    expect(namesIn(api, "uploads")).toEqual([]);
  });

  test("longer than the rest, without an announced length, is refused and begins nothing", async () => {
    const part = new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.from("abcdef"));
        controller.close();
      },
    });
    const reply = await continueUpload(api, idOf(Buffer.from("abc")), { offset: 0, len: 3, part });
    expect(reply.status).toBe(400);
    expect(namesIn(api, "uploads")).toEqual([]);
  });

  test("that is cut leaves what arrived, and the upload continues from there", async () => {
    const headers = await writerOf(api);
    const photo = randomBytes(500_000);
    const connection = await halfSent(api, photo, { from: 0, to: 200_000, headers });
    await arrived(api, 200_000);
    connection.destroy();
    const begun = await beginUpload(api, idOf(photo), { len: photo.length }, { headers });
    const { offset } = begun.body as { offset: number };
    expect(offset).toBe(200_000);
    const part = { offset, len: photo.length, part: photo.subarray(offset) };
    const sent = await continueUpload(api, idOf(photo), part, { headers });
    expect(statusAndBody(sent)).toEqual(progress(photo, photo.length));
  });
});

describe("[H54] a request that is still under way", () => {
  test("on a half-open connection is ended by the next begin, which has the final offset", async () => {
    const content = randomBytes(100_000);
    const id = idOf(content);
    const connection = await halfSent(api, content, { from: 0, to: 30_000 });
    await arrived(api, 30_000);
    const begun = await beginUpload(api, id, { len: content.length });
    expect(statusAndBody(begun)).toEqual(progress(content, 30_000));
    const ended = await connection.next();
    expect(ended?.status).toBe(409);
    // What the ended one sends later changes nothing.
    await connection.write(content.subarray(30_000, 40_000));
    const part = { offset: 30_000, len: content.length, part: content.subarray(30_000) };
    expect((await continueUpload(api, id, part)).status).toBe(200);
    connection.destroy();
    expect(idOf((await download(api, id)).bytes)).toBe(id);
  });

  test("does not keep its caller from a begin, even if all that the caller may have are half open", async () => {
    const headers = await writerOf(api);
    const contents = Array.from({ length: UPLOADS_PER_CREDENTIAL_MAX }, () => randomBytes(50_000));
    const connections = await Promise.all(
      contents.map((content) => halfSent(api, content, { from: 0, to: 10_000, headers })),
    );
    await vi.waitFor(() => expect(namesIn(api, "uploads")).toHaveLength(contents.length));
    const further = Buffer.from("further");
    const one = await beginUpload(api, idOf(further), { len: 7 }, { headers });
    expect([one.status, one.headers.get("retry-after")]).toEqual([503, "1"]);
    for (const content of contents) {
      const begun = await beginUpload(api, idOf(content), { len: 50_000 }, { headers });
      expect(begun.status).toBe(200);
    }
    for (const connection of connections) connection.destroy();
    const { attachments } = await openFirstApp(api.server);
    for await (const _ of attachments.removeStrays(Date.now() + 1_000));
    await vi.waitFor(() => expect(namesIn(api, "uploads")).toEqual([]));
  });
});

describe("[H55] a content that the server has", () => {
  const content = Buffer.from("a content that one caller has uploaded");
  const id = idOf(content);
  const len = content.length;

  test("need not be sent by a caller who may read it", async () => {
    await uploaded(api, content);
    expect(statusAndBody(await beginUpload(api, id, { len }))).toEqual(progress(content, len));
    const all = await keyWith(api, { read: { everything: true }, write: OWN });
    const begun = await beginUpload(api, id, { len }, { headers: all });
    expect(statusAndBody(begun)).toEqual(progress(content, len));
    // A wrong length is that of no content.
    const wrong = await beginUpload(api, id, { len: len + 1 }, { headers: all });
    expect(wrong.body).toMatchObject({ offset: 0 });
  });

  test("need not be sent by a caller who proves to have it, and who may read it then", async () => {
    await uploaded(api, content);
    const headers = await writerOf(api);
    expect((await download(api, id, { headers })).status).toBe(404);
    const proved = await beginUpload(api, id, { len, proof: proofOf(content) }, { headers });
    expect(statusAndBody(proved)).toEqual(progress(content, len));
    expect((await download(api, id, { headers })).status).toBe(200);
    // And without the proof, as an uploader.
    const again = await beginUpload(api, id, { len }, { headers });
    expect(statusAndBody(again)).toEqual(progress(content, len));
  });

  test("is as if it were not there for a caller without the right and the proof", async () => {
    await uploaded(api, content);
    const headers = await writerOf(api);
    const absent = Buffer.from("a content that no caller has uploaded?");
    const bodies = [{}, { proof: proofOf(Buffer.from("no")) }, { proof: id }, { proof: "" }];
    for (const proof of bodies) {
      const there = await beginUpload(api, id, { len, ...proof }, { headers });
      const notThere = await beginUpload(api, idOf(absent), { len, ...proof }, { headers });
      expect(statusAndBody(there)).toEqual(progress(content, 0));
      expect(statusAndBody(notThere)).toEqual(progress(absent, 0));
    }
    const part = { offset: 0, len, part: content.subarray(0, 10) };
    expect((await continueUpload(api, id, part, { headers })).body).toMatchObject({ offset: 10 });
    expect((await beginUpload(api, id, { len }, { headers })).body).toMatchObject({ offset: 10 });
    expect((await download(api, id, { headers })).status).toBe(404);
    const rest = { offset: 10, len, part: content.subarray(10) };
    const sent = await continueUpload(api, id, rest, { headers });
    expect(statusAndBody(sent)).toEqual(progress(content, len));
    expect((await download(api, id, { headers })).status).toBe(200);
  });

  test("that a caller began to send before it had the right need not be sent any more", async () => {
    const headers = await writerOf(api);
    const late = Buffer.from("another caller was faster");
    const part = { offset: 0, len: late.length, part: late.subarray(0, 5) };
    await continueUpload(api, idOf(late), part, { headers });
    expect(namesIn(api, "uploads")).toHaveLength(1);
    await uploaded(api, late);
    const proof = { len: late.length, proof: proofOf(late) };
    const begun = await beginUpload(api, idOf(late), proof, { headers });
    expect(statusAndBody(begun)).toEqual(progress(late, late.length));
    expect(namesIn(api, "uploads")).toEqual([]);
  });
});

test("[H58] two callers do not share a partial upload", async () => {
  const content = Buffer.from("0123456789 of two callers");
  const id = idOf(content);
  const len = content.length;
  const [ann, bob] = [await writerOf(api), await writerOf(api)];
  await continueUpload(api, id, { offset: 0, len, part: "0123456789" }, { headers: ann });
  const other = await beginUpload(api, id, { len }, { headers: bob });
  expect(other.body).toMatchObject({ offset: 0 });
  const spoiled = { offset: 0, len, part: Buffer.alloc(len) };
  expect((await continueUpload(api, id, spoiled, { headers: bob })).status).toBe(422);
  const rest = { offset: 10, len, part: content.subarray(10) };
  const sent = await continueUpload(api, id, rest, { headers: ann });
  expect(statusAndBody(sent)).toEqual(progress(content, len));
});

test("[H58] a partial upload is removed after the grace period without progress", async () => {
  const one = await openDataApi();
  const content = Buffer.from("0123456789");
  const part = { offset: 0, len: 10, part: content.subarray(0, 4) };
  await continueUpload(one, idOf(content), part);
  const app = await openFirstApp(one.server);
  const collect = (nowMs: number): Promise<void> =>
    collectAttachments(
      app,
      { attachmentGraceMs: 60_000, now: () => nowMs, log: () => {} },
      () => false,
    );
  await collect(Date.now() + 50_000);
  expect(namesIn(one, "uploads")).toHaveLength(1);
  await collect(Date.now() + 70_000);
  expect(namesIn(one, "uploads")).toEqual([]);
  expect((await beginUpload(one, idOf(content), { len: 10 })).body).toMatchObject({ offset: 0 });
});

test.runIf(isFullSize)(
  "[H58] the offset survives a restart of the server, and the content is whole",
  async () => {
    const config = testConfig({ dataDir: temporaryFolder() });
    const content = randomBytes(400_000);
    const id = idOf(content);
    const len = content.length;
    const first = new DataApi(await startServer(config, testHost()), config);
    const part = { offset: 0, len, part: content.subarray(0, 150_000) };
    expect((await continueUpload(first, id, part)).status).toBe(200);
    // Another part is under way when the server closes.
    const connection = await halfSent(first, content, { from: 150_000, to: 180_000 });
    await arrived(first, 180_000);
    connection.destroy();
    await first.server.close();

    const second = new DataApi(await startServer(config, testHost()), config);
    const begun = await beginUpload(second, id, { len });
    expect(statusAndBody(begun)).toEqual(progress(content, 180_000));
    const rest = { offset: 180_000, len, part: content.subarray(180_000) };
    expect(statusAndBody(await continueUpload(second, id, rest))).toEqual(progress(content, len));
    expect(idOf((await download(second, id)).bytes)).toBe(id);
    await second.server.close();
  },
);

test("[H58] a server that closes ends an upload under way with 503, and keeps what arrived", async () => {
  const config = testConfig({ dataDir: temporaryFolder() });
  const content = randomBytes(100_000);
  const first = new DataApi(await startServer(config, testHost()), config);
  const connection = await halfSent(first, content, { from: 0, to: 60_000 });
  await arrived(first, 60_000);
  const app = await openFirstApp(first.server);
  await app.attachments.close();
  expect((await connection.next())?.status).toBe(503);
  connection.destroy();
  await first.server.close();
  const second = new DataApi(await startServer(config, testHost()), config);
  const begun = await beginUpload(second, idOf(content), { len: content.length });
  expect(statusAndBody(begun)).toEqual(progress(content, 60_000));
  await second.server.close();
});

describe("[H59] beyond attachment-space-max", async () => {
  const small = await openDataApi({ attachmentSpaceMax: 100_000 });
  const full = {
    message: expect.stringMatching(/at most 100000 bytes of them \(store\.full\)$/) as string,
  };

  test("uploads of both kinds are 503, and what fits is stored", async () => {
    const first = await uploaded(small, randomBytes(60_000));
    const refused = await upload(small, formOf(randomBytes(50_000)));
    expect(statusAndBody(refused)).toEqual({ status: 503, body: full });
    expect(refused.headers.get("retry-after")).toBe("30");
    expect(namesIn(small, "partial")).toEqual([]);
    const content = randomBytes(40_001);
    const begun = await beginUpload(small, idOf(content), { len: content.length });
    expect(statusAndBody(begun)).toEqual({ status: 503, body: full });
    const part = { offset: 0, len: content.length, part: content };
    const sent = await continueUpload(small, idOf(content), part);
    expect(statusAndBody(sent)).toEqual({ status: 503, body: full });
    const fits = randomBytes(40_000);
    const half = { offset: 0, len: 40_000, part: fits.subarray(0, 20_000) };
    expect((await continueUpload(small, idOf(fits), half)).status).toBe(200);
    // The part counts.
    expect((await upload(small, formOf(randomBytes(20_001)))).status).toBe(503);
    const rest = { offset: 20_000, len: 40_000, part: fits.subarray(20_000) };
    expect((await continueUpload(small, idOf(fits), rest)).status).toBe(200);
    expect((await upload(small, formOf(randomBytes(1)))).status).toBe(503);
    // The same content takes no more space once it is there.
    expect((await beginUpload(small, first.id, { len: first.len })).status).toBe(200);
    const { attachments } = await openFirstApp(small.server);
    expect(attachments.space.used).toBe(100_000);
  });
});

test("the metrics have the bytes by way, the partial uploads and the failures by reason", async () => {
  const one = await openDataApi();
  const content = randomBytes(1_000);
  const id = idOf(content);
  await continueUpload(one, id, { offset: 0, len: 1_000, part: content.subarray(0, 400) });
  const text = async (): Promise<ReadonlyMap<string, number>> => {
    const response = await fetch(`${one.server.url}/metrics`);
    return readExposition(await response.text()).samples;
  };
  const app = one.quickstart.appId;
  const partial = `bigpeer_attachment_partial_uploads{app="${app}"}`;
  expect((await text()).get(partial)).toBe(1);
  await continueUpload(one, id, { offset: 400, len: 1_000, part: content.subarray(400) });
  await uploaded(one, Buffer.from("form"));
  await download(one, id);
  await continueUpload(one, idOf(Buffer.from("right")), { offset: 0, len: 5, part: "wrong" });
  const samples = await text();
  const bytes = (direction: string, way: string): number | undefined =>
    samples.get(`bigpeer_attachment_bytes_total{direction="${direction}",way="${way}"}`);
  expect(samples.get(partial)).toBe(0);
  expect([bytes("in", "resumable"), bytes("in", "form")]).toEqual([1_005, 4]);
  expect([bytes("out", "download"), bytes("in", "link")]).toEqual([1_000, 0]);
  const failed = 'direction="in",reason="digest",way="resumable"';
  expect(samples.get(`bigpeer_attachment_failures_total{${failed}}`)).toBe(1);
});
