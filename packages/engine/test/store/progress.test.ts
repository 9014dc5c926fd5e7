/**
 * Progress: what is durable, and those who wait for it.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Progress } from "../../src/store/progress.ts";

test("a wait for a transaction that is already durable resolves at once", async () => {
  const progress = new Progress(7);
  for (const txnId of [0, 6, 7]) {
    const wait = progress.whenReached(txnId);
    wait.cancel();
    expect(await wait.promise).toBe(true);
  }
  expect(progress.waiterCount).toBe(0);
});

test("each wait resolves at its transaction or the first above it, and not before", async () => {
  const progress = new Progress(0);
  const done: number[] = [];
  const waits = [3, 1, 5, 3].map((txnId) =>
    progress.whenReached(txnId).promise.then(() => done.push(txnId)),
  );
  progress.reach(2);
  await waits[1];
  expect(done).toEqual([1]);
  progress.reach(4);
  await Promise.all([waits[0], waits[3]]);
  expect(done).toEqual([1, 3, 3]);
  progress.reach(5);
  await Promise.all(waits);
  expect(progress.waiterCount).toBe(0);
});

test("the durable position never goes back", () => {
  const progress = new Progress(5);
  progress.reach(3);
  expect(progress.txnId).toBe(5);
});

test("a cancelled wait ends at once, leaves nothing behind, and may be cancelled again", async () => {
  const progress = new Progress(0);
  const first = progress.whenReached(1);
  const second = progress.whenReached(1);
  first.cancel();
  first.cancel();
  expect(await first.promise).toBe(false);
  expect(progress.waiterCount).toBe(1);
  progress.reach(1);
  second.cancel();
  expect(await second.promise).toBe(true);
});

test("when no more transactions can come, all waits are rejected, later ones too", async () => {
  const progress = new Progress(1);
  const waiting = progress.whenReached(2);
  progress.end();
  await expect(waiting.promise).rejects.toMatchObject({ code: "store.closed" });
  waiting.cancel();
  await expect(progress.whenReached(2).promise).rejects.toMatchObject({ code: "store.closed" });
  expect(await progress.whenReached(1).promise).toBe(true);
  expect(progress.waiterCount).toBe(0);
});

type Act =
  | { readonly kind: "wait"; readonly txnId: number }
  | { readonly kind: "cancel"; readonly which: number }
  | { readonly kind: "reach"; readonly txnId: number };

const txnIds = fc.integer({ min: 0, max: 20 });
const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), txnId: txnIds }),
  fc.record({ kind: fc.constant("cancel" as const), which: fc.nat(30) }),
  fc.record({ kind: fc.constant("reach" as const), txnId: txnIds }),
);

test("in any order of waits, cancels and steps, each wait ends by the first event", async () => {
  const run = async (history: readonly Act[]): Promise<void> => {
    const progress = new Progress(0);
    const waits: { txnId: number; promise: Promise<boolean>; cancel(): void }[] = [];
    const expected: (boolean | undefined)[] = [];
    for (const act of history) {
      if (act.kind === "wait") {
        waits.push({ txnId: act.txnId, ...progress.whenReached(act.txnId) });
        expected.push(act.txnId <= progress.txnId ? true : undefined);
      } else if (act.kind === "cancel") {
        waits[act.which]?.cancel();
        if (act.which < waits.length) expected[act.which] ??= false;
      } else {
        progress.reach(act.txnId);
        for (const [i, { txnId }] of waits.entries()) {
          if (txnId <= progress.txnId) expected[i] ??= true;
        }
      }
      expect(progress.waiterCount).toBe(expected.filter((end) => end === undefined).length);
    }
    for (const wait of waits) wait.cancel();
    const ends = await Promise.all(waits.map(({ promise }) => promise));
    expect(ends).toEqual(expected.map((end) => end ?? false));
  };
  await fc.assert(fc.asyncProperty(fc.array(acts, { maxLength: 40 }), run));
});

test("of ten thousand waits a step resolves only those that it reaches", async () => {
  const progress = new Progress(0);
  const waits = Array.from({ length: 10_000 }, (_, i) => progress.whenReached(10_000 - i));
  progress.reach(1);
  expect(progress.waiterCount).toBe(9999);
  for (let i = 0; i < 5000; i++) waits[i]?.cancel();
  expect(progress.waiterCount).toBe(4999);
  for (let txnId = 2; txnId <= 5000; txnId++) progress.reach(txnId);
  expect(progress.waiterCount).toBe(0);
  const ends = await Promise.all(waits.map(({ promise }) => promise));
  expect(ends.filter(Boolean)).toHaveLength(5000);
});
