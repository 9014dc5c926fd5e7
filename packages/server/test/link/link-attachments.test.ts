/**
 * Contents of attachments between real servers: eager and on demand, over more than one link, cut,
 * wrong, and nowhere.
 */

import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attachmentOf } from "@bigpeer/engine/store";
import type { FetchMessage, LinkMessage } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { idOf } from "../support/attachment-client.ts";
import { LinkCaller } from "../support/link-caller.ts";
import { LINK_SECRET, LINKED_APP, LinkedServer } from "../support/linked-server.ts";

const ALL_CARS = { cars: ["true"] };
const PATIENCE = { timeout: 45_000, interval: 20 };
/** Of the store behind a link that is spoken by hand. */
const HISTORY = "ab".repeat(16);

/** `south` dials `north` and pulls all cars. */
async function linkTwo(settings: object = {}): Promise<[LinkedServer, LinkedServer]> {
  const north = await LinkedServer.start();
  const south = await LinkedServer.start();
  await north.replicate("POST", {});
  await pull(south, north, settings);
  return [north, south];
}

async function pull(follower: LinkedServer, from: LinkedServer, settings: object): Promise<void> {
  const connections = [from.address];
  await follower.replicate("POST", { connections, queriesByCollection: ALL_CARS, ...settings });
}

/** Uploads content and writes a document with it. */
async function put(server: LinkedServer, content: Uint8Array, document = "1"): Promise<string> {
  const id = await server.upload(content);
  await server.refer(id, content.length, ["cars", document]);
  return id;
}

function pathOf(server: LinkedServer, id: string): Promise<string> {
  return server.withApp(({ attachments }) => attachments.path(id));
}

async function hasFile(server: LinkedServer, id: string): Promise<boolean> {
  return existsSync(await pathOf(server, id));
}

function hasContent(server: LinkedServer, id: string): Promise<boolean> {
  return server.withApp(({ attachments }) => attachments.has(id));
}

/** Resolves when a document has come. */
async function arrived(server: LinkedServer, id = "1"): Promise<void> {
  await vi.waitFor(async () => {
    expect(await server.run("SELECT _id FROM cars WHERE _id = :id", { id })).toHaveLength(1);
  }, PATIENCE);
}

async function fetched(server: LinkedServer, id: string): Promise<void> {
  const isHere = async (): Promise<void> => expect(await hasContent(server, id)).toBe(true);
  await vi.waitFor(isHere, { timeout: 45_000, interval: 200 });
}

const WHOLE = { read: { everything: true }, write: { everything: true } };

async function keyOf(server: LinkedServer, permissions: object = WHOLE): Promise<string> {
  return (await server.manage("POST", "/app/shop/apiKey", { name: "k", permissions })) as string;
}

async function download(
  server: LinkedServer,
  key: string,
  id: string,
  init: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<{ status: number; bytes: Uint8Array; headers: Headers }> {
  const response = await fetch(`${server.server.url}/${LINKED_APP}/api/v4/attachments/${id}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
  });
  const { status, headers } = response;
  return { status, bytes: new Uint8Array(await response.arrayBuffer()), headers };
}

async function missing(server: LinkedServer): Promise<unknown> {
  const path = "/app/shop/bigPeerReplication/link/status";
  const { missingAttachments } = (await server.manage("GET", path)) as Record<string, unknown>;
  return missingAttachments;
}

/** A look that is under way may still have found it missing. */
async function noneMissing(server: LinkedServer): Promise<void> {
  await vi.waitFor(async () => expect(await missing(server)).toBe(0), PATIENCE);
}

/** Somebody who is linked with a server by hand. */
async function byHand(server: LinkedServer): Promise<LinkCaller> {
  const caller = await LinkCaller.dial(server.server.replicationUrl ?? "");
  await caller.prove(LINKED_APP, LINK_SECRET);
  caller.say({ t: "linked", history: HISTORY, txn: 1, now: Date.now() });
  return caller;
}

async function heard<K extends LinkMessage["t"]>(
  caller: LinkCaller,
  kind: K,
): Promise<Extract<LinkMessage, { t: K }>> {
  for (;;) {
    const message = await caller.next();
    if (message === undefined) throw new Error(`expected ${kind}, found the end`);
    if (message.t === kind) return message as Extract<LinkMessage, { t: K }>;
  }
}

/** A server that pulls from whoever calls. */
async function waiting(): Promise<LinkedServer> {
  const south = await LinkedServer.start();
  await south.replicate("POST", { queriesByCollection: ALL_CARS });
  return south;
}

test.runIf(isFullSize)(
  "[M36] eager contents arrive soon after their documents, also earlier ones, and stay while referenced",
  async () => {
    const [north, south] = await linkTwo();
    const large = randomBytes(700_000);
    const ids = [await put(north, large), await put(north, Buffer.from("small"), "2")];
    const none = await put(north, new Uint8Array(), "3");
    await arrived(south, "3");
    expect(await missing(south)).toBe(3);
    await south.replicate("PATCH", { attachments: "eager" });
    for (const id of [...ids, none]) await fetched(south, id);
    const later = await put(north, Buffer.from("later"), "4");
    await fetched(south, later);
    expect(readFileSync(await pathOf(south, ids[0] ?? "")).equals(large)).toBe(true);
    await noneMissing(south);
    const partner = await north.withApp(({ store }) => store.identity.historyId);
    await south.withApp(async ({ store, attachments }) => {
      const time = store.read((view) => view.head.time);
      expect(await attachments.removeOrphans(time, 100)).toBe(0);
      expect(store.read((view) => attachmentOf(view, later))).toEqual({
        len: 5,
        by: [`link:${partner}`],
        isOrphan: false,
      });
    });
  },
);

test.runIf(isFullSize)(
  "[M36] content that the other side did not have at first arrives when it has it",
  async () => {
    const [north, south] = await linkTwo({ attachments: "eager" });
    const content = Buffer.from("uploaded late");
    await north.refer(idOf(content), content.length);
    await arrived(south);
    expect(await missing(south)).toBe(1);
    await north.upload(content);
    await fetched(south, idOf(content));
    await noneMissing(south);
  },
);

test.runIf(isFullSize)(
  "[M36] on demand nothing arrives until a download asks for it: the whole, a part, or the headers",
  async () => {
    const [north, south] = await linkTwo();
    const key = await keyOf(south);
    const content = randomBytes(600_000);
    const id = await put(north, content);
    const head = await put(north, Buffer.from("0123456789"), "2");
    const part = await put(north, Buffer.from("abcdefghij"), "3");
    await arrived(south, "3");
    expect(await hasFile(south, id)).toBe(false);
    const whole = await download(south, key, id);
    expect({ status: whole.status, id: idOf(whole.bytes) }).toEqual({ status: 200, id });
    const { status, headers } = await download(south, key, head, { method: "HEAD" });
    expect([status, headers.get("content-length")]).toEqual([200, "10"]);
    const some = await download(south, key, part, { headers: { range: "bytes=2-4" } });
    expect([some.status, Buffer.from(some.bytes).toString()]).toEqual([206, "cde"]);
    for (const each of [id, head, part]) expect(await hasFile(south, each)).toBe(true);
    await noneMissing(south);
  },
);

test("[H37] for a caller that may not read a document with the content nothing is fetched", async () => {
  const [north, south] = await linkTwo();
  const read = { everything: false, queriesByCollection: { boats: ["true"] } };
  const key = await keyOf(south, { read, write: { everything: false } });
  const id = await put(north, Buffer.from("not for all"));
  await arrived(south);
  expect((await download(south, key, id)).status).toBe(404);
  expect(await hasContent(south, id)).toBe(false);
});

test("[M36] content that no side has is 404, and 503 while a side that may have it is away", async () => {
  const [north, south] = await linkTwo();
  const key = await keyOf(south);
  const id = idOf(Buffer.from("nowhere"));
  await north.refer(id, 7);
  await arrived(south);
  const none = await download(south, key, id);
  expect([none.status, JSON.parse(Buffer.from(none.bytes).toString())]).toEqual([
    404,
    {
      message:
        "the content of this attachment is not here, and no Big Peer that the app is linked with has it",
    },
  ]);
  expect(await missing(south)).toBe(1);
  await north.close();
  await south.until("waiting");
  const away = await download(south, key, id);
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
});

test.runIf(isFullSize)(
  "[M36] content crosses two links, and in a ring where no side has it no side waits",
  async () => {
    const [north, middle] = await linkTwo();
    const south = await LinkedServer.start();
    await middle.replicate("POST", { queriesByCollection: ALL_CARS }, "sites");
    await pull(south, middle, {});
    const key = await keyOf(south);
    const content = randomBytes(300_000);
    const id = await put(north, content);
    const nowhere = idOf(Buffer.from("nowhere"));
    await north.refer(nowhere, 7, ["cars", "2"]);
    await arrived(south, "2");
    const { status, bytes } = await download(south, key, id);
    expect([status, idOf(bytes)]).toEqual([200, id]);
    expect(await hasFile(middle, id)).toBe(true);
    // North pulls from south: now it is a ring.
    await south.replicate("POST", { queriesByCollection: ALL_CARS }, "open");
    await north.replicate(
      "POST",
      { connections: [south.address], queriesByCollection: ALL_CARS },
      "ring",
    );
    await north.until("linked", "ring");
    // Whoever had waited for himself would not have answered in time, which is 503.
    expect((await download(south, key, nowhere)).status).toBe(404);
  },
);

test("[S55] an interrupted fetch continues where it was, also after a restart, and leaves no extra file", async () => {
  const south = await waiting();
  const key = await keyOf(south);
  const content = randomBytes(300_000);
  const id = idOf(content);
  await south.refer(id, content.length);
  const first = await byHand(south);
  const lost = download(south, key, id);
  expect(await heard(first, "fetch")).toEqual({ t: "fetch", id, offset: 0 });
  const size = content.length;
  first.say({ t: "content", id, offset: 0, bytes: content.subarray(0, 262_144), size });
  expect(await heard(first, "fetch")).toEqual({ t: "fetch", id, offset: 262_144 });
  first.socket.close();
  expect((await lost).status).toBe(503);
  await south.restart();
  const second = await byHand(south);
  await heard(second, "subscribe");
  const found = download(south, key, id);
  expect(await heard(second, "fetch")).toEqual({ t: "fetch", id, offset: 262_144 });
  second.say({ t: "content", id, offset: 262_144, bytes: content.subarray(262_144), size });
  const { status, bytes } = await found;
  expect([status, idOf(bytes)]).toEqual([200, id]);
  const folder = dirname(dirname(await pathOf(south, id)));
  expect(readdirSync(join(folder, "incoming"))).toEqual([]);
});

test("[S55] wrong content is not kept, whatever it looks like, and the right content still arrives", async () => {
  const south = await waiting();
  const key = await keyOf(south);
  const content = Buffer.from("the right content");
  const id = idOf(content);
  await south.refer(id, content.length);
  const partner = await byHand(south);
  await heard(partner, "subscribe");
  const answer = async (give: (asked: FetchMessage) => void): Promise<number> => {
    const asked = download(south, key, id);
    give(await heard(partner, "fetch"));
    return (await asked).status;
  };
  const say = (bytes: Uint8Array, size: number): void =>
    partner.say({ t: "content", id, offset: 0, bytes, size });
  expect(await answer(() => say(Buffer.from("the wrong content"), 17))).toBe(404);
  // More than a content may have: not one byte of it is written.
  expect(await answer(() => say(content, Number.MAX_SAFE_INTEGER))).toBe(404);
  const folder = dirname(dirname(await pathOf(south, id)));
  expect(readdirSync(join(folder, "incoming"))).toEqual([]);
  expect(await hasContent(south, id)).toBe(false);
  expect(await answer(() => say(content, content.length))).toBe(200);
});

test("[S55] content that one partner corrupted is refused at its end, and arrives complete the next time", async () => {
  const south = await waiting();
  const key = await keyOf(south);
  const content = Buffer.from("0123456789");
  const id = idOf(content);
  await south.refer(id, 10);
  const folder = dirname(dirname(await pathOf(south, id)));
  const partner = await byHand(south);
  await heard(partner, "subscribe");
  const broken = download(south, key, id);
  await heard(partner, "fetch");
  partner.say({ t: "content", id, offset: 0, bytes: content.subarray(0, 4), size: 10 });
  await heard(partner, "fetch");
  writeFileSync(join(folder, "incoming", id), "9999");
  partner.say({ t: "content", id, offset: 4, bytes: content.subarray(4), size: 10 });
  expect((await broken).status).toBe(404);
  const asked = download(south, key, id);
  expect((await heard(partner, "fetch")).offset).toBe(0);
  partner.say({ t: "content", id, offset: 0, bytes: content, size: 10 });
  expect((await asked).status).toBe(200);
});

test("[S89] a link sends content only if a document of a collection that the other side follows refers to it", async () => {
  const north = await LinkedServer.start();
  await north.replicate("POST", {});
  const followed = await put(north, Buffer.from("followed"));
  const other = await north.upload(Buffer.from("of another collection"));
  await north.refer(other, 21, ["boats", "1"]);
  const orphan = await north.upload(Buffer.from("nobody refers to it"));
  const caller = await byHand(north);
  const ask = async (id: string, offset = 0): Promise<unknown> => {
    caller.say({ t: "fetch", id, offset });
    const { size, bytes } = await heard(caller, "content");
    return size === undefined ? undefined : Buffer.from(bytes).toString();
  };
  expect(await ask(followed)).toBeUndefined();
  caller.say({
    t: "subscribe",
    id: 1,
    query: "SELECT * FROM cars WHERE color == 'none'",
    args: {},
  });
  await heard(caller, "subscribed");
  expect(await ask(followed)).toBe("followed");
  expect(await ask(followed, 6)).toBe("ed");
  expect(await ask(followed, 8)).toBe("");
  expect(await ask(followed, 9)).toBeUndefined();
  for (const id of [other, orphan, "../../../etc/passwd", ""]) {
    expect(await ask(id)).toBeUndefined();
  }
});
