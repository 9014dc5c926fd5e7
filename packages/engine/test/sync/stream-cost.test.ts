/**
 * What streams cost, counted: evaluations, frames, documents that are looked at. Never the time.
 */

import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { MatchIndex } from "../../src/query/live/match-index.ts";
import { View } from "../../src/store/view.ts";
import { type Followed, type OpenStreams, openStreams, turns } from "../support/open-streams.ts";
import { replace } from "../support/replaced-method.ts";
import { Subscription } from "../support/stream-receiver.ts";

/** How often a method is called while `work` is done. */
async function callsOf<T extends object>(
  target: T,
  name: keyof T,
  work: () => Promise<unknown>,
): Promise<number> {
  let calls = 0;
  const mend = replace(target, name, (original) => {
    const counted = function counted(this: unknown, ...args: unknown[]): unknown {
      calls++;
      return (original as (...given: unknown[]) => unknown).apply(this, args);
    };
    return counted as typeof original;
  });
  try {
    await work();
  } finally {
    mend();
  }
  return calls;
}

async function followAs({ receiver }: OpenStreams, owner: number): Promise<Subscription> {
  const subscription = new Subscription("SELECT * FROM cars WHERE owner = :me", { me: owner });
  receiver().subscribe(subscription);
  return subscription;
}

test("[S10] with thousands of groups of different equality filters a commit evaluates few of them", async () => {
  const opened = await openStreams();
  const subscriptions: Subscription[] = [];
  const count = sized(2_000, 10_000);
  for (let i = 0; i < count; i++) subscriptions.push(await followAs(opened, i));
  const live = (): number => opened.streams.stats().live;
  for (let before = -1; before < live(); await turns(200)) before = live();
  expect(live()).toBe(count);
  const evaluations = await callsOf(MatchIndex.prototype, "matches", async () => {
    await opened.put("cars", { _id: "a", owner: 7 });
    await turns();
    await opened.put("cars", { _id: "a", owner: 8 });
    await turns();
  });
  expect([subscriptions[7]?.held.size, subscriptions[8]?.held.size]).toEqual([0, 1]);
  // One for the first commit; before and after for the two owners of the second.
  expect(evaluations).toBeLessThanOrEqual(6);
});

test("[S10] frames are encoded once for 1,000 members of a group", async () => {
  const opened = await openStreams();
  const subscriptions: Subscription[] = [];
  for (let i = 0; i < 1000; i++) subscriptions.push(await followAs(opened, 1));
  await turns(200);
  const before = opened.streams.stats();
  expect([before.groups, before.live]).toEqual([1, 1000]);
  await opened.put("cars", { _id: "a", owner: 1 });
  await turns();
  const after = opened.streams.stats();
  expect(after.framesEncoded - before.framesEncoded).toBe(1);
  expect(after.framesSent - before.framesSent).toBe(1000);
  expect(subscriptions.every(({ held }) => held.size === 1)).toBe(true);
});

test("[S14] a fill by an id, or by a selective index, does not read the collection", async () => {
  const opened = await openStreams();
  await opened.execute("CREATE INDEX by_owner ON cars (owner)");
  for (let i = 0; i < 200; i++) await opened.put("cars", { _id: `c${i}`, owner: i % 50 });
  const queries = [
    "SELECT * FROM cars WHERE _id = 'c7'",
    "SELECT * FROM cars WHERE _id IN ('c1', 'c2', 'none')",
    "SELECT * FROM cars WHERE owner = 3",
  ];
  const counts: number[] = [];
  const scans = await callsOf(View.prototype, "scan", async () => {
    for (const query of queries) {
      const { subscription } = await opened.follow(query);
      counts.push(subscription.isLive ? subscription.held.size : -1);
    }
  });
  expect([scans, counts]).toEqual([0, [1, 2, 4]]);
});

test("[S12] streams that resume with different cursors share one reading of the log", async () => {
  const opened = await openStreams();
  const followed: Followed[] = [];
  for (let i = 0; i < 10; i++) {
    const each = await opened.follow("SELECT * FROM cars");
    await opened.put("cars", { _id: `c${i}`, owner: i });
    await turns();
    each.receiver.disconnect();
    followed.push(each);
  }
  await opened.put("cars", { _id: "last" });
  const reads = await callsOf(opened.store, "snapshot", async () => {
    for (const { receiver, subscription } of followed) receiver.subscribe(subscription);
    await turns();
  });
  for (const { subscription } of followed) expect(subscription.held.size).toBe(11);
  // One for each to find where the log begins, one for all of them together.
  expect(reads).toBeLessThanOrEqual(12);
});

test("commits without subscribers read nothing", async () => {
  const opened = await openStreams();
  const { receiver, subscription } = await opened.follow("SELECT * FROM cars");
  receiver.unsubscribe(subscription);
  const reads = await callsOf(MatchIndex.prototype, "touched", async () => {
    await opened.put("cars", { _id: "a" });
    await turns();
  });
  expect(reads).toBe(0);
});
