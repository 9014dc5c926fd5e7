/**
 * Downloads of contents: callers do not disturb each other, and what no one wants any longer ends.
 */

import { expect, test, vi } from "vitest";
import { contentRig, pieces, referTo } from "../../support/content-rig.ts";
import { idOf } from "../../support/content-server.ts";
import { ALL, send, serverWrite } from "../../support/peer-pair.ts";

test("callers that fetch the same content at the same time share one download", async () => {
  const each = await contentRig();
  const bytes = Buffer.from("0123456789");
  const wanted = { id: idOf(bytes), len: 10 };
  each.server.stored.set(wanted.id, bytes);
  const seen: number[] = [];
  const first = each.contents.fetch(wanted, (received) => seen.push(received));
  const second = each.contents.fetch(wanted, () => {});
  const third = each.contents.fetch(wanted, () => {});
  third.cancel();
  each.contents.start();
  await Promise.all([first.arrived, second.arrived]);
  expect(each.server.receivedBytes).toBe(10);
  expect(seen.at(-1)).toBe(10);
  await each.contents.close();
});

test.each([4, 6])(
  "a token that says %i bytes of a content of 5 fails, and does not disturb the right one",
  async (len) => {
    const each = await contentRig();
    const bytes = Buffer.from("right");
    const id = idOf(bytes);
    each.server.stored.set(id, bytes);
    const wrong = each.contents.fetch({ id, len }, () => {});
    const right = each.contents.fetch({ id, len: 5 }, () => {});
    each.contents.start();
    await expect(wrong.arrived).rejects.toMatchObject({ code: "attachment.invalid" });
    await right.arrived;
    expect(await each.place.has(id)).toBe(true);
    await each.contents.close();
  },
);

test("a content that is created on the device meanwhile has arrived", async () => {
  const each = await contentRig();
  const { arrived } = each.contents.fetch({ id: idOf(Buffer.from("same")), len: 4 }, () => {});
  await each.contents.create(pieces("sa", "me"));
  await arrived;
  expect(each.contents.stats.downloadsWaiting).toBe(0);
});

test("a content that is prefetched fails once without a caller: it is reported", async () => {
  const each = await contentRig();
  const known = each.pair.peer.subscription(ALL);
  each.contents.prefetch(known);
  each.contents.start();
  const id = idOf(Buffer.from("right"));
  each.server.forged.set(id, Buffer.from("wrong"));
  await serverWrite(each.pair, referTo("a", { id, len: 5 }));
  await send(each.pair, known.key, "a");
  await vi.waitFor(() => expect(each.errors).toMatchObject([{ code: "attachment.invalid" }]));
  expect(each.contents.stats.failedCount).toBe(1);
  await each.contents.close();
});

test("when a subscription with prefetch ends, its downloads do, but not those of callers", async () => {
  const each = await contentRig();
  const known = each.pair.peer.subscription(ALL);
  const end = each.contents.prefetch(known);
  const [one, two] = [idOf(Buffer.from("one")), idOf(Buffer.from("two"))];
  await serverWrite(
    each.pair,
    referTo("a", { id: one, len: 3 }),
    referTo("b", { id: two, len: 3 }),
  );
  await send(each.pair, known.key, "a", "b");
  const fetching = each.contents.fetch({ id: two, len: 3 }, () => {});
  expect(each.contents.stats.downloadsWaiting).toBe(2);
  end();
  expect(each.contents.stats.downloadsWaiting).toBe(1);
  each.server.stored.set(one, Buffer.from("one"));
  each.server.stored.set(two, Buffer.from("two"));
  each.contents.start();
  await fetching.arrived;
  expect(await each.place.has(one)).toBe(false);
  await each.contents.close();
});

test("a content that is prefetched for a document that is gone is not asked for again", async () => {
  const each = await contentRig();
  const known = each.pair.peer.subscription(ALL);
  each.contents.prefetch(known);
  await serverWrite(each.pair, referTo("a", { id: idOf(Buffer.from("gone")), len: 4 }));
  await send(each.pair, known.key, "a");
  await serverWrite(each.pair, { kind: "delete", collection: "c", id: "a" });
  await send(each.pair, known.key, "a");
  expect(each.contents.stats.downloadsWaiting).toBe(1);
  each.contents.start();
  await vi.waitFor(() => expect(each.contents.stats.downloadsWaiting).toBe(0));
  expect(each.server.absentCount).toBe(1);
  expect(each.errors).toEqual([]);
  await each.contents.close();
});
