import { msOfTime, timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { KEPT_MS } from "../../src/peer/outcome.ts";
import { lastUploadOf } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { increment, insert, set } from "../support/document-operation.ts";
import { fieldsOf, openStore, problems } from "../support/open-store.ts";
import {
  ALL,
  APP,
  counterAt,
  outcomeOf,
  type PeerPair,
  peerPair,
  RIGHTS,
  reopen,
  send,
  serverWrite,
  take,
  upload,
  uploadAll,
  welcome,
  write,
} from "../support/peer-pair.ts";
import { testPlatform } from "../support/test-platform.ts";

const HOUR = 3_600_000;

test("[S33] [K60] number, times and digest are durable before they are handed out, and do not change", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  await write(pair, increment("a", 1));
  const sequenced = await pair.peer.sequence(0, 2);
  expect(sequenced.map(({ number }) => number)).toEqual([1, 2]);
  const first = uploadDigest(pair.platform, undefined, sequenced[0]?.steps ?? []);
  expect(sequenced[0]?.digest).toEqual(first);
  expect(sequenced[1]?.digest).toEqual(
    uploadDigest(pair.platform, first, sequenced[1]?.steps ?? []),
  );
  await reopen(pair, { isCrash: true });
  expect(pair.peer.sequenced()).toEqual(sequenced);
  pair.platform.nowMs += HOUR;
  const third = await pair.peer.sequence(HOUR, 10);
  expect(third.map(({ number }) => number)).toEqual([3]);
  expect(pair.peer.sequenced()).toEqual([...sequenced, ...third]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S78] times of a wrong clock are corrected, in order, before they are sequenced", async () => {
  const pair = await peerPair();
  const right = pair.platform.nowMs;
  pair.platform.nowMs = right + 48 * HOUR;
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  pair.platform.nowMs += 5000;
  await write(pair, increment("a", 2));
  const sequenced = await pair.peer.sequence(-48 * HOUR, 10);
  const times = sequenced.flatMap(({ steps }) => steps.map(({ time }) => time));
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times.map((time) => msOfTime(time) - right)).toEqual([0, 0, 5000]);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  for (const each of sequenced) await take(pair, await upload(pair, each));
  expect(counterAt(pair)).toBe(3);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S78] corrected times stay above all stamps that the writer had seen", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  const seen = pair.server.read((snapshot) => snapshot.head.time);
  // Far behind: by its own clock it wrote before the server did.
  pair.platform.nowMs -= 48 * HOUR;
  await write(pair, set("a", "n", 2));
  const [sequenced] = await pair.peer.sequence(47 * HOUR, 1);
  expect(sequenced?.steps[0]?.time).toBe(seen + 1);
  await uploadAll(pair);
  expect(pair.server.read((snapshot) => snapshot.get("c", "a")?.fields)).toEqual({ n: 2 });
});

test("[S78] a clock that was corrected in between leaves no time in the future", async () => {
  const pair = await peerPair();
  const right = pair.platform.nowMs;
  pair.platform.nowMs = right + HOUR;
  await write(pair, insert("a"));
  pair.platform.nowMs = right;
  await write(pair, increment("a", 1));
  const sequenced = await pair.peer.sequence(0, 10);
  const last = Math.max(...sequenced.flatMap(({ steps }) => steps.map(({ time }) => time)));
  expect(last).toBeLessThanOrEqual(timeOfMs(right) + 2);
  await uploadAll(pair);
  expect(counterAt(pair)).toBe(1);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S75] a fork takes a new site and renumbers uploads without an outcome", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await uploadAll(pair);
  await write(pair, increment("a", 1));
  await write(pair, increment("a", 2));
  const before = await pair.peer.sequence(0, 10);
  await write(pair, insert("b"), increment("a", 4));
  await write(pair, increment("b", 1));
  const { site } = pair.peer;
  await pair.peer.fork(site, 3);
  expect(pair.peer.site).not.toBe(site);
  expect(pair.peer.sequenced()).toEqual(before.slice(0, 1));
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 7 });
  await uploadAll(pair);
  expect(pair.peer.sequenced()).toEqual([]);
  expect(counterAt(pair)).toBe(7);
  expect(counterAt(pair, "b")).toBe(1);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 7 });
  expect(lastUploadOf(pair.server, pair.peer.site)).toBe(3);
  // What is written from now on goes under the new site as well.
  await write(pair, increment("a", 1));
  await reopen(pair);
  await uploadAll(pair);
  expect(counterAt(pair)).toBe(8);
  expect(lastUploadOf(pair.server, pair.peer.site)).toBe(4);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S30] a restored server is offered earlier uploads again, and counts them once", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await write(pair, insert("a"));
  await uploadAll(pair);
  const backup = await openStore({}, testPlatform(500));
  await write(pair, increment("a", 1));
  await uploadAll(pair);
  await write(pair, increment("a", 2));
  const restored: PeerPair = { ...pair, server: backup.store };
  await pair.peer.welcome({ history: "restored", app: APP, rights: RIGHTS, offsetMs: 0 });
  await pair.peer.reoffer(pair.peer.site, 0);
  expect(pair.peer.pendingCount).toBe(3);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  // It has nothing at all: what was taken from us shows all the same.
  await pair.peer.apply({ parts: [{ subscription: key, entries: [], range: {} }], outcomes: [] });
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  await pair.peer.sequence(0, 10);
  expect(pair.peer.sequenced().map(({ number }) => number)).toEqual([1, 2, 3]);
  await uploadAll(restored);
  expect(counterAt(restored)).toBe(3);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S30] if the peer no longer has the missing uploads, it takes a new site", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  await uploadAll(pair);
  pair.platform.nowMs += KEPT_MS + HOUR;
  await welcome(pair);
  await pair.peer.maintain();
  await write(pair, increment("a", 2));
  await uploadAll(pair, -KEPT_MS - HOUR);
  const { site } = pair.peer;
  await pair.peer.reoffer(site, 3);
  expect(pair.peer.site).toBe(site);
  await pair.peer.reoffer(site, 1);
  expect(pair.peer.site).not.toBe(site);
  const sequenced = await pair.peer.sequence(0, 10);
  expect(sequenced.map((each) => [each.site, each.number])).toEqual([[pair.peer.site, 1]]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S32] outcomes of uploads that are not pending change nothing", async () => {
  const pair = await peerPair();
  await write(pair, insert("a", { n: 1 }));
  const [sequenced] = await pair.peer.sequence(0, 1);
  if (sequenced === undefined) throw new Error("expected an upload");
  await take(pair, outcomeOf({ ...sequenced, number: 2 }, "refused", 1));
  await take(pair, outcomeOf({ ...sequenced, site: "00000000000000ff" }, "applied", 1));
  expect(pair.peer.pendingCount).toBe(1);
  const outcome = await upload(pair, sequenced);
  await take(pair, outcome, outcome);
  expect(pair.peer.pendingCount).toBe(0);
  expect(problems(pair.storage)).toEqual([]);
});
