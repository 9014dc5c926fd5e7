/**
 * The attachments of a small peer: what waits for them, how transfers go on after a cut, and what is
 * kept on the device.
 */

import { type Operation, PeerError } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { TransferError } from "../../../src/peer/contents/content-transport.ts";
import { CONTENT_GRACE_MS } from "../../../src/peer/contents/peer-contents.ts";
import {
  type ContentRig,
  contentRig,
  openContents,
  pieces,
  referTo,
} from "../../support/content-rig.ts";
import { idOf } from "../../support/content-server.ts";
import { reopen, uploadAll, welcome, write } from "../../support/peer-pair.ts";

const plain = (id: string): Operation => ({
  kind: "insert",
  collection: "c",
  id,
  fields: { n: 1 },
});

function uploads({ pair }: ContentRig): Promise<readonly unknown[]> {
  return pair.peer.sequence(0, 10);
}

test("[S90] an upload waits for the content that it refers to, and all after it wait too", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("hello ", "world"));
  expect(token).toEqual({ id: idOf(Buffer.from("hello world")), len: 11 });
  await write(each.pair, plain("a"));
  await write(each.pair, referTo("b", token));
  await write(each.pair, plain("d"));
  expect(await uploads(each)).toHaveLength(1);
  each.contents.start();
  await vi.waitFor(() => expect(each.server.stored.has(token.id)).toBe(true));
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(2));
  await each.contents.close();
});

test("[S90] an upload goes on where it was cut, and sends no byte twice", async () => {
  const each = await contentRig();
  each.server.cutAfter = 3;
  const token = await each.contents.create(pieces("0123456789", "abcdefghij"));
  await write(each.pair, referTo("a", token));
  each.contents.start();
  await vi.waitFor(() => expect(each.server.stored.get(token.id)).toHaveLength(20));
  expect(each.server.sentBytes).toBe(20);
  await each.contents.close();
});

test("a content that the server has is not sent", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("known to the server");
  each.server.stored.set(idOf(bytes), bytes);
  const token = await each.contents.create(pieces("known to the server"));
  await write(each.pair, referTo("a", token));
  each.contents.start();
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(1));
  expect(each.server.sentBytes).toBe(0);
  await each.contents.close();
});

test("[S90] a content that no write refers to is not uploaded", async () => {
  const each = await contentRig();
  const draft = await each.contents.create(pieces("draft"));
  const used = await each.contents.create(pieces("used"));
  await write(each.pair, referTo("a", used));
  each.contents.start();
  await vi.waitFor(() => expect(each.server.stored.has(used.id)).toBe(true));
  expect(each.server.stored.has(draft.id)).toBe(false);
  await each.contents.close();
});

test("[S90] after a restart of the peer, uploads still wait for their contents", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("hello"));
  await write(each.pair, referTo("a", token));
  await each.contents.close();
  await reopen(each.pair, { isCrash: true });
  const again = openContents(each.pair, each.place);
  await welcome(each.pair);
  expect(await uploads(again)).toHaveLength(0);
  expect(again.contents.device.awaited(10)).toMatchObject([{ id: token.id, len: 5 }]);
});

test("[S38] a server with another history gets the content again before the document", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("hello"));
  await each.contents.device.setStored(token.id);
  await write(each.pair, referTo("a", token));
  expect(each.contents.device.awaited(10)).toEqual([]);
  await each.pair.peer.welcome({
    history: "another",
    app: "app",
    rights: new Uint8Array([1]),
    offsetMs: 0,
  });
  expect(await uploads(each)).toHaveLength(0);
  expect(each.contents.device.awaited(10)).toHaveLength(1);
});

test("[S30] [S38] the content of an answered write that a restored server lacks is uploaded again at once", async () => {
  const each = await contentRig();
  const { pair, server, contents } = each;
  const token = await contents.create(pieces("hello"));
  await write(pair, referTo("a", token));
  contents.start();
  await vi.waitFor(() => expect(server.stored.has(token.id)).toBe(true));
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(1));
  await uploadAll(pair);
  expect(pair.peer.pendingCount).toBe(0);
  server.stored.clear();
  const rights = new Uint8Array([1]);
  await pair.peer.welcome({ history: "restored", app: "app", rights, offsetMs: 0 });
  contents.connected("user");
  await pair.peer.reoffer(pair.peer.site, 0);
  await vi.waitFor(() => expect(server.stored.has(token.id)).toBe(true));
  await contents.close();
});

test("a content that the server refuses is reported, and its document does not wait for it", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("too large"));
  await write(each.pair, referTo("a", token));
  each.server.fault = new TransferError("refused", "413: too large", {
    code: "attachment.too_large",
  });
  each.contents.start();
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(1));
  expect(each.errors).toMatchObject([{ code: "attachment.too_large" }]);
  expect(each.contents.stats.failedCount).toBe(1);
  await each.contents.close();
});

test("[S90] while the store of the device is full, the document goes on waiting for its content", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("hello"));
  await write(each.pair, referTo("a", token));
  const full = new PeerError("store.full", "the disk is full");
  const setStored = vi.spyOn(each.contents.device, "setStored").mockRejectedValueOnce(full);
  each.contents.start();
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(1));
  expect(setStored).toHaveBeenCalledTimes(2);
  expect(each.contents.device.record(token.id)?.refusal).toBe(undefined);
  expect(each.errors).toEqual([]);
  await each.contents.close();
});

test("a content that is gone from the device is reported, and its document does not wait for it", async () => {
  const each = await contentRig();
  const token = await each.contents.create(pieces("deleted by hand"));
  await write(each.pair, referTo("a", token));
  await each.place.remove(token.id);
  each.contents.start();
  await vi.waitFor(async () => expect(await uploads(each)).toHaveLength(1));
  expect(each.errors).toMatchObject([{ code: "store.corrupt" }]);
  await each.contents.close();
});

test("a fetch goes on where it was cut, and sends no byte twice", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("0123456789abcdefghij");
  each.server.stored.set(idOf(bytes), bytes);
  each.server.cutAfter = 3;
  each.contents.start();
  const seen: number[] = [];
  const wanted = { id: idOf(bytes), len: 20 };
  await each.contents.fetch(wanted, (received) => seen.push(received)).arrived;
  expect(each.server.receivedBytes).toBe(20);
  expect(seen.at(-1)).toBe(20);
  expect(seen.every((received, i) => i === 0 || received > (seen[i - 1] ?? 0))).toBe(true);
  await each.contents.close();
});

test("a fetch waits for a content that is not on the server yet", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("later");
  each.contents.start();
  const { arrived } = each.contents.fetch({ id: idOf(bytes), len: 5 }, () => {});
  await vi.waitFor(() => expect(each.server.absentCount).toBeGreaterThan(1));
  each.server.stored.set(idOf(bytes), bytes);
  await arrived;
  expect(each.contents.device.record(idOf(bytes))?.len).toBe(5);
  await each.contents.close();
});

test("a cancelled fetch ends, and the next one continues it", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("0123456789");
  const wanted = { id: idOf(bytes), len: 10 };
  each.server.stored.set(wanted.id, bytes);
  each.server.pieceSize = 1;
  each.contents.start();
  const first = each.contents.fetch(wanted, (received) => {
    if (received === 4) first.cancel();
  });
  await vi.waitFor(() => expect(each.server.receivedBytes).toBeGreaterThanOrEqual(4));
  await vi.waitFor(() => expect(each.contents.stats.downloadsWaiting).toBe(0));
  await each.contents.fetch(wanted, () => {}).arrived;
  expect(each.server.receivedBytes).toBeLessThanOrEqual(11);
  await each.contents.close();
});

test("bytes that are not the content are not kept, and end the fetch after a few attempts", async () => {
  const each = await contentRig();
  const wanted = { id: idOf(Buffer.from("right")), len: 5 };
  each.server.forged.set(wanted.id, Buffer.from("wrong"));
  each.contents.start();
  await expect(each.contents.fetch(wanted, () => {}).arrived).rejects.toMatchObject({
    code: "attachment.invalid",
  });
  expect(await each.place.has(wanted.id)).toBe(false);
  each.server.forged.set(wanted.id, Buffer.from("right and more"));
  await expect(each.contents.fetch(wanted, () => {}).arrived).rejects.toMatchObject({
    code: "attachment.invalid",
  });
  expect(each.contents.stats.failedCount).toBe(2);
  // Nothing of it spoils the next download.
  each.server.forged.clear();
  each.server.stored.set(wanted.id, Buffer.from("right"));
  await each.contents.fetch(wanted, () => {}).arrived;
  await each.contents.close();
});

test("contents that the server has make room for others; own ones that it lacks do not", async () => {
  const each = await contentRig({ bytesMax: 10 });
  const [old, own] = [Buffer.from("fetched"), "own"];
  each.server.stored.set(idOf(old), old);
  each.contents.start();
  await each.contents.fetch({ id: idOf(old), len: 7 }, () => {}).arrived;
  await each.contents.create(pieces(own));
  expect(each.contents.stats.storedBytes).toBe(10);
  const next = await each.contents.create(pieces("12345"));
  expect(each.contents.stats.storedBytes).toBe(8);
  expect(await each.place.has(idOf(old))).toBe(false);
  await expect(each.contents.create(pieces("does not fit"))).rejects.toMatchObject({
    code: "store.full",
  });
  expect(await each.place.has(next.id)).toBe(true);
  await each.contents.close();
});

test("[K95] content that no document has referred to for a day is removed, with files without a record", async () => {
  const each = await contentRig();
  const draft = await each.contents.create(pieces("draft"));
  const used = await each.contents.create(pieces("used"));
  const stray = await each.place.create(pieces("stray"));
  await write(each.pair, referTo("a", used));
  await each.contents.maintain();
  expect(await each.place.has(draft.id)).toBe(true);
  expect(await each.place.has(stray.id)).toBe(false);
  each.pair.platform.nowMs += CONTENT_GRACE_MS + 1;
  await each.contents.maintain();
  expect(await each.place.has(draft.id)).toBe(false);
  expect(await each.place.has(used.id)).toBe(true);
  expect(each.contents.stats.storedBytes).toBe(4);
  await each.contents.close();
});

test("[P17] a fetched content that no document here refers to is asked for again", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("secret");
  const wanted = { id: idOf(bytes), len: 6 };
  each.server.stored.set(wanted.id, bytes);
  each.contents.start();
  await each.contents.fetch(wanted, () => {}).arrived;
  each.server.stored.delete(wanted.id);
  let hasArrived = false;
  const again = each.contents.fetch(wanted, () => {});
  void again.arrived.then(() => {
    hasArrived = true;
  });
  await vi.waitFor(() => expect(each.server.absentCount).toBeGreaterThan(1));
  expect(hasArrived).toBe(false);
  again.cancel();
  await each.contents.close();
});
