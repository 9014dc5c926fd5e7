/**
 * Downloads whose caller loses the right to read, or keeps it, while the content is sent.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { FULL_PERMISSIONS, readPermissions } from "@bigpeer/engine/query";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { createCredential } from "../../src/auth/credential.ts";
import { DownloadRights } from "../../src/data-api/download-rights.ts";
import { Refusal } from "../../src/http/refusal.ts";
import { idOf } from "../support/attachment-client.ts";
import { type DataApi, openDataApi } from "../support/data-api.ts";
import { readExposition } from "../support/exposition.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const api = await openDataApi();
const AUTHOR = { actor: "test" };
const BLUE = { queriesByCollection: { cars: ["color == 'blue'"] } };

/** Far more than the buffers of a connection hold. */
const content = randomBytes(30_000_000);
const token = { id: idOf(content), len: content.length };
await storeIn(api);

/** Stores the content without a request. */
async function storeIn({ server, quickstart }: DataApi): Promise<void> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield content;
  }
  await server.apps.visit(quickstart.appId, async ({ attachments }) => {
    expect(await attachments.add(chunks(), "somebody")).toEqual(token);
  });
}

let made = 0;

async function makeKey(permissions: unknown): Promise<{ name: string; text: string }> {
  made++;
  const name = `key-${made}`;
  const given = { name, permissions: readPermissions(permissions) };
  const text = await api.server.registry.keys.create(api.quickstart.appId, given, AUTHOR);
  return { name, text };
}

/** A blue document that refers to the content. */
async function refer(id: string, one = api): Promise<void> {
  await one.upsert("cars", { [id]: { color: "blue" } });
  const step = { path: "photo", value: token, method: "setAttachment" };
  const update = { method: "update", collection: "cars", query: `_id == '${id}'` };
  const { status } = await one.call("write", { commands: [{ ...update, commands: [step] }] });
  expect(status).toBe(200);
}

async function removeAll(): Promise<void> {
  await api.execute("DELETE FROM cars WHERE true");
}

/** A client that has read the first bytes, and reads the rest only when it is asked to. */
class SlowClient {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => void this.#chunks.push(chunk));
    socket.on("error", () => {});
  }

  static async open(key: string, { server } = api): Promise<SlowClient> {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    const client = new SlowClient(socket);
    const head = [
      `GET /api/v4/attachments/${token.id} HTTP/1.1`,
      "Host: x",
      `Authorization: Bearer ${key}`,
      "Range: bytes=0-",
      "Connection: close",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    return client;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.#text)?.[1]);
  }

  /** Reads until the connection ends. */
  async rest(): Promise<Buffer> {
    const closed = once(this.#socket, "close");
    this.#socket.resume();
    await closed;
    const whole = Buffer.concat(this.#chunks);
    return whole.subarray(whole.indexOf("\r\n\r\n") + 4);
  }

  get #text(): string {
    return Buffer.concat(this.#chunks).toString("latin1", 0, 100);
  }
}

/** Reads what arrives, which must be a part of the content and not all of it. */
async function expectEnded(client: SlowClient): Promise<void> {
  expect(client.status).toBe(206);
  const received = await client.rest();
  expect(received.length).toBeLessThan(content.length / 2);
  expect(received.equals(content.subarray(0, received.length))).toBe(true);
}

async function expectWhole(client: SlowClient): Promise<void> {
  expect(client.status).toBe(206);
  expect(idOf(await client.rest())).toBe(token.id);
}

describe("[H57] a download ends", () => {
  test("when the document that refers to the content is no longer readable", async () => {
    await removeAll();
    await refer("c1");
    const { text } = await makeKey({ read: BLUE });
    const client = await SlowClient.open(text);
    await api.upsert("cars", { c1: { color: "red" } });
    await expectEnded(client);
    const response = await fetch(`${api.server.url}/metrics`);
    const { samples } = readExposition(await response.text());
    const labels = 'direction="out",reason="rights",way="download"';
    expect(samples.get(`bigpeer_attachment_failures_total{${labels}}`)).toBe(1);
  });

  test("when the document is deleted, or refers to it no more", async () => {
    await removeAll();
    await refer("c1");
    const { text } = await makeKey({ read: BLUE });
    const first = await SlowClient.open(text);
    await removeAll();
    await expectEnded(first);
    await refer("c2");
    const second = await SlowClient.open(text);
    await api.execute("UPDATE cars UNSET photo WHERE true");
    await expectEnded(second);
  });

  test("when the key is deleted, also one that may read everything", async () => {
    const { name, text } = await makeKey({ read: { everything: true } });
    const client = await SlowClient.open(text);
    await api.server.registry.keys.remove(api.quickstart.appId, name, AUTHOR);
    await expectEnded(client);
  });
});

describe("[H57] a download goes on", () => {
  test("while the caller may read another document that refers to the content", async () => {
    await removeAll();
    await refer("c1");
    await refer("c2");
    const { text } = await makeKey({ read: BLUE });
    const client = await SlowClient.open(text);
    await api.upsert("cars", { c1: { color: "red" } });
    await expectWhole(client);
  });

  test("whatever is written, for a caller who reads everything", async () => {
    await removeAll();
    const { text } = await makeKey({ read: { everything: true } });
    const client = await SlowClient.open(text);
    await refer("c1");
    await removeAll();
    await expectWhole(client);
  });

  test.runIf(isFullSize)("after its app was closed because it was idle", async () => {
    const one = await openDataApi({ appIdleMs: 20 });
    await storeIn(one);
    await refer("c1", one);
    const reader = { name: "reader", permissions: readPermissions({ read: BLUE }) };
    const text = await one.server.registry.keys.create(one.quickstart.appId, reader, AUTHOR);
    const client = await SlowClient.open(text, one);
    await vi.waitFor(() => expect(one.server.apps.open).toEqual([]));
    await expectWhole(client);
  });

  test.runIf(isFullSize)("after the server began to close, for a while", async () => {
    const one = await openDataApi();
    await storeIn(one);
    const client = await SlowClient.open(one.quickstart.apiKey, one);
    const closing = one.server.close();
    await expectWhole(client);
    await closing;
  });
});

describe("[H57] the rights of a download", () => {
  const reading = createCredential("k1", readPermissions({ read: BLUE }));
  const other = createCredential("k1", readPermissions({ read: BLUE }));
  const place = { appId: undefined, version: "v4", parameters: {}, query: "" } as const;

  /** The checks of a download, with what they find and what they ask for. */
  function rightsWith(found: {
    credential: typeof reading | undefined | "broken";
    txnId: number;
    mayRead: boolean;
  }) {
    const released = vi.fn<() => void>();
    const mayReadAttachment = vi.fn<() => boolean>(() => found.mayRead);
    const store = { read: (read: (view: unknown) => unknown) => read({ head: found }) };
    const app = { id: "a1", store: store as never, statements: { mayReadAttachment } };
    const gate = {
      authenticateAgain: async () => {
        const { credential } = found;
        if (credential === "broken") throw new Refusal(503, "the key server does not answer");
        if (credential === undefined) return undefined;
        return { use: { app, release: released }, app, credential };
      },
    };
    const request = handMadeRequest({});
    const download = { request, place, id: "x", credential: reading, txnId: 1 };
    return { rights: new DownloadRights(gate, download), mayReadAttachment, released };
  }

  test("are checked only if something was written, or the credential changed", async () => {
    const found = { credential: reading, txnId: 1, mayRead: true };
    const { rights, mayReadAttachment, released } = rightsWith(found);
    const checks = async (): Promise<[boolean, number]> => {
      return [await rights.areHeld(), mayReadAttachment.mock.calls.length];
    };
    expect(await checks()).toEqual([true, 0]);
    found.credential = other;
    expect(await checks()).toEqual([true, 1]);
    expect(await checks()).toEqual([true, 1]);
    found.credential = createCredential("k1", readPermissions({ read: BLUE }));
    found.mayRead = false;
    expect(await checks()).toEqual([false, 2]);
    expect(released).toHaveBeenCalledTimes(4);
  });

  test("of a caller without a credential, or one that cannot be checked, are gone", async () => {
    const found = { credential: undefined as undefined | "broken", txnId: 1, mayRead: true };
    const { rights } = rightsWith(found);
    expect(await rights.areHeld()).toBe(false);
    found.credential = "broken";
    expect(await rights.areHeld()).toBe(false);
  });

  test("of a caller who may do everything need no check of documents", async () => {
    const found = { credential: createCredential("k", FULL_PERMISSIONS), txnId: 9, mayRead: false };
    const { rights, mayReadAttachment } = rightsWith(found);
    expect(await rights.areHeld()).toBe(true);
    expect(mayReadAttachment).not.toHaveBeenCalled();
  });

  test("are checked again after a check of documents that took long, within a second", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const found = { credential: reading, txnId: 2, mayRead: true };
    const { rights, mayReadAttachment } = rightsWith(found);
    mayReadAttachment.mockImplementation(() => {
      vi.advanceTimersByTime(500);
      return found.mayRead;
    });
    expect(await rights.areHeld()).toBe(true);
    found.txnId = 3;
    found.mayRead = false;
    vi.advanceTimersByTime(999);
    expect(await rights.areHeld()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await rights.areHeld()).toBe(false);
  });
});
