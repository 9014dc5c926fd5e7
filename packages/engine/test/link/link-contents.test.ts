/**
 * Contents of attachments over a link: piece by piece, eager or when they are asked for, and nothing
 * that was not asked for.
 */

import { createHash } from "node:crypto";
import { encodeMessage, type LinkMessage } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import type { ContentPiece, LinkAttachments } from "../../src/link/link-contents.ts";
import { referredAttachments } from "../../src/store/attachment-view.ts";
import {
  ALL,
  type LinkedStore,
  LinkWire,
  linkedStore,
  NONE_PULLED,
  settled,
  turns,
} from "../support/linked-stores.ts";
import { testPlatform } from "../support/test-platform.ts";

/** Contents in memory. */
class Shelf implements LinkAttachments {
  readonly isEager: boolean;
  readonly contents = new Map<string, Uint8Array>();
  readonly parts = new Map<string, Uint8Array>();

  constructor(isEager: boolean) {
    this.isEager = isEager;
  }

  add(bytes: Uint8Array): string {
    const id = createHash("sha256").update(bytes).digest("hex");
    this.contents.set(id, bytes);
    return id;
  }

  has(id: string): boolean {
    return this.contents.has(id);
  }

  start(id: string): number {
    return this.parts.get(id)?.length ?? 0;
  }

  async open(id: string, offset: number, max: number): Promise<ContentPiece | undefined> {
    const bytes = this.contents.get(id);
    if (bytes === undefined) return undefined;
    return { offset, bytes: bytes.slice(offset, offset + max), size: bytes.length };
  }

  async keep(id: string, { bytes, size }: ContentPiece): Promise<"more" | "kept" | "refused"> {
    const before = this.parts.get(id) ?? new Uint8Array();
    const all = new Uint8Array([...before, ...bytes]);
    this.parts.set(id, all);
    if (all.length < size) return "more";
    this.parts.delete(id);
    if (createHash("sha256").update(all).digest("hex") !== id) return "refused";
    this.contents.set(id, all);
    return "kept";
  }
}

function contentOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31) & 255);
}

async function put(
  { store }: LinkedStore,
  id: string,
  content: string,
  len: number,
): Promise<void> {
  const fields = { photo: { id: content, len, metadata: {} } };
  const types = { photo: "attachment" } as const;
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "cars", id, fields, types }]),
  );
}

async function pair(isEager: boolean) {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  const [source, target] = [new Shelf(false), new Shelf(isEager)];
  const link = (): LinkWire =>
    new LinkWire(
      { at: b, queries: ALL, attachments: target },
      { at: a, queries: NONE_PULLED, attachments: source },
    );
  return { a, b, source, target, link };
}

function pieces(heard: readonly LinkMessage[]): number[] {
  return heard.flatMap((message) => (message.t === "content" ? [message.bytes.length] : []));
}

test("[S55] an eager side fetches the contents of merged documents in pieces, one after the other", async () => {
  const { a, b, source, target, link } = await pair(true);
  const large = source.add(contentOf(600_000));
  const small = source.add(contentOf(10));
  const wire = link();
  await put(a, "1", large, 600_000);
  await put(a, "2", small, 10);
  await settled([a, b], [wire]);
  expect([...target.contents.keys()].sort()).toEqual([large, small].sort());
  expect(pieces(wire.dial.heard)).toEqual([262_144, 262_144, 75_712, 10]);
  expect(wire.dial.link.status().missingContents).toBe(0);
});

test("[S55] contents that were already missing are fetched when the link comes back", async () => {
  const { a, b, source, target, link } = await pair(true);
  const ids = [1, 2, 3].map((size) => source.add(contentOf(size)));
  for (const [i, id] of ids.entries()) await put(b, `${i}`, id, i + 1);
  await put(b, "again", ids[0] ?? "", 1);
  expect(b.store.read((view) => [...referredAttachments(view)])).toEqual(ids.toSorted());
  const wire = link();
  await settled([a, b], [wire]);
  expect([...target.contents.keys()].sort()).toEqual(ids.toSorted());
});

test("[S55] other contents are fetched on request, and one that no side has is reported as missing", async () => {
  const { a, b, source, target, link } = await pair(false);
  const id = source.add(contentOf(5));
  const wire = link();
  await put(a, "1", id, 5);
  await settled([a, b], [wire]);
  expect(target.has(id)).toBe(false);
  expect(await Promise.all([wire.dial.link.fetch(id), wire.dial.link.fetch("gone")])).toEqual([
    "kept",
    "missing",
  ]);
  expect(target.has(id)).toBe(true);
  expect(await wire.accept.link.fetch("gone")).toBe("missing");
});

test("[S55] content whose digest is not its id is refused, and the end of a link ends its fetches", async () => {
  const { source, target, link } = await pair(false);
  source.contents.set("0123", contentOf(4));
  const wire = link();
  await turns();
  expect(await wire.dial.link.fetch("0123")).toBe("refused");
  expect(target.has("0123")).toBe(false);
  const cut = wire.dial.link.fetch("abcd");
  wire.cut();
  expect(await cut).toBe("over");
  expect(await wire.dial.link.fetch("abcd")).toBe("over");
});

test("[S55] an interrupted fetch continues where it was", async () => {
  const { source, target, link } = await pair(false);
  const bytes = contentOf(300_000);
  const id = source.add(bytes);
  target.parts.set(id, bytes.slice(0, 262_144));
  const wire = link();
  await turns();
  expect(await wire.dial.link.fetch(id)).toBe("kept");
  expect(pieces(wire.dial.heard)).toEqual([37_856]);
});

test("[S55] a side without attachments has no content to send; unrequested content ends the link", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  const target = new Shelf(true);
  const wire = new LinkWire(
    { at: b, queries: ALL, attachments: target },
    { at: a, queries: NONE_PULLED },
  );
  await put(a, "1", "xyz", 3);
  await settled([a, b], [wire]);
  expect(wire.dial.link.status().missingContents).toBe(0);
  const unasked = {
    t: "content",
    id: "xyz",
    offset: 0,
    bytes: new Uint8Array(3),
    size: 3,
  } as const;
  wire.dial.link.receive(encodeMessage(unasked));
  expect(wire.dial.events.at(-1)).toEqual({
    kind: "ended",
    code: "malformed",
    message: "expected content that was asked for",
  });
});

test("[S55] requested contents come before missing ones, and content that arrived another way is not fetched", async () => {
  const { a, b, source, target, link } = await pair(true);
  const ids = [1, 2, 3, 4].map((size) => source.add(contentOf(size)));
  const [first = "", second = "", third = "", fourth = ""] = ids;
  const wire = link();
  await turns();
  wire.dial.link.refer([first, second, third]);
  expect([wire.dial.link.fetchingNow, wire.dial.link.isFetching(third)]).toEqual([first, true]);
  const urgent = wire.dial.link.fetch(fourth);
  const twice = wire.dial.link.fetch(third);
  target.contents.set(second, contentOf(2));
  expect(await Promise.all([urgent, twice])).toEqual(["kept", "kept"]);
  await settled([a, b], [wire]);
  expect(pieces(wire.dial.heard)).toEqual([1, 4, 3]);
  expect([wire.dial.link.fetchingNow, wire.dial.link.isFetching(second)]).toEqual([
    undefined,
    false,
  ]);
});

test("[S55] if a content cannot be kept, or the side is no longer eager, waiting contents are postponed", async () => {
  const { source, target, link } = await pair(true);
  const ids = [1, 2, 3].map((size) => source.add(contentOf(size)));
  const full = new Error("no room");
  const keep = target.keep.bind(target);
  target.keep = () => Promise.reject(full);
  const wire = link();
  await turns();
  wire.dial.link.refer(ids);
  await turns();
  expect(wire.dial.link.status().missingContents).toBe(0);
  expect(wire.dial.events.at(-1)).toEqual({ kind: "fault", error: full });
  target.keep = keep;
  wire.dial.link.refer(ids);
  Object.defineProperty(target, "isEager", { value: false });
  await turns();
  expect([...target.contents.keys()]).toEqual(ids.slice(0, 1));
  wire.dial.link.refer(ids);
  expect(wire.dial.link.status().missingContents).toBe(0);
});

test("[S55] if it is not known whether a content is here, waiting contents are postponed", async () => {
  const { source, target, link } = await pair(true);
  const ids = [1, 2, 3].map((size) => source.add(contentOf(size)));
  const failed = new Error("the disk failed");
  const keep = target.keep.bind(target);
  const has = vi.spyOn(target, "has");
  target.keep = async (id, piece) => {
    has.mockImplementationOnce(() => {
      throw failed;
    });
    return keep(id, piece);
  };
  const wire = link();
  await turns();
  wire.dial.link.refer(ids);
  await turns();
  expect([...target.contents.keys()]).toEqual(ids.slice(0, 1));
  expect(wire.dial.link.status().missingContents).toBe(0);
  expect(wire.dial.events.at(-1)).toEqual({ kind: "fault", error: failed });
  target.keep = keep;
  wire.dial.link.refer(ids);
  await turns();
  expect([...target.contents.keys()]).toEqual(ids);
});

test("[S55] a side gives up on a piece after five minutes, even if the link is alive", async () => {
  let elapsedMs = 0;
  const clock = (seed: number) => ({ ...testPlatform(seed), elapsed: () => elapsedMs });
  const a = await linkedStore("a", { platform: clock(1) });
  const b = await linkedStore("b", { platform: clock(2) });
  const source = new Shelf(false);
  source.open = () => new Promise(() => {});
  const wire = new LinkWire(
    { at: b, queries: ALL, attachments: new Shelf(false) },
    { at: a, queries: NONE_PULLED, attachments: source },
  );
  await turns();
  const outcome = wire.dial.link.fetch("0123");
  for (; elapsedMs <= 300_000; elapsedMs += 20_000) {
    wire.tick();
    await turns();
    expect(wire.dial.link.status().state).toBe("linked");
  }
  wire.tick();
  expect(await outcome).toBe("over");
  expect(wire.dial.events.at(-1)).toEqual({
    kind: "ended",
    code: "too_slow",
    message: "the other side does not answer what it was asked for",
  });
});

test("[S89] a side knows from which collections the other side follows documents", async () => {
  const { link } = await pair(false);
  const wire = link();
  await turns();
  expect([...wire.accept.link.servedCollections]).toEqual(Object.keys(ALL));
  expect([...wire.dial.link.servedCollections]).toEqual([]);
  wire.cut();
  expect([...wire.accept.link.servedCollections]).toEqual([]);
});
