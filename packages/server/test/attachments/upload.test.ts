import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { FULL_PERMISSIONS } from "@bigpeer/engine";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import { uploadEndpoint } from "../../src/attachments/upload.ts";
import { createCredential } from "../../src/auth/credential.ts";
import { appAttachmentsFolder } from "../../src/data-folder.ts";
import { Router } from "../../src/http/router.ts";
import { UPLOADS_MAX } from "../../src/limits.ts";
import { download, formOf, idOf, upload, uploaded } from "../support/attachment-client.ts";
import { type DataApi, openDataApi } from "../support/data-api.ts";
import { listenWith } from "../support/http-listener.ts";
import { openFirstApp } from "../support/open-app.ts";
import { contentLength, RawConnection, requestBytes } from "../support/raw-connection.ts";

const api = await openDataApi();

function folderOf({ config, quickstart }: DataApi): string {
  return appAttachmentsFolder(config.dataDir, quickstart.appId);
}

/** Files of uploads that are not over. */
function partialsOf(one: DataApi): string[] {
  const folder = join(folderOf(one), "partial");
  return existsSync(folder) ? readdirSync(folder) : [];
}

async function recordsOf({ server }: DataApi): Promise<number> {
  const { store } = await openFirstApp(server);
  return store.read((view) => view.head.attachments ?? 0);
}

const EDGE = "multipart/form-data; boundary=edge";

function formBytes(content: string): Buffer {
  return Buffer.from(
    `--edge\r\nContent-Disposition: form-data; name="file"\r\n\r\n${content}\r\n--edge--\r\n`,
  );
}

describe("[H36] an upload", () => {
  test("answers the id and the length, and the file is in its place", async () => {
    const content = Buffer.from("hello world");
    const reply = await upload(api, formOf(content));
    const id = "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek";
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ id, len: 11 });
    expect(readFileSync(join(folderOf(api), "uU", id), "utf8")).toBe("hello world");
    expect(partialsOf(api)).toEqual([]);
    const { store } = await openFirstApp(api.server);
    const [keyId] = store.read((view) => view.attachment(id)?.by) ?? [];
    expect(api.quickstart.apiKey).toContain(keyId);
  });

  test("is answered in CBOR when the client prefers it", async () => {
    const sent = { headers: { accept: "application/cbor" } };
    const reply = await upload(api, formOf(Buffer.from("cbor")), sent);
    expect(reply.headers.get("content-type")).toBe("application/cbor");
    expect(reply.body).toEqual({ id: idOf(Buffer.from("cbor")), len: 4 });
  });

  test.each(["/api/v5", "app"])("is also taken under %s", async (where) => {
    const prefix = where === "app" ? `/${api.quickstart.appId}/api/v4` : where;
    const reply = await upload(api, formOf(Buffer.from(where)), { prefix });
    expect(reply.body).toEqual({ id: idOf(Buffer.from(where)), len: where.length });
  });

  test("of nothing is content as well", async () => {
    const { id, len } = await uploaded(api, new Uint8Array());
    expect({ id, len }).toEqual({ id: idOf(new Uint8Array()), len: 0 });
    const { status, bytes } = await download(api, id);
    expect({ status, size: bytes.length }).toEqual({ status: 200, size: 0 });
  });

  test("of 20 MB passes through the server in pieces and comes back the same", async () => {
    const content = randomBytes(20_000_000);
    const { id, len } = await uploaded(api, content);
    expect({ id, len }).toEqual({ id: idOf(content), len: content.length });
    const { status, bytes } = await download(api, id);
    expect({ status, id: idOf(bytes) }).toEqual({ status: 200, id });
  });

  test("may come without an announced length", async () => {
    const body = Readable.toWeb(Readable.from([formBytes("in"), Buffer.alloc(0)]));
    const reply = await upload(api, body, { headers: { "content-type": EDGE } });
    expect(reply.body).toEqual({ id: idOf(Buffer.from("in")), len: 2 });
  });

  test("of the same content has the same id, also at the same time", async () => {
    const before = await recordsOf(api);
    const content = randomBytes(300_000);
    const all = await Promise.all(Array.from({ length: 12 }, () => uploaded(api, content)));
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set([idOf(content)]));
    expect(await recordsOf(api)).toBe(before + 1);
    expect(partialsOf(api)).toEqual([]);
    expect(idOf((await download(api, idOf(content))).bytes)).toBe(idOf(content));
  });
});

describe("[H36] refused, with nothing kept, is", () => {
  test("an upload without a credential, before its body is read", async () => {
    const connection = await RawConnection.open(api.server.url);
    const headers = [["Host", "x"], ["Content-Type", EDGE], contentLength(1_000_000)] as const;
    const answer = await connection.ask(
      requestBytes({ method: "POST", target: "/api/v4/attachments/upload", headers }),
    );
    connection.destroy();
    expect(answer?.status).toBe(401);
  });

  test.each<[string, Record<string, string>, number]>([
    ["JSON", { "content-type": "application/json" }, 415],
    ["another multipart", { "content-type": "multipart/mixed; boundary=edge" }, 415],
    ["a name that begins alike", { "content-type": "multipart/form-data-x; boundary=edge" }, 415],
    ["a body that is compressed", { "content-type": EDGE, "content-encoding": "gzip" }, 415],
    ["a form without a boundary", { "content-type": "multipart/form-data" }, 400],
  ])("%s", async (_, headers, status) => {
    const before = await recordsOf(api);
    const reply = await upload(api, formBytes("refused"), { headers });
    expect(reply.status).toBe(status);
    expect(reply.body).toEqual({
      message: expect.stringMatching("multipart/form-data|content encoding"),
    });
    expect(await recordsOf(api)).toBe(before);
  });

  test("a form with two files, and one that is cut off", async () => {
    const before = await recordsOf(api);
    const two = await upload(api, formOf(Buffer.from("one"), Buffer.from("two")));
    const cut = await upload(api, formBytes("cut").subarray(0, -12), {
      headers: { "content-type": EDGE },
    });
    expect([two.status, cut.status]).toEqual([400, 400]);
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before);
  });

  test("any other bytes; no file and no partial is left open", async () => {
    const descriptors = (): number => readdirSync("/dev/fd").length;
    const before = await recordsOf(api);
    await upload(api, formBytes("warm"), { headers: { "content-type": EDGE } });
    const open = descriptors();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 500 }), async (bytes) => {
        const noise = Buffer.concat([formBytes("x").subarray(0, -20), bytes]);
        for (const body of [bytes, noise]) {
          const reply = await upload(api, body, { headers: { "content-type": EDGE } });
          expect(reply.status).toBe(400);
        }
      }),
      { numRuns: 100 },
    );
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before + 1);
    expect(descriptors()).toBeLessThan(open + 20);
  });

  test("one whose client leaves", async () => {
    const before = await recordsOf(api);
    const connection = await RawConnection.open(api.server.url);
    const headers = [
      ["Host", "x"],
      ["Authorization", `Bearer ${api.quickstart.apiKey}`],
      ["Content-Type", EDGE],
      contentLength(1_000_000),
    ] as const;
    const head = requestBytes({ method: "POST", target: "/api/v4/attachments/upload", headers });
    await connection.write(Buffer.concat([head, formBytes("x".repeat(1000)).subarray(0, 500)]));
    await vi.waitFor(() => expect(partialsOf(api)).toHaveLength(1));
    connection.destroy();
    await vi.waitFor(() => expect(partialsOf(api)).toEqual([]));
    expect(await recordsOf(api)).toBe(before);
  });
});

describe("[H36] a content beyond attachment-size-max is 413", async () => {
  const small = await openDataApi({ attachmentSizeMax: 100_000 });

  test.each([100_001, 150_000, 5_000_000, 20_000_000])("%i bytes", async (size) => {
    const reply = await upload(small, formOf(Buffer.alloc(size)));
    expect(reply.status).toBe(413);
    expect(reply.body).toEqual({
      message: "expected an attachment of at most 100000 bytes (attachment.too_large)",
    });
    expect(partialsOf(small)).toEqual([]);
  });

  test("and so is a body without an announced length", async () => {
    const pieces = [formBytes("").subarray(0, -12), ...Array(30).fill(Buffer.alloc(10_000))];
    const body = Readable.toWeb(Readable.from(pieces));
    const reply = await upload(small, body, { headers: { "content-type": EDGE } });
    expect(reply.status).toBe(413);
    expect(partialsOf(small)).toEqual([]);
  });

  test("what stands around the content is bound as well", async () => {
    const body = Buffer.concat([formBytes("fits"), Buffer.alloc(170_000, "x")]);
    const stream = Readable.toWeb(Readable.from([body]));
    const reply = await upload(small, stream, { headers: { "content-type": EDGE } });
    expect(reply.status).toBe(413);
    expect(await recordsOf(small)).toBe(0);
  });

  test("the largest is taken", async () => {
    expect((await uploaded(small, Buffer.alloc(100_000))).len).toBe(100_000);
  });
});

describe("the endpoint", () => {
  /** A listener with the endpoint alone, for the app of the server above. */
  async function serve(idleMsMax?: number): Promise<string> {
    const app = await openFirstApp(api.server);
    const use = { app, release: (): void => {} };
    const credential = createCredential("somebody", FULL_PERMISSIONS);
    const gate = {
      authenticate: () => ({ use, app, credential }),
      failureOf: (error: unknown) => error,
    };
    const host = { gate, sizeMax: 1_000_000, ...(idleMsMax !== undefined && { idleMsMax }) };
    const log = (): void => {};
    const router = new Router({ endpoints: [], dataEndpoints: [uploadEndpoint(host)], log });
    const { url } = await listenWith((request) => router.answer(request));
    return url;
  }

  const HEAD = requestBytes({
    method: "POST",
    target: "/api/v4/attachments/upload",
    headers: [["Host", "x"], ["Content-Type", EDGE], contentLength(formBytes("late").length)],
  });

  test("answers 408 when the body does not go on", async () => {
    const before = await recordsOf(api);
    const connection = await RawConnection.open(await serve(20));
    const started = Buffer.concat([HEAD, formBytes("late").subarray(0, 70)]);
    expect((await connection.ask(started))?.status).toBe(408);
    connection.destroy();
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before);
  });

  test("takes a bounded number of uploads at once, and the next one is 503", async () => {
    const url = await serve();
    const connections: RawConnection[] = [];
    for (let count = 0; count < UPLOADS_MAX; count++) {
      const connection = await RawConnection.open(url);
      await connection.write(HEAD);
      connections.push(connection);
    }
    await vi.waitFor(() => expect(partialsOf(api)).toHaveLength(UPLOADS_MAX));
    const one = await RawConnection.open(url);
    const refused = await one.ask(HEAD);
    expect([refused?.status, refused?.headers.get("retry-after")]).toEqual([503, "1"]);
    one.destroy();
    const answers = connections.map((connection) => connection.ask(formBytes("late")));
    for (const answer of await Promise.all(answers)) expect(answer?.status).toBe(200);
    for (const connection of connections) connection.destroy();
    expect(partialsOf(api)).toEqual([]);
  });
});

test("[H36] a full disk is 503, and nothing is left of the upload", async () => {
  const { store } = await openFirstApp(api.server);
  const folder = new AttachmentFolder({ folder: folderOf(api), store, sizeMax: 1_000_000 });
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("begun");
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC", errno: -28 });
  }
  await expect(folder.add(failing(), "somebody")).rejects.toMatchObject({ code: "store.full" });
  expect(partialsOf(api)).toEqual([]);
});
