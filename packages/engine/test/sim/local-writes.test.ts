/**
 * The judge of local writes on its own: what may have its effect twice because two copies of a store
 * were told that their site is forked, and what may not.
 */

import { beforeEach, expect, test } from "vitest";
import { seededRandom } from "../support/test-platform.ts";
import { type LocalWrite, LocalWrites } from "./local-writes.ts";
import { Scheduler } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import type { AppliedUpload } from "./server-oracle.ts";

const [SITE, OTHER, THIRD] = ["000000000000000a", "000000000000000b", "000000000000000c"];
const TAG = "#p.1";

let scheduler: Scheduler;
let sent: SentUploads;
let writes: LocalWrites;
let disk: object;
let copy: object;

/** A write whose time is certain, on a disk that is copied then. */
beforeEach(() => {
  scheduler = new Scheduler(seededRandom(1), false);
  sent = new SentUploads(scheduler);
  writes = new LocalWrites();
  disk = {};
  copy = {};
  const write: LocalWrite = {
    disks: new Set([disk]),
    maybes: new Set(),
    sites: new Set([SITE]),
    counts: [],
    state: "done",
    isTimed: writes.noteTime(disk, true),
    copies: 1,
  };
  writes.add(TAG, write);
  writes.copied(disk, copy, sent);
});

/** What is broken when the write was applied under these names. */
function brokenBy(names: readonly string[], restamped: Iterable<string>): string | undefined {
  const kind = "applied";
  const uploads = new Map(
    names.map((name, i): [string, AppliedUpload] => [name, { txn: i, kind, tags: [TAG] }]),
  );
  writes.check(
    scheduler,
    { uploads },
    {
      disks: new Set([disk, copy]),
      given: new Set(),
      restamped: new Set(restamped),
      isRestored: false,
    },
  );
  return scheduler.failure?.message;
}

function send(by: object): void {
  const operation = { kind: "insert", collection: "c", id: TAG, fields: {} } as const;
  const steps = [{ time: 1, operations: [operation] }];
  sent.add(SITE, 1, new Uint8Array(16), steps).senders.add(by);
}

test("[S31] a write with a certain time takes effect once, however many copies hold it", () => {
  expect(brokenBy([`${SITE}/1`], [])).toBe(undefined);
  expect(brokenBy([`${SITE}/1`, `${OTHER}/1`], [])).toMatch("a write has its effect once: #p.1");
});

test("[S75] unsent writes of a disk may be renumbered with a fork of their site", () => {
  const restamped = [...writes.unsent(copy, SITE, sent)];
  expect(restamped).toEqual([TAG]);
  expect([...writes.unsent(copy, OTHER, sent)]).toEqual([]);
  expect([...writes.unsent({}, SITE, sent)]).toEqual([]);
  expect(brokenBy([`${OTHER}/1`, `${THIRD}/1`], restamped)).toBe(undefined);
});

test("[S75] writes that a disk has sent do not count as unsent", () => {
  send(copy);
  expect([...writes.unsent(copy, SITE, sent)]).toEqual([]);
  expect([...writes.unsent(disk, SITE, sent)]).toEqual([TAG]);
});

test("[S75] a fork gives a write as many effects as stores hold it, and no more", () => {
  const names = [`${SITE}/1`, `${OTHER}/1`, `${THIRD}/1`];
  expect(brokenBy(names, [TAG])).toMatch("a write has its effect once: #p.1");
});

test("[S25] no fork puts a write into one site twice", () => {
  expect(brokenBy([`${OTHER}/1`, `${OTHER}/2`], [TAG])).toMatch("a write has its effect once");
});
