/**
 * The space of contents on a device: whatever arrives at the same time or was given up, all of it
 * stays within the bound.
 */

import { expect, test, vi } from "vitest";
import { CONTENT_GRACE_MS, type PeerContents } from "../../../src/peer/contents/peer-contents.ts";
import { type ContentRig, contentRig, pieces, referTo, textOf } from "../../support/content-rig.ts";
import { idOf } from "../../support/content-server.ts";
import { ALL, send, serverWrite, write } from "../../support/peer-pair.ts";

/** Bytes on the device, of downloads too that are not complete. */
async function bytesOn({ place, contents }: ContentRig): Promise<number> {
  const partials = await place.partials();
  return partials.reduce((sum, { size }) => sum + size, contents.stats.storedBytes);
}

function storedOn({ server }: ContentRig, text: string): { id: string; len: number } {
  const bytes = Buffer.from(text);
  server.stored.set(idOf(bytes), bytes);
  return { id: idOf(bytes), len: bytes.length };
}

function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "done",
    (error: unknown) => (error as { readonly code: unknown }).code,
  );
}

/** A stream whose pieces come when the test says so. */
function heldPieces(texts: readonly string[]): {
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly go: () => void;
} {
  let go: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const later = async function* (): AsyncIterable<Uint8Array> {
    for (const [i, text] of texts.entries()) {
      if (i === 1) await held;
      yield Buffer.from(text);
    }
  };
  return { pieces: later(), go: () => go?.() };
}

async function giveUpAfter(
  contents: PeerContents,
  content: { readonly id: string; readonly len: number },
  bytes: number,
): Promise<void> {
  const fetching = contents.fetch(content, (received) => {
    if (received >= bytes) fetching.cancel();
  });
  await vi.waitFor(() => expect(contents.stats.downloadsWaiting).toBe(0));
}

test("two contents that are created at the same time do not take the same space", async () => {
  const each = await contentRig({ bytesMax: 10 });
  const [one, two] = [heldPieces(["123", "456"]), heldPieces(["abc", "def"])];
  const outcomes = [outcomeOf(each.contents.create(one.pieces))];
  outcomes.push(outcomeOf(each.contents.create(two.pieces)));
  one.go();
  two.go();
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["done", "store.full"]));
  expect(each.contents.stats.storedBytes).toBe(6);
  // What the refused one had taken is free again.
  await each.contents.create(pieces("1234"));
});

test("two contents that are fetched at the same time do not take the same space", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const wanted = [storedOn(each, "123456"), storedOn(each, "abcdef")];
  const outcomes = await Promise.all(
    wanted.map((content) => outcomeOf(each.contents.fetch(content, () => {}).arrived)),
  );
  expect(outcomes).toContain("done");
  expect(await bytesOn(each)).toBeLessThanOrEqual(10);
  await each.contents.close();
});

test("downloads that were given up count, and make room for others", async () => {
  const each = await contentRig({ bytesMax: 20 });
  each.server.pieceSize = 1;
  each.contents.start();
  for (const text of ["0123456789abcde", "ABCDEFGHIJKLMNO", "zyxwvutsrqponml"]) {
    await giveUpAfter(each.contents, storedOn(each, text), 10);
    expect(await bytesOn(each)).toBeLessThanOrEqual(20);
  }
  await each.contents.create(pieces("own content of 20 b."));
  expect(await bytesOn(each)).toBe(20);
  await each.contents.close();
});

test("downloads that were cut and then given up count, and make room for others", async () => {
  const each = await contentRig({ bytesMax: 20 });
  each.server.cutAfter = 10;
  each.contents.start();
  for (const text of ["0123456789abcde", "ABCDEFGHIJKLMNO", "zyxwvutsrqponml"]) {
    const content = storedOn(each, text);
    const fetching = each.contents.fetch(content, (received) => {
      if (received === 10) each.server.stored.delete(content.id);
    });
    const { absentCount } = each.server;
    await vi.waitFor(() => expect(each.server.absentCount).toBeGreaterThan(absentCount));
    fetching.cancel();
    expect(await bytesOn(each)).toBeLessThanOrEqual(20);
  }
  await each.contents.create(pieces("own content of 20 b."));
  expect(await bytesOn(each)).toBe(20);
  await each.contents.close();
});

test("of a download that was given up, what came is part of the space of the next attempt", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.server.pieceSize = 1;
  const content = storedOn(each, "0123456789");
  each.contents.start();
  await giveUpAfter(each.contents, content, 6);
  await each.contents.fetch(content, () => {}).arrived;
  expect(each.server.receivedBytes).toBeLessThanOrEqual(11);
  await each.contents.close();
});

test("a content that does not fit removes nothing", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const fetched = storedOn(each, "12345");
  await each.contents.fetch(fetched, () => {}).arrived;
  await each.contents.create(pieces("own"));
  expect(await outcomeOf(each.contents.create(pieces("8 bytes.")))).toBe("store.full");
  expect(await each.place.has(fetched.id)).toBe(true);
  await each.contents.close();
});

test("what is prefetched takes no space from contents of documents; that it is full is reported once", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const used = storedOn(each, "12345678");
  await write(each.pair, referTo("a", used));
  await each.contents.fetch(used, () => {}).arrived;
  const known = each.pair.peer.subscription(ALL);
  each.contents.prefetch(known);
  for (const text of ["abcdef", "ghijkl"]) {
    await serverWrite(each.pair, referTo(text, storedOn(each, text)));
  }
  await send(each.pair, known.key, "abcdef", "ghijkl");
  await vi.waitFor(() => expect(each.contents.stats.failedCount).toBe(2));
  expect(each.errors).toMatchObject([{ code: "store.full" }]);
  expect(await each.place.has(used.id)).toBe(true);
  await each.contents.close();
});

/** The next removal of a content from the place waits until the test lets it go on. */
function heldRemoval({ place }: ContentRig): {
  readonly begun: Promise<void>;
  readonly go: () => void;
} {
  const remove = place.remove.bind(place);
  let [begin, go]: [(() => void) | undefined, (() => void) | undefined] = [undefined, undefined];
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  vi.spyOn(place, "remove").mockImplementationOnce(async (id) => {
    begin?.();
    await held;
    await remove(id);
  });
  return { begun, go: () => go?.() };
}

test("[K95] a content that is created while an old copy of it is removed is there with its record", async () => {
  const each = await contentRig();
  const { id } = await each.contents.create(pieces("same"));
  each.pair.platform.nowMs += CONTENT_GRACE_MS + 1;
  const removal = heldRemoval(each);
  const maintained = each.contents.maintain();
  await removal.begun;
  const created = each.contents.create(pieces("sa", "me"));
  await new Promise(setImmediate);
  removal.go();
  await Promise.all([maintained, created]);
  expect(each.contents.device.record(id)?.len).toBe(4);
  expect(await each.place.has(id)).toBe(true);
  await each.contents.close();
});

test("[K95] a content that is fetched while an old copy of it makes room is there with its record", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const content = storedOn(each, "0123");
  await each.contents.fetch(content, () => {}).arrived;
  const removal = heldRemoval(each);
  const created = each.contents.create(pieces("8 bytes."));
  await removal.begun;
  const fetched = outcomeOf(each.contents.fetch(content, () => {}).arrived);
  await new Promise(setImmediate);
  removal.go();
  await created;
  expect(await fetched).toBe("store.full");
  expect(each.contents.device.record(content.id)).toBe(undefined);
  expect(await each.place.has(content.id)).toBe(false);
  await each.contents.close();
});

test("contents that were not used for the longest time make room first", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const known = each.pair.peer.subscription(ALL);
  const [one, two] = [storedOn(each, "one"), storedOn(each, "two")];
  for (const [name, content] of [
    ["a", one],
    ["b", two],
  ] as const) {
    await serverWrite(each.pair, referTo(name, content));
    await send(each.pair, known.key, name);
    each.pair.platform.nowMs++;
    await each.contents.fetch(content, () => {}).arrived;
  }
  each.pair.platform.nowMs += 7_200_000;
  await each.contents.fetch(one, () => {}).arrived;
  await vi.waitFor(() => {
    expect(each.contents.device.record(one.id)?.at).toBe(each.pair.platform.nowMs);
  });
  await each.contents.create(pieces("7 bytes"));
  expect([await each.place.has(one.id), await each.place.has(two.id)]).toEqual([true, false]);
  await each.contents.close();
});

test("a content that made room for others after it was fetched is fetched again when it is read", async () => {
  const each = await contentRig({ bytesMax: 10 });
  each.contents.start();
  const [first, second] = [storedOn(each, "0123456"), storedOn(each, "abcdefg")];
  await each.contents.fetch(first, () => {}).arrived;
  await each.contents.fetch(second, () => {}).arrived;
  expect(await each.place.has(first.id)).toBe(false);
  expect(await textOf(each.contents.read(first, 2))).toBe("23456");
  // One that is damaged is not.
  await each.place.remove(first.id);
  await expect(textOf(each.contents.read(first))).rejects.toMatchObject({ code: "store.corrupt" });
  await each.contents.close();
});
