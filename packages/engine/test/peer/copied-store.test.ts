/**
 * Stores of a peer that were copied, with writes that no server had heard of: whoever sends them, each
 * has its effect once (S31), and what the copies write after they parted is not lost (S29).
 */

import { msOfTime, type Outcome } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { PeerStore } from "../../src/peer/peer-store.ts";
import type { OwnUpload } from "../../src/peer/sequenced-upload.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { increment, insert } from "../support/document-operation.ts";
import { dump, fieldsOf, problems } from "../support/open-store.ts";
import {
  APP,
  counterAt,
  type PeerPair,
  peerPair,
  RIGHTS,
  reopen,
  take,
  upload,
  uploadAll,
  welcome,
  write,
} from "../support/peer-pair.ts";
import { testPlatform } from "../support/test-platform.ts";

const HOUR = 3_600_000;

/** A copy of the peer; one that knows to be a copy begins a life of its own. */
async function copyOf(
  pair: PeerPair,
  { isKnown = true, seed = 77, offsetMs = 0 } = {},
): Promise<PeerPair & { readonly platform: PeerPair["platform"] }> {
  const platform = testPlatform(seed);
  platform.nowMs = pair.platform.nowMs - offsetMs;
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(dump(pair.storage));
  if (isKnown) await renewIdentity(storage, platform);
  const peer = await PeerStore.open(storage, platform, { appId: APP });
  const copy = { server: pair.server, platform, disk, storage, peer };
  await welcome(copy, RIGHTS, offsetMs);
  return copy;
}

/** Uploads all that is pending as a session would, also when the server says that it is forked. */
async function uploadThrough(pair: PeerPair, offsetMs = 0): Promise<OwnUpload[]> {
  const sent: OwnUpload[] = [];
  for (;;) {
    await pair.peer.sequence(offsetMs, 1000);
    const outcomes: Outcome[] = [];
    let fork: OwnUpload | undefined;
    for (const sequenced of pair.peer.sequenced()) {
      const answer = await takeUpload(pair.server, sequenced);
      if (answer.kind === "forked") fork = sequenced;
      if (answer.kind !== "taken") break;
      sent.push(sequenced);
      outcomes.push(await upload(pair, sequenced));
    }
    await take(pair, ...outcomes);
    if (fork === undefined) return sent;
    await pair.peer.fork(fork.site, fork.number);
  }
}

function places(uploads: readonly OwnUpload[]): (readonly [string, number])[] {
  return uploads.map(({ site, number }) => [site, number]);
}

function expectChained(pair: PeerPair, uploads: readonly OwnUpload[]): void {
  let before: Uint8Array | undefined;
  for (const { steps, digest } of uploads) {
    expect(digest).toEqual(uploadDigest(pair.platform, before, steps));
    before = digest;
  }
}

test("[S31] [K60] unsent writes of a copied store are sent under its former site, and count once", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await uploadAll(pair);
  await write(pair, increment("a", 1));
  const [sequenced] = await pair.peer.sequence(0, 10);
  await write(pair, increment("a", 2));
  await write(pair, insert("b"), increment("a", 4));
  const { site } = pair.peer;
  const copy = await copyOf(pair);
  expect(copy.peer.site).not.toBe(site);
  await write(copy, increment("a", 8));
  await write(pair, increment("a", 16));
  expect(copy.peer.sequenced()).toEqual([sequenced]);
  const own = copy.peer.site;
  expect(places(await uploadThrough(copy))).toEqual([
    [site, 2],
    [site, 3],
    [site, 4],
    [own, 1],
  ]);
  expect(counterAt(pair)).toBe(15);
  expect(places(await uploadThrough(pair))).toEqual([
    [site, 2],
    [site, 3],
    [site, 4],
    [site, 5],
  ]);
  expect(counterAt(pair)).toBe(31);
  expect([pair.peer.site, copy.peer.site]).toEqual([site, own]);
  for (const { storage } of [pair, copy]) expect(problems(storage)).toEqual([]);
});

test("[S31] a copy of a copy sends the unsent writes of each of them, and all of them count once", async () => {
  const first = await peerPair();
  await write(first, insert("a"));
  const second = await copyOf(first);
  await write(second, increment("a", 1));
  const third = await copyOf(second, { seed: 78 });
  await write(third, increment("a", 2));
  for (const pair of [third, first, second]) await reopen(pair, { isCrash: true });
  const sites = [first, second, third].map(({ peer }) => peer.site);
  const [a = "", b = "", c = ""] = sites;
  expect(places(await uploadThrough(third))).toEqual([
    [a, 1],
    [b, 1],
    [c, 1],
  ]);
  expect(places(await uploadThrough(second))).toEqual([
    [a, 1],
    [b, 1],
  ]);
  expect(places(await uploadThrough(first))).toEqual([[a, 1]]);
  expect(counterAt(first)).toBe(3);
  for (const { peer, storage } of [first, second, third]) {
    expect(peer.pendingCount).toBe(0);
    expect(problems(storage)).toEqual([]);
  }
});

test("[S29] an undetected copy shares the common writes, and forks where the stores diverged", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  const copy = await copyOf(pair, { isKnown: false });
  await write(pair, increment("a", 2));
  await write(copy, increment("a", 4));
  await write(copy, increment("a", 8));
  const { site } = pair.peer;
  await uploadThrough(pair);
  const sent = places(await uploadThrough(copy));
  expect(sent).toEqual([
    [site, 1],
    [site, 2],
    [copy.peer.site, 1],
    [copy.peer.site, 2],
  ]);
  expect(copy.peer.site).not.toBe(site);
  expect(counterAt(pair)).toBe(15);
  // From now on it writes under its new site from the start.
  await write(copy, increment("a", 16));
  expect(fieldsOf(copy.peer.store, "c", "a")).toEqual({ k: 31 });
  expect(places(await uploadThrough(copy))).toEqual([[copy.peer.site, 3]]);
  expect(counterAt(pair)).toBe(31);
  for (const { storage } of [pair, copy]) expect(problems(storage)).toEqual([]);
});

test("[S75] copies whose site another copy forked take a site each: common writes count for each", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await uploadAll(pair);
  const unknown = await copyOf(pair, { isKnown: false });
  await write(pair, increment("a", 1));
  await pair.peer.sequence(0, 10);
  // The time of this one is certain, and it was not sent when the store was copied.
  await write(pair, increment("a", 2));
  const second = await copyOf(pair, { isKnown: false, seed: 78 });
  await write(unknown, increment("a", 4));
  const { site } = pair.peer;
  expect(places(await uploadThrough(unknown))).toEqual([[site, 2]]);
  for (const forked of [pair, second]) {
    const sent = places(await uploadThrough(forked));
    expect(sent).toEqual([
      [forked.peer.site, 1],
      [forked.peer.site, 2],
    ]);
    expect(problems(forked.storage)).toEqual([]);
  }
  expect(new Set([site, pair.peer.site, second.peer.site]).size).toBe(3);
  expect(counterAt(pair)).toBe(4 + 3 + 3);
});

test("[S75] writes that fork under a former site are sent before later ones, in order", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  const unknown = await copyOf(pair, { isKnown: false });
  await write(unknown, insert("b"));
  await write(pair, insert("b"));
  await write(pair, increment("b", 1));
  const copy = await copyOf(pair, { seed: 78 });
  await write(copy, increment("b", 2));
  await uploadThrough(unknown);
  const { site } = pair.peer;
  expect(places(await uploadThrough(copy))).toEqual([
    [site, 1],
    [copy.peer.site, 1],
    [copy.peer.site, 2],
    [copy.peer.site, 3],
  ]);
  expect(counterAt(pair, "b")).toBe(3);
  expect(fieldsOf(copy.peer.store, "c", "b")).toEqual({ k: 3 });
  expect(problems(copy.storage)).toEqual([]);
});

test("[S78] wrong times are corrected under every site, with the same numbers", async () => {
  const pair = await peerPair();
  const right = pair.platform.nowMs;
  pair.platform.nowMs = right + 48 * HOUR;
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  const { site } = pair.peer;
  const copy = await copyOf(pair);
  await write(copy, increment("a", 2));
  await write(copy, increment("a", 4));
  const sent = await uploadThrough(copy, -48 * HOUR);
  expect(places(sent)).toEqual([
    [site, 1],
    [site, 2],
    [copy.peer.site, 1],
    [copy.peer.site, 2],
  ]);
  expectChained(copy, sent.slice(0, 2));
  expectChained(copy, sent.slice(2));
  expect(counterAt(pair)).toBe(7);
  expect(fieldsOf(copy.peer.store, "c", "a")).toEqual({ k: 7 });
  expect(problems(copy.storage)).toEqual([]);
});

test("[S33] a write gets its number and digest in the commit that makes it, and keeps them", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  const copy = await copyOf(pair, { isKnown: false });
  copy.platform.nowMs += 900;
  const own = await pair.peer.sequence(0, 10);
  // A clock that is off by less than a second is right, and changes nothing.
  expect(await copy.peer.sequence(-900, 10)).toEqual(own);
  expectChained(pair, own);
});

/** Both upload all that they have, each with the offset of its own clock. */
async function uploadBoth(pair: PeerPair, copy: PeerPair, offsetMs: number): Promise<void> {
  await uploadThrough(copy, offsetMs);
  await uploadThrough(pair);
}

test.each([
  [true, "that knows to be one"],
  [false, "that nobody knew of"],
])(
  "[S78] certain times stay, whatever the clock of a copy shows (%s: a copy %s; seed 503845)",
  async (isKnown) => {
    for (const offsetMs of [24 * HOUR, -90_000, 9000 * 24 * HOUR]) {
      const pair = await peerPair();
      await write(pair, insert("a"));
      await write(pair, increment("a", 1));
      const copy = await copyOf(pair, { isKnown, offsetMs });
      await uploadBoth(pair, copy, offsetMs);
      expect([offsetMs, counterAt(pair)]).toEqual([offsetMs, 1]);
      expect(copy.peer.pendingCount + pair.peer.pendingCount).toBe(0);
      for (const { storage } of [pair, copy]) expect(problems(storage)).toEqual([]);
    }
  },
);

test("[S33] a clock with a constant error is corrected at each write, also offline: a copy counts once", async () => {
  const pair = await peerPair();
  const offsetMs = 36 * HOUR;
  const right = pair.platform.nowMs;
  pair.platform.nowMs = right - offsetMs;
  await welcome(pair, RIGHTS, offsetMs);
  await write(pair, insert("a"));
  // Started anew, and not connected since.
  await reopen(pair);
  pair.platform.nowMs += 5000;
  await write(pair, increment("a", 1));
  const copy = await copyOf(pair, { isKnown: false });
  const sequenced = await pair.peer.sequence(offsetMs + 200, 10);
  const times = sequenced.flatMap(({ steps }) => steps.map(({ time }) => msOfTime(time) - right));
  expect(times).toEqual([0, 5000]);
  expect(await copy.peer.sequence(offsetMs - 300, 10)).toEqual(sequenced);
});

test("[S78] offline writes of a former incarnation have its clock: a copy on another device counts once", async () => {
  const pair = await peerPair();
  await reopen(pair);
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  const copy = await copyOf(pair, { offsetMs: HOUR });
  await write(copy, increment("a", 2));
  await uploadBoth(pair, copy, HOUR);
  expect(counterAt(pair)).toBe(3);
});
