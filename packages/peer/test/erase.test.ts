/**
 * A peer that is erased: waiting writes keep it, and the next one starts empty.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { openPeer, type Peer } from "../src/index.ts";
import { idsOf, insert, whenStatus } from "./support/peer-status.ts";
import { startRealServer } from "./support/real-server.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

async function open(folder: string): Promise<Peer> {
  const peer = await openPeer({ appId: APP, url: "http://127.0.0.1:9", token: "bp_1", folder });
  onTestFinished(() => peer.close());
  return peer;
}

test("while writes wait, erase is refused and the peer stays as it is", async () => {
  const peer = await open(temporaryFolder());
  await insert(peer, "a");
  await expect(peer.erase()).rejects.toMatchObject({
    code: "store.pending",
    message: expect.stringContaining("found 1; sync until none waits"),
  });
  expect(peer.isClosed).toBe(false);
  await insert(peer, "b");
  expect(await idsOf(peer)).toEqual(["a", "b"]);
});

test("by force, the peer is closed, and the next one in the folder starts empty, as another peer", async () => {
  const folder = temporaryFolder();
  const peer = await open(folder);
  await insert(peer, "a");
  const { peerKeyString } = peer.presence.graph.localPeer;
  await peer.erase({ force: true });
  expect(peer.isClosed).toBe(true);
  await expect(peer.store.execute("SELECT * FROM tasks")).rejects.toMatchObject({
    code: "store.closed",
  });
  await expect(peer.erase()).rejects.toMatchObject({ code: "store.closed" });
  const next = await open(folder);
  expect(await idsOf(next)).toEqual([]);
  expect(next.sync.status.pendingCount).toBe(0);
  expect(next.presence.graph.localPeer.peerKeyString).not.toBe(peerKeyString);
});

test("only what is the peer's own is removed from its folder", async () => {
  const folder = temporaryFolder();
  const peer = await open(folder);
  writeFileSync(join(folder, "photo.jpg"), "mine");
  await peer.erase();
  expect(readdirSync(folder)).toEqual(["photo.jpg"]);
});

test("an erase that was interrupted is completed when the folder is opened", async () => {
  const folder = temporaryFolder();
  const peer = await open(folder);
  await insert(peer, "a");
  await peer.close();
  writeFileSync(join(folder, "erasing.json"), "{}");
  const next = await open(folder);
  expect(await idsOf(next)).toEqual([]);
});

test("when the server has all writes, erase needs no force, and the documents come again", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  await insert(peer, "a");
  peer.sync.start();
  await whenStatus(peer, ({ pendingCount }) => pendingCount === 0);
  await peer.erase();
  const next = await server.peer();
  const subscription = next.sync.registerSubscription("SELECT * FROM tasks");
  next.sync.start();
  await subscription.whenReady();
  expect(await idsOf(next)).toEqual(["a"]);
});

test("a write beside an erase is either refused or keeps the peer", async () => {
  for (let i = 0; i < 10; i++) {
    const peer = await openPeer({
      appId: APP,
      url: "http://127.0.0.1:9",
      token: "t",
      memory: true,
    });
    const writing = insert(peer, "a").then(
      () => "written",
      () => "refused",
    );
    for (let turn = 0; turn < i; turn++) await Promise.resolve();
    const erasing = peer.erase().then(
      () => "erased",
      () => "kept",
    );
    expect(["written kept", "refused erased"]).toContain(`${await writing} ${await erasing}`);
    await peer.close();
  }
});

test.each([
  ["null", null],
  ["a boolean", true],
  ["another name", { forced: true }],
  ["another type", { force: "yes" }],
])("options of erase that are %s are refused", async (_, options) => {
  const peer = await openPeer({ appId: APP, url: "http://127.0.0.1:9", token: "t", memory: true });
  onTestFinished(() => peer.close());
  await expect(peer.erase(options as never)).rejects.toMatchObject({ code: "config.invalid" });
});
