/**
 * What a device knows about contents that its server had: the server removes those that no document
 * refers to, and it asks who uploaded them.
 */

import { expect, test, vi } from "vitest";
import { CONFIRMED_MS } from "../../../src/peer/contents/device-contents.ts";
import {
  type ContentRig,
  contentRig,
  openContents,
  pieces,
  referTo,
} from "../../support/content-rig.ts";
import { reopen, uploadAll, welcome, write } from "../../support/peer-pair.ts";

type Token = { readonly id: string; readonly len: number };

/** A content that went up, and whose document was not sent yet. */
async function uploadedAhead(each: ContentRig): Promise<Token> {
  const token = await each.contents.create(pieces("hello"));
  await write(each.pair, referTo("a", token));
  each.contents.start();
  await vi.waitFor(() => expect(each.server.stored.has(token.id)).toBe(true));
  await each.contents.stop();
  return token;
}

async function sendable({ pair }: ContentRig): Promise<number> {
  return (await pair.peer.sequence(0, 10)).length + pair.peer.sequenced().length;
}

test("[S90] [H40] a content that the server may have removed meanwhile is uploaded again before its document", async () => {
  const each = await contentRig();
  const token = await uploadedAhead(each);
  each.pair.platform.nowMs += CONFIRMED_MS;
  each.server.stored.delete(token.id);
  expect(await sendable(each)).toBe(0);
  each.contents.start();
  await vi.waitFor(() => expect(each.server.stored.has(token.id)).toBe(true));
  await vi.waitFor(async () => expect(await sendable(each)).toBeGreaterThan(0));
  await each.contents.close();
});

test("[S90] the server is asked once about a content that it still has, and gets no byte of it again", async () => {
  const each = await contentRig();
  await uploadedAhead(each);
  each.contents.start();
  each.pair.platform.nowMs += CONFIRMED_MS;
  await vi.waitFor(async () => expect(await sendable(each)).toBeGreaterThan(0));
  expect([each.server.beginCount, each.server.sentBytes]).toEqual([2, 5]);
  await each.contents.close();
});

test("[S90] the server is not asked again about a content that it has just confirmed", async () => {
  const each = await contentRig();
  each.contents.connected("ann");
  await uploadedAhead(each);
  each.pair.platform.nowMs += CONFIRMED_MS - 1;
  each.contents.connected("ann");
  each.contents.start();
  expect(await sendable(each)).toBeGreaterThan(0);
  expect(each.server.beginCount).toBe(1);
  await each.contents.close();
});

test("[S90] [P17] another credential asks again: it may not refer to what another one uploaded", async () => {
  const each = await contentRig();
  each.contents.connected("ann");
  await uploadedAhead(each);
  each.contents.connected("bob");
  expect(await sendable(each)).toBe(0);
  each.contents.start();
  await vi.waitFor(async () => expect(await sendable(each)).toBeGreaterThan(0));
  expect(each.server.beginCount).toBe(2);
  await each.contents.close();
});

test("[S90] an upload that was sent and has no outcome waits as well, after a restart of the peer", async () => {
  const each = await contentRig();
  const token = await uploadedAhead(each);
  expect(await each.pair.peer.sequence(0, 10)).toHaveLength(1);
  await each.contents.close();
  await reopen(each.pair);
  const again = openContents(each.pair, each.place);
  await welcome(each.pair);
  expect(again.pair.peer.sequenced()).toEqual([]);
  again.contents.start();
  await vi.waitFor(() => expect(again.server.stored.has(token.id)).toBe(true));
  await vi.waitFor(() => expect(again.pair.peer.sequenced()).toHaveLength(1));
  await again.contents.close();
});

test("[S90] a new document may refer to an old content, which the server has removed", async () => {
  const each = await contentRig();
  const token = await uploadedAhead(each);
  await each.pair.peer.sequence(0, 10);
  await uploadAll(each.pair);
  expect(each.pair.peer.pendingCount).toBe(0);
  each.pair.platform.nowMs += CONFIRMED_MS;
  each.server.stored.delete(token.id);
  await write(each.pair, referTo("b", token));
  expect(await sendable(each)).toBe(0);
  each.contents.start();
  await vi.waitFor(async () => expect(await sendable(each)).toBeGreaterThan(0));
  expect(each.server.stored.has(token.id)).toBe(true);
  await each.contents.close();
});

test("[S90] a content that a waiting write refers to makes no room for others", async () => {
  const each = await contentRig({ bytesMax: 8 });
  const token = await uploadedAhead(each);
  await expect(each.contents.create(pieces("1234"))).rejects.toMatchObject({ code: "store.full" });
  expect(await each.place.has(token.id)).toBe(true);
  await each.pair.peer.sequence(0, 10);
  await uploadAll(each.pair);
  await each.contents.create(pieces("1234"));
  expect(await each.place.has(token.id)).toBe(false);
  await each.contents.close();
});
