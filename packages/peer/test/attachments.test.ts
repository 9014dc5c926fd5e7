/**
 * Attachments between peers and a real server: contents go up before their documents, come down when
 * they are asked for or in advance, and go on after a cut.
 */

import { randomBytes } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { readPermissions } from "@bigpeer/engine/query";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { SERVER } from "../../server/src/registry/audit-log.ts";
import type { AttachmentToken, Peer } from "../src/index.ts";
import { nodeHost } from "../src/node/node-host.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";

const INSERT = "INSERT INTO COLLECTION photos (image ATTACHMENT) DOCUMENTS (:photo)";
const ALL = "SELECT * FROM COLLECTION photos (image ATTACHMENT)";

async function addPhoto(peer: Peer, id: string, image: AttachmentToken, owner = "ann") {
  await peer.store.execute(INSERT, { photo: { _id: id, owner, image } });
}

async function imageOf(peer: Peer, id: string): Promise<AttachmentToken> {
  return vi.waitFor(async () => {
    const { items } = await peer.store.execute(`${ALL} WHERE _id = :id`, { id });
    const image = items[0]?.["image"];
    if (image === undefined) throw new Error(`expected the photo ${id}`);
    return image as unknown as AttachmentToken;
  });
}

async function following(server: RealServer, options = {}): Promise<Peer> {
  const peer = await server.peer(options);
  peer.sync.registerSubscription("SELECT * FROM photos");
  peer.sync.start();
  return peer;
}

async function uploaded(peer: Peer): Promise<void> {
  await vi.waitFor(() => expect(peer.sync.status.pendingCount).toBe(0), { timeout: 30_000 });
}

test("a content that was created offline goes up with its document, and another peer fetches it", async () => {
  const server = await startRealServer();
  const bytes = randomBytes(3_000_000);
  const one = await server.peer({ folder: temporaryFolder() });
  const token = await one.attachments.create(bytes, { name: "photo.jpg" });
  expect(token).toEqual({
    id: expect.any(String),
    len: 3_000_000,
    metadata: { name: "photo.jpg" },
  });
  await addPhoto(one, "p1", token);
  const own = await one.attachments.fetch(await imageOf(one, "p1"));
  expect(Buffer.compare(await own.bytes(), bytes)).toBe(0);
  one.sync.start();
  const two = await following(server, { folder: temporaryFolder() });
  const image = await imageOf(two, "p1");
  const progress: number[] = [];
  const fetched = await two.attachments.fetch(image, {
    onProgress: ({ received, total }) => progress.push(received / total),
  });
  expect([fetched.size, fetched.metadata]).toEqual([3_000_000, { name: "photo.jpg" }]);
  expect(Buffer.compare(await fetched.bytes(), bytes)).toBe(0);
  const chunks: Uint8Array[] = [];
  for await (const chunk of fetched.stream()) chunks.push(chunk);
  expect(Buffer.compare(Buffer.concat(chunks), bytes)).toBe(0);
  expect(progress.at(-1)).toBe(1);
});

test("a content may be bytes, a Blob, a stream of the web or of Node, or a path", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const folder = temporaryFolder();
  const text = "the same content";
  const path = join(folder, "content.txt");
  writeFileSync(path, text);
  const bytes = new TextEncoder().encode(text);
  const contents = [
    bytes,
    bytes.buffer,
    new Blob([bytes]),
    new Blob([bytes]).stream(),
    createReadStream(path),
    path,
  ];
  const ids = new Set<string>();
  for (const content of contents) ids.add((await peer.attachments.create(content)).id);
  expect(ids.size).toBe(1);
});

test("what is no content, no token or no metadata is refused", async () => {
  const server = await startRealServer();
  const { attachments } = await server.peer();
  const create = attachments.create.bind(attachments) as (...args: unknown[]) => Promise<unknown>;
  const fetch = attachments.fetch.bind(attachments) as (...args: unknown[]) => Promise<unknown>;
  const locked = new Blob(["a"]).stream();
  locked.getReader();
  for (const content of [7, undefined, [1, 2], new Uint16Array(2), locked, temporaryFolder()]) {
    await expect(create(content)).rejects.toMatchObject({ code: "config.invalid" });
  }
  await expect(create("/no/such/file")).rejects.toMatchObject({ code: "config.invalid" });
  await expect(create(new Blob([]), { size: 7 })).rejects.toMatchObject({ code: "config.invalid" });
  const id = "x".repeat(43);
  for (const token of [
    null,
    id,
    { id: "x", len: 1 },
    { id: `../${id.slice(3)}`, len: 1 },
    { id, len: -1 },
    { id, len: 0.5 },
    { id, len: 1, metadata: { size: 1 } },
  ]) {
    await expect(fetch(token)).rejects.toMatchObject({ code: "attachment.invalid" });
  }
  for (const options of [{ signal: 7 }, { onProgress: "text" }]) {
    await expect(fetch({ id, len: 1 }, options)).rejects.toMatchObject({ code: "config.invalid" });
  }
});

test("of a content that fails in the middle, nothing remains", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  const peer = await server.peer({ folder });
  const failure = new Error("the camera is gone");
  const broken = async function* (): AsyncIterable<Uint8Array> {
    yield randomBytes(300_000);
    throw failure;
  };
  await expect(peer.attachments.create(broken())).rejects.toBe(failure);
  const erroring = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(failure),
  });
  await expect(peer.attachments.create(erroring)).rejects.toBe(failure);
  await expect(peer.attachments.create(Readable.from(broken()))).rejects.toBe(failure);
  expect(readdirSync(join(folder, "attachments", "partial"))).toEqual([]);
  expect(await attachmentsOf(peer)).toMatchObject({ stored_bytes: 0, uploads_waiting: 0 });
});

test("a callback that throws ends its fetch, and no other one", async () => {
  const server = await startRealServer();
  const one = await following(server);
  const token = await one.attachments.create(randomBytes(300_000));
  await addPhoto(one, "p1", token);
  await uploaded(one);
  const two = await server.peer();
  const failure = new Error("the view is gone");
  const onProgress = (): void => {
    throw failure;
  };
  const failing = two.attachments.fetch(token, { onProgress });
  const other = two.attachments.fetch(token);
  two.sync.start();
  await expect(failing).rejects.toBe(failure);
  expect((await other).size).toBe(300_000);
});

test("two peers create and upload the same content at the same time", async () => {
  const server = await startRealServer();
  const bytes = randomBytes(2_000_000);
  const peers = [await following(server), await following(server)];
  await Promise.all(
    peers.map(async (peer, i) => {
      await addPhoto(peer, `p${i}`, await peer.attachments.create(bytes));
      await uploaded(peer);
    }),
  );
  const third = await following(server);
  for (const id of ["p0", "p1"]) {
    const content = await third.attachments.fetch(await imageOf(third, id));
    expect(Buffer.compare(await content.bytes(), bytes)).toBe(0);
  }
});

test("[H54] a credential that may not write has its content and its document refused", async () => {
  const server = await startRealServer();
  const permissions = readPermissions({ read: { everything: true } });
  const { appId } = server.content;
  const { keys } = server.running.registry;
  const token = await keys.create(appId, { name: "reader", permissions }, SERVER);
  const peer = await server.peer({ token });
  const [refusals, errors]: [unknown[], unknown[]] = [[], []];
  peer.on("refused", (refusal) => refusals.push(refusal));
  peer.on("error", (error) => errors.push(error));
  await addPhoto(peer, "p1", await peer.attachments.create(new TextEncoder().encode("hello")));
  peer.sync.start();
  await vi.waitFor(() => expect(refusals).toHaveLength(1), { timeout: 30_000 });
  expect(errors).toMatchObject([{ code: "permission.denied" }]);
  expect(peer.sync.status.pendingCount).toBe(0);
});

test("the attachments of system:data_sync_info say what waits", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const token = await peer.attachments.create(new TextEncoder().encode("hello"));
  await addPhoto(peer, "p1", token);
  const stop = new AbortController();
  const absent = peer.attachments.fetch({ id: "x".repeat(43), len: 3 }, { signal: stop.signal });
  const waiting = { uploads_waiting: 1, downloads_waiting: 1, sent_bytes: 0, stored_bytes: 5 };
  expect(await attachmentsOf(peer)).toMatchObject(waiting);
  stop.abort(new Error("given up"));
  await expect(absent).rejects.toThrow("given up");
  peer.sync.start();
  await uploaded(peer);
  expect(await attachmentsOf(peer)).toEqual({
    uploads_waiting: 0,
    downloads_waiting: 0,
    failed: 0,
    sent_bytes: 5,
    received_bytes: 0,
    stored_bytes: 5,
    upload_error: null,
  });
});

async function attachmentsOf(peer: Peer): Promise<unknown> {
  const { items } = await peer.store.execute("SELECT * FROM system:data_sync_info");
  return items[0]?.["attachments"];
}

test.runIf(isFullSize)(
  "a fetch waits for the connection, and ends with the reason of its signal",
  async () => {
    const server = await startRealServer();
    const one = await server.peer();
    const token = await one.attachments.create(new TextEncoder().encode("hello"));
    const two = await server.peer();
    const reason = new Error("the user went on");
    const controller = new AbortController();
    const given = two.attachments.fetch(token, { signal: controller.signal });
    const waiting = two.attachments.fetch(token);
    controller.abort(reason);
    await expect(given).rejects.toBe(reason);
    two.sync.start();
    await addPhoto(one, "p1", token);
    one.sync.start();
    expect((await waiting).size).toBe(5);
  },
);

test("a subscription with prefetch brings the contents along", async () => {
  const server = await startRealServer();
  const one = await following(server);
  const first = await one.attachments.create(new TextEncoder().encode("first"));
  await addPhoto(one, "p1", first);
  await uploaded(one);
  const two = await server.peer();
  two.sync.registerSubscription("SELECT * FROM photos", {}, { prefetch: true });
  two.sync.start();
  const image = await imageOf(two, "p1");
  const second = await one.attachments.create(new TextEncoder().encode("second"));
  await addPhoto(one, "p2", second);
  const later = await imageOf(two, "p2");
  await vi.waitFor(async () => {
    for (const token of [image, later]) expect(await isOnDevice(two, token)).toBe(true);
  });
});

test("a subscription whose options are refused is none", async () => {
  const server = await startRealServer();
  const one = await server.peer();
  one.sync.start();
  await one.store.execute("INSERT INTO photos DOCUMENTS ({'_id': 'p1'})");
  await uploaded(one);
  const two = await server.peer();
  const options = { prefetch: "yes" as never };
  expect(() => two.sync.registerSubscription("SELECT * FROM photos", {}, options)).toThrow(
    "expected true or false as prefetch, found string",
  );
  two.sync.start();
  await two.sync.registerSubscription("SELECT * FROM others").whenReady();
  expect((await two.store.execute("SELECT * FROM photos")).items).toEqual([]);
});

async function isOnDevice(peer: Peer, token: AttachmentToken): Promise<boolean> {
  await peer.sync.stop();
  try {
    await peer.attachments.fetch(token, { signal: AbortSignal.timeout(100) });
    return true;
  } catch {
    return false;
  } finally {
    peer.sync.start();
  }
}

test("[P17] a peer with restricted rights uploads a content and then its document; others cannot fetch it", async () => {
  const server = await startRealServer();
  const { keys } = server.running.registry;
  const keyOf = (name: string) =>
    keys.create(
      server.content.appId,
      {
        name,
        permissions: readPermissions({
          read: { queriesByCollection: { photos: [`owner == '${name}'`] } },
          write: { queriesByCollection: { photos: [`owner == '${name}'`] } },
        }),
      },
      SERVER,
    );
  const ann = await following(server, { token: await keyOf("ann") });
  const bob = await following(server, { token: await keyOf("bob") });
  const refusals: unknown[] = [];
  for (const peer of [ann, bob]) peer.on("refused", (refusal) => refusals.push(refusal));
  const secret = await ann.attachments.create(new TextEncoder().encode("of ann"));
  await addPhoto(ann, "p1", secret, "ann");
  await uploaded(ann);
  expect(refusals).toEqual([]);
  // Who knows the id alone neither reads the content nor puts its token into a document.
  const signal = AbortSignal.timeout(300);
  await expect(bob.attachments.fetch(secret, { signal })).rejects.toThrow("timeout");
  await addPhoto(bob, "p2", secret, "bob");
  await vi.waitFor(() => expect(refusals).toHaveLength(1));
  // Who has the content does both, and need not send it again.
  const same = await bob.attachments.create(new TextEncoder().encode("of ann"));
  await addPhoto(bob, "p3", same, "bob");
  await uploaded(bob);
  expect(refusals).toHaveLength(1);
});

test.runIf(isFullSize)("transfers go on after each cut of the connection", async () => {
  const server = await startRealServer();
  const proxy = await CuttingProxy.open(Number(new URL(server.running.url).port));
  onTestFinished(() => proxy.close());
  // Not for ever: a busy machine may need longer for a connection than there is between two cuts.
  let cuts = 0;
  const timer = setInterval(() => {
    if (proxy.connectionCount === 0) return;
    proxy.cutAll();
    if (++cuts === 20) clearInterval(timer);
  }, 50);
  onTestFinished(() => clearInterval(timer));
  const bytes = randomBytes(20_000_000);
  const one = await server.peer({ url: proxy.url, folder: temporaryFolder() });
  await addPhoto(one, "p1", await one.attachments.create(bytes));
  one.sync.start();
  const two = await following(server, { url: proxy.url, folder: temporaryFolder() });
  const image = await imageOf(two, "p1");
  const fetched = await two.attachments.fetch(image);
  expect(Buffer.compare(await fetched.bytes(), bytes)).toBe(0);
  expect(cuts).toBe(20);
});

test("erasing a peer removes its contents", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  const peer = await server.peer({ folder });
  await peer.attachments.create(new TextEncoder().encode("hello"));
  expect(existsSync(join(folder, "attachments"))).toBe(true);
  await peer.erase();
  expect(existsSync(join(folder, "attachments"))).toBe(false);
});

test("beyond its bound a peer stores no content", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ attachmentBytesMax: 1000 });
  await peer.attachments.create(randomBytes(600));
  await expect(peer.attachments.create(randomBytes(600))).rejects.toMatchObject({
    code: "store.full",
  });
});

test("a server without space for attachments is an error of the peer, once, and shown while it lasts", async () => {
  const server = await startRealServer({ attachmentSpaceMax: 100 });
  const peer = await server.peer();
  const errors: unknown[] = [];
  peer.on("error", (error) => errors.push(error));
  await addPhoto(peer, "p1", await peer.attachments.create(randomBytes(200)));
  peer.sync.start();
  await vi.waitFor(() => expect(errors).toMatchObject([{ code: "store.full" }]));
  expect(await attachmentsOf(peer)).toMatchObject({
    uploads_waiting: 1,
    failed: 1,
    upload_error: expect.stringMatching(/^503: .*\(store\.full\)$/) as unknown,
  });
  expect(peer.sync.status.pendingCount).toBe(1);
});

test("contents that nothing refers to are removed soon after the peer is opened", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  const stray = join(folder, "attachments", "xx", "x".repeat(43));
  const runs: (() => void)[] = [];
  const after = vi.spyOn(nodeHost, "after").mockImplementation((ms, work) => {
    if (ms <= 60_000) runs.push(work);
    return () => {};
  });
  onTestFinished(() => after.mockRestore());
  await server.peer({ folder });
  mkdirSync(dirname(stray), { recursive: true });
  writeFileSync(stray, "of a crash");
  for (const run of runs) run();
  await vi.waitFor(() => expect(existsSync(stray)).toBe(false));
});
