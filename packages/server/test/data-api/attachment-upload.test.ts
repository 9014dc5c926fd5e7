import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { attachmentOf } from "@bigpeer/engine/store";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { histories, isFullSize } from "../../../protocol/test/support/test-size.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import { createCredential } from "../../src/auth/credential.ts";
import { appAttachmentsFolder } from "../../src/config/data-folder.ts";
import { type UploadHost, uploadEndpoint } from "../../src/data-api/attachment-upload.ts";
import type { HttpRequest } from "../../src/http/http-request.ts";
import { Refusal } from "../../src/http/refusal.ts";
import { Router } from "../../src/http/router.ts";
import {
  UPLOADS_MAX,
  UPLOADS_PER_APP_MAX,
  UPLOADS_PER_CREDENTIAL_MAX,
} from "../../src/limits/limits.ts";
import { download, formOf, idOf, upload, uploaded } from "../support/attachment-client.ts";
import { type DataApi, openDataApi } from "../support/data-api.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
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
  test("returns the id and the length, and the file is in its place", async () => {
    const content = Buffer.from("hello world");
    const reply = await upload(api, formOf(content));
    const id = "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek";
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ id, len: 11 });
    expect(readFileSync(join(folderOf(api), "uU", id), "utf8")).toBe("hello world");
    expect(partialsOf(api)).toEqual([]);
    const { store } = await openFirstApp(api.server);
    const [keyId] = store.read((view) => attachmentOf(view, id)?.by) ?? [];
    expect(api.quickstart.apiKey).toContain(keyId);
  });

  test("is answered in CBOR when the client prefers it", async () => {
    const sent = { headers: { accept: "application/cbor" } };
    const reply = await upload(api, formOf(Buffer.from("cbor")), sent);
    expect(reply.headers.get("content-type")).toBe("application/cbor");
    expect(reply.body).toEqual({ id: idOf(Buffer.from("cbor")), len: 4 });
  });

  test.each(["/api/v5", "app"])("is also accepted under %s", async (where) => {
    const prefix = where === "app" ? `/${api.quickstart.appId}/api/v4` : where;
    const reply = await upload(api, formOf(Buffer.from(where)), { prefix });
    expect(reply.body).toEqual({ id: idOf(Buffer.from(where)), len: where.length });
  });

  test("of nothing is a content as well", async () => {
    const { id, len } = await uploaded(api, new Uint8Array());
    expect({ id, len }).toEqual({ id: idOf(new Uint8Array()), len: 0 });
    const { status, bytes } = await download(api, id);
    expect({ status, size: bytes.length }).toEqual({ status: 200, size: 0 });
  });

  test.runIf(isFullSize)(
    "of 20 MB is streamed through the server and downloads unchanged",
    async () => {
      const content = randomBytes(20_000_000);
      const { id, len } = await uploaded(api, content);
      expect({ id, len }).toEqual({ id: idOf(content), len: content.length });
      const { status, bytes } = await download(api, id);
      expect({ status, id: idOf(bytes) }).toEqual({ status: 200, id });
    },
  );

  test("may have no announced length", async () => {
    const body = Readable.toWeb(Readable.from([formBytes("in"), Buffer.alloc(0)]));
    const reply = await upload(api, body, { headers: { "content-type": EDGE } });
    expect(reply.body).toEqual({ id: idOf(Buffer.from("in")), len: 2 });
  });

  test("of the same content has the same id, also concurrently", async () => {
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

  test("a form with two files, and a truncated one", async () => {
    const before = await recordsOf(api);
    const two = await upload(api, formOf(Buffer.from("one"), Buffer.from("two")));
    const cut = await upload(api, formBytes("cut").subarray(0, -12), {
      headers: { "content-type": EDGE },
    });
    expect([two.status, cut.status]).toEqual([400, 400]);
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before);
  });

  test("any other bytes; no file and no partial upload is left open", async () => {
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
      { numRuns: histories(100) },
    );
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before + 1);
    expect(descriptors()).toBeLessThan(open + 20);
  });

  test("one whose client disconnects", async () => {
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

  test("and so is a larger body without an announced length", async () => {
    const pieces = [formBytes("").subarray(0, -12), ...Array(30).fill(Buffer.alloc(10_000))];
    const body = Readable.toWeb(Readable.from(pieces));
    const reply = await upload(small, body, { headers: { "content-type": EDGE } });
    expect(reply.status).toBe(413);
    expect(partialsOf(small)).toEqual([]);
  });

  test("the rest of the form is limited as well", async () => {
    const body = Buffer.concat([formBytes("fits"), Buffer.alloc(170_000, "x")]);
    const stream = Readable.toWeb(Readable.from([body]));
    const reply = await upload(small, stream, { headers: { "content-type": EDGE } });
    expect(reply.status).toBe(413);
    expect(await recordsOf(small)).toBe(0);
  });

  test("the maximum size is accepted", async () => {
    expect((await uploaded(small, Buffer.alloc(100_000))).len).toBe(100_000);
  });
});

describe("the endpoint", () => {
  /** A listener with the endpoint alone, for the app of the server above. */
  async function serve(options: Partial<UploadHost> = {}): Promise<string> {
    const app = await openFirstApp(api.server);
    const gate = {
      // The request says who asks, and of which app.
      authenticate: ({ headers }: HttpRequest) => {
        const asked = { id: String(headers["x-app"] ?? "one"), attachments: app.attachments };
        const name = String(headers["x-credential"] ?? "somebody");
        const credential = createCredential(name, FULL_PERMISSIONS);
        return { use: { app: asked, release: (): void => {} }, app: asked, credential };
      },
      failureOf: (error: unknown) => error,
    };
    const host = { gate, sizeMax: 1_000_000, ...options };
    const log = (): void => {};
    const router = new Router({ endpoints: [], dataEndpoints: [uploadEndpoint(host)], log });
    const { url } = await listenWith((request) => router.answer(request));
    return url;
  }

  const headOf = (credential: string, app: string): Uint8Array =>
    requestBytes({
      method: "POST",
      target: "/api/v4/attachments/upload",
      headers: [
        ["Host", "x"],
        ["X-Credential", credential],
        ["X-App", app],
        ["Content-Type", EDGE],
        contentLength(formBytes("late").length),
      ],
    });
  const HEAD = headOf("somebody", "one");

  test("answers 408 if the body stalls", async () => {
    const before = await recordsOf(api);
    const connection = await RawConnection.open(await serve({ idleMsMax: 20 }));
    const started = Buffer.concat([HEAD, formBytes("late").subarray(0, 70)]);
    expect((await connection.ask(started))?.status).toBe(408);
    connection.destroy();
    expect(partialsOf(api)).toEqual([]);
    expect(await recordsOf(api)).toBe(before);
  });

  test("accepts a limited number of concurrent uploads, and the next one is 503", async () => {
    const met: string[] = [];
    const url = await serve({ onRefused: (bound) => void met.push(bound) });
    const connections: RawConnection[] = [];
    const begin = async (credential: string, app: string, count: number): Promise<void> => {
      const before = connections.length;
      for (let i = 0; i < count; i++) {
        const connection = await RawConnection.open(url);
        await connection.write(headOf(credential, app));
        connections.push(connection);
      }
      await vi.waitFor(() => expect(partialsOf(api)).toHaveLength(before + count));
    };
    const statusOf = async (credential: string, app: string): Promise<unknown> => {
      const one = await RawConnection.open(url);
      const answer = await one.ask(headOf(credential, app));
      one.destroy();
      return [answer?.status, answer?.headers.get("retry-after")];
    };
    // One credential has a share, then its app, then all.
    await begin("ann", "one", UPLOADS_PER_CREDENTIAL_MAX);
    expect(await statusOf("ann", "one")).toEqual([503, "1"]);
    await begin("bob", "one", UPLOADS_PER_APP_MAX - UPLOADS_PER_CREDENTIAL_MAX);
    expect(await statusOf("eve", "one")).toEqual([503, "1"]);
    await begin("ann", "two", UPLOADS_PER_CREDENTIAL_MAX);
    await begin("bob", "two", UPLOADS_MAX - UPLOADS_PER_APP_MAX - UPLOADS_PER_CREDENTIAL_MAX);
    expect(await statusOf("eve", "three")).toEqual([503, "1"]);
    expect(met).toEqual(["uploads", "uploads", "uploads"]);
    const answers = connections.map((connection) => connection.ask(formBytes("late")));
    for (const answer of await Promise.all(answers)) expect(answer?.status).toBe(200);
    for (const connection of connections) connection.destroy();
    expect(partialsOf(api)).toEqual([]);
  });
});

describe("[H36] a slow upload", () => {
  const RATE = { windowMs: 30_000, bytes: 1_000 };

  /** Sends pieces of a size, with so much time of the server's clock between any two. */
  async function send(size: number, stepMs: number): Promise<number | undefined> {
    const app = await openFirstApp(api.server);
    const clock = { now: 0 };
    const credential = createCredential("somebody", FULL_PERMISSIONS);
    const gate = {
      authenticate: () => ({ use: { app, release: (): void => {} }, app, credential }),
      failureOf: (error: unknown) => error,
    };
    const elapsed = (): number => (clock.now += stepMs / 2);
    const endpoint = uploadEndpoint({ gate, sizeMax: 1_000_000, rateMin: RATE, elapsed });
    const form = formBytes("x".repeat(size * 40));
    const pieces = Array.from({ length: Math.ceil(form.length / size) }, (_, i) =>
      form.subarray(i * size, (i + 1) * size),
    );
    const request = {
      ...handMadeRequest({ headers: { "content-type": EDGE } }),
      openBody: () => Readable.from(pieces),
    };
    const place = { appId: undefined, version: "v4", parameters: {}, query: "" } as const;
    try {
      return (await endpoint.answer(request, place)).status;
    } catch (error) {
      if (error instanceof Refusal) return error.status;
      throw error;
    }
  }

  test("continues while enough bytes arrive in each window", async () => {
    expect(await send(5_000, 10_000)).toBe(200);
  });

  test("is ended if fewer arrive, even without a long pause", async () => {
    expect(await send(20, 20_000)).toBe(408);
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
