/**
 * What one peer can take from the server and from the others is bounded, whatever it says.
 */

import { PeerError, type UploadOperation, type Value } from "@bigpeer/protocol";
import { afterEach, expect, test } from "vitest";
import { MatchIndex } from "../../src/query/live/match-index.ts";
import { RateLimiter } from "../../src/sync/outbox/rate-limiter.ts";
import { SyncServer } from "../../src/sync/sync-server.ts";
import { UploadBudget } from "../../src/sync/upload/upload-budget.ts";
import { openStore } from "../support/open-store.ts";
import { openStreams, turns } from "../support/open-streams.ts";
import { replace } from "../support/replaced-method.ts";
import { SiteUploads } from "../support/site-uploads.ts";
import { Subscription } from "../support/stream-receiver.ts";
import { helloOf, SyncClient } from "../support/sync-client.ts";
import { START_MS } from "../support/test-platform.ts";

const ALL = "SELECT * FROM cars";
/** Some seventeen thousand steps for each document: as many as a row has whatever its time. */
const SLOW =
  "SELECT * FROM cars WHERE ANY x IN :a SATISFIES (ANY y IN :a SATISFIES x + y = :n END) END";
const NUMBERS: readonly Value[] = Array.from({ length: 130 }, (_, i) => i);

const servers: SyncServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function insert(id: string, fields: { readonly [name: string]: string } = {}): UploadOperation {
  return { kind: "insert", collection: "cars", id, fields };
}

/** Counts evaluations from now on, until it is asked. */
function looksAt(): () => number {
  let count = 0;
  const mend = replace(MatchIndex.prototype, "matches", (original) => {
    return function counted(this: MatchIndex<unknown>, ...args: Parameters<typeof original>) {
      count++;
      return original.apply(this, args);
    };
  });
  return () => {
    mend();
    return count;
  };
}

test("a session whose conditions take too long loses them, and the others receive every change", async () => {
  const limits = { workAtOnce: 95_000, workPerSecond: 0 };
  const { put, follow, receiver: open, streams } = await openStreams({ limits });
  const other = await follow(ALL);
  const slow = open();
  for (let i = 1; i <= 20; i++) slow.subscribe(new Subscription(SLOW, { a: NUMBERS, n: -i }));
  await turns();
  expect(streams.stats().live).toBe(21);
  const looks = looksAt();
  await put("cars", { _id: "a", n: 1 });
  await turns(200);
  expect(Object.keys(other.subscription.fields)).toEqual(["a"]);
  // Those that it could pay for, and no more of them are even looked at.
  expect(looks()).toBeLessThan(10);
  expect(slow.failures.length).toBe(21 - looks());
  expect(new Set(slow.failures.map(({ message }) => message))).toEqual(
    new Set(["the conditions of the session take too long to be evaluated for each change"]),
  );
});

test("the evaluation budget of a session refills over time", () => {
  let nowMs = 0;
  const limiter = new RateLimiter(() => nowMs, { workAtOnce: 100, workPerSecond: 10 });
  expect([limiter.spend(60), limiter.spend(40), limiter.spend(1)]).toEqual([true, true, false]);
  nowMs += 1000;
  expect([limiter.spend(9), limiter.spend(2)]).toEqual([true, false]);
  nowMs += 60_000;
  expect([limiter.spend(100), limiter.spend(1)]).toEqual([true, false]);
});

test("wanted ids that exceed the byte limit end their stream", async () => {
  const { follow, streams } = await openStreams({ limits: { wantedBytes: 1000 } });
  const { receiver } = await follow(ALL);
  const { filterKey } = streams.prepare(ALL, {}, undefined);
  const long = "x".repeat(400);
  receiver.session.want(filterKey, [`${long}1`, `${long}2`], false);
  await turns();
  receiver.session.want(filterKey, [`${long}3`, `${long}4`], false);
  expect(receiver.failures).toEqual([]);
  receiver.session.want(filterKey, [`${long}5`], false);
  expect(receiver.failures.map(({ code }) => code)).toEqual(["sync.malformed"]);
});

test("a `want` that cannot be evaluated ends its stream, and no other", async () => {
  const { put, follow, streams } = await openStreams();
  await put("cars", { _id: "a" });
  const one = await follow(ALL);
  const other = await follow("SELECT * FROM cars WHERE _id = 'a'");
  const { filterKey } = streams.prepare(ALL, {}, undefined);
  const mend = replace(MatchIndex.prototype, "matches", () => () => {
    throw new PeerError("query.timeout", "too slow");
  });
  one.receiver.session.want(filterKey, ["a"], false);
  await turns();
  mend();
  expect(one.receiver.failures.map(({ code }) => code)).toEqual(["query.timeout"]);
  expect(other.receiver.failures).toEqual([]);
  expect(streams.stats().live).toBe(1);
});

test("[S14] field names count towards the size of a piece", async () => {
  const { put, follow } = await openStreams({ limits: { frameBytes: 5000 } });
  for (let i = 0; i < 4; i++) await put("cars", { _id: `c${i}`, ["n".repeat(3000)]: 1 });
  const { receiver, subscription } = await follow(ALL);
  await turns(200);
  expect(subscription.held.size).toBe(4);
  const counts = receiver.ofKind("documents").map(({ entries }) => entries.length);
  expect(counts).toEqual([2, 2, 0]);
});

test("[S28] outcomes that are large together are sent in several rounds", async () => {
  const { put, receiver: open } = await openStreams({ limits: { roundBytes: 5000 } });
  const receiver = open();
  const documents: { readonly collection: string; readonly id: string }[] = [];
  for (let i = 0; i < 6; i++) {
    await put("cars", { _id: `c${i}`, x: "y".repeat(3000) });
    documents.push({ collection: "cars", id: `c${i}` });
  }
  for (const [i, each] of documents.entries()) {
    const outcome = { site: "00000000000000aa", number: i + 1, txn: 1, reason: "" };
    receiver.session.outcome({ ...outcome, kind: "applied", documents: [each] });
  }
  await turns();
  expect(receiver.outcomes.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(receiver.ofKind("committed").map(({ outcomes }) => outcomes.length)).toEqual([2, 2, 2]);
});

test("[S68] the number of subscriptions of a session to the same documents is limited", async () => {
  const { store, platform } = await openStore();
  const admit = () => ({ authority: undefined, credential: "full" });
  const server = new SyncServer({ store, platform, appId: "app", admit });
  servers.push(server);
  const client = new SyncClient(server, platform);
  client.say(helloOf("full"));
  await client.next("welcome");
  for (let id = 1; id <= 17; id++) client.say({ t: "subscribe", id, query: ALL, args: {} });
  expect(await client.next("unsubscribed")).toEqual({
    t: "unsubscribed",
    id: 17,
    code: "query.too_large",
    message: "expected at most 16 subscriptions to the same documents",
  });
  client.say({ t: "unsubscribe", id: 1 }, { t: "subscribe", id: 18, query: ALL, args: {} });
  expect((await client.next("subscribed")).t).toBe("subscribed");
});

test("[S32] outcomes that a peer has not read count as uploads without an outcome", async () => {
  const { store, platform } = await openStore();
  const admit = () => ({ authority: undefined, credential: "full" });
  const limits = { uploads: 3 };
  const server = new SyncServer({ store, platform, appId: "app", admit, limits });
  servers.push(server);
  const client = new SyncClient(server, platform);
  client.say(helloOf("full"));
  await client.next("welcome");
  client.queuedBytes = 5 * 1024 * 1024;
  const peer = new SiteUploads(platform, undefined, START_MS);
  for (let i = 0; i < 4; i++) {
    const { number, digest, steps } = peer.next(insert(`c${i}`));
    client.say({ t: "upload", number, digest, steps });
    await turns();
  }
  const [bye] = client.rest();
  expect(bye).toEqual({
    t: "bye",
    code: "malformed",
    message: "expected at most 3 uploads without an outcome",
  });
});

test("the server stops reading from a session with too many bytes of unapplied uploads", async () => {
  const { store, platform } = await openStore();
  const admit = () => ({ authority: undefined, credential: "full" });
  const server = new SyncServer({
    store,
    platform,
    appId: "app",
    admit,
    limits: { uploadBytes: 500 },
  });
  servers.push(server);
  const holds: boolean[] = [];
  class HeldClient extends SyncClient {
    hold(isHeld: boolean): void {
      holds.push(isHeld);
    }
  }
  const client = new HeldClient(server, platform);
  client.say(helloOf("full"));
  await client.next("welcome");
  const peer = new SiteUploads(platform, undefined, START_MS);
  for (let i = 0; i < 3; i++) {
    const { number, digest, steps } = peer.next(insert(`c${i}`, { x: "y".repeat(400) }));
    client.say({ t: "upload", number, digest, steps });
  }
  expect(holds).toEqual([true]);
  let reported = 0;
  while (reported < 3) reported += (await client.next("committed")).outcomes.length;
  expect(holds).toEqual([true, false]);
});

test("when the unapplied uploads of all sessions are too large, the next session waits for any of them", () => {
  const room = new UploadBudget({ uploadBytes: 100, allUploadBytes: 150 });
  const events: string[] = [];
  const uploader = (name: string) => ({
    hold: (isHeld: boolean) => void events.push(`${name} ${isHeld ? "waits" : "goes on"}`),
  });
  const [a, b] = [uploader("a"), uploader("b")];
  room.take(a, 90);
  room.take(b, 61);
  room.take(a, 20);
  expect(events).toEqual(["b waits", "a waits"]);
  room.give(a, 90);
  expect(events.slice(2)).toEqual(["b goes on", "a goes on"]);
  room.give(a, 20);
  room.give(b, 61);
  expect(events).toHaveLength(4);
});
