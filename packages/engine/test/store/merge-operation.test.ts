/**
 * Merges: states of documents from another store, in either form, and what a horizon makes of them.
 */

import { type MergeOperation, timeOfMs, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { partsOf, stateOfMerge } from "../../src/crdt/state-parts.ts";
import type { OperationOutcome } from "../../src/store/applier.ts";
import { transactionKey } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/store.ts";
import { dump, fieldsOf, type OpenStore, openStore, problems } from "../support/open-store.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomMerge, randomOperation } from "../support/workload.ts";

const DAY_MS = 86_400_000;

async function apply(store: Store, ...operations: MergeOperation[]): Promise<OperationOutcome[]> {
  const { result } = await store.transact((transaction) => transaction.apply(operations));
  return result;
}

/** The state of a document in its records, as a link brings it. */
function mergeFrom({ store }: OpenStore, id: Value, staleUpTo?: number): MergeOperation {
  const { state } = store.read((view) => view.state("c", id));
  const merge = { kind: "merge", collection: "c", id, state: partsOf(state) } as const;
  return staleUpTo === undefined ? merge : { ...merge, staleUpTo };
}

async function insert({ store }: OpenStore, id: Value, fields: { [name: string]: Value }) {
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id, fields }]),
  );
}

async function remove({ store }: OpenStore, id: Value) {
  await store.transact((transaction) =>
    transaction.apply([{ kind: "delete", collection: "c", id }]),
  );
}

/** Everything but the log, which has the operation as it was. */
function withoutLog({ storage }: OpenStore): Map<string, Value> {
  return new Map([...dump(storage)].filter(([key]) => !["t", "h", "s"].includes(key.charAt(0))));
}

test("[D19] [K20] merging a state as records has the same result as merging its canonical bytes", async () => {
  for (let seed = 1; seed <= histories(300); seed++) {
    const random = seededRandom(seed);
    const [bytes, parts] = [await openStore(), await openStore()];
    for (let i = 0; i < 8; i++) {
      const own = randomOperation(random);
      const time = timeOfMs(bytes.platform.nowMs) - random.below(100_000);
      const merge = randomMerge(random, "00000000000000ee", time);
      if (merge.kind !== "merge") continue;
      const state = stateOfMerge(merge.state);
      for (const { store } of [bytes, parts]) {
        await store.transact((transaction) => transaction.apply([own]));
      }
      const first = await apply(bytes.store, { ...merge, state: stateToBytes(state) });
      const second = await apply(parts.store, { ...merge, state: partsOf(state) });
      expect(second, `seed ${seed}`).toEqual(first);
    }
    expect(withoutLog(parts), `seed ${seed}`).toEqual(withoutLog(bytes));
    expect(problems(parts.storage), `seed ${seed}`).toEqual([]);
  }
});

test("[D19] a state that the store already has makes no transaction, in either form", async () => {
  const [a, b] = [await openStore(), await openStore()];
  await insert(a, "1", { n: 1, of: { x: 1 } });
  const merge = mergeFrom(a, "1");
  expect(await apply(b.store, merge)).toEqual(["applied"]);
  const { txnId } = b.store;
  const bytes = stateToBytes(stateOfMerge(merge.state));
  expect(await apply(b.store, merge, { ...merge, state: bytes })).toEqual([
    "unchanged",
    "unchanged",
  ]);
  expect(b.store.txnId).toBe(txnId);
});

async function beyondHorizon(): Promise<readonly [OpenStore, OpenStore]> {
  const [a, b] = [await openStore(), await openStore()];
  await insert(a, "old", { n: 1 });
  await insert(a, "gone", { n: 1 });
  await apply(b.store, mergeFrom(a, "gone"));
  await remove(b, "gone");
  for (const each of [a, b]) await age(each);
  return [a, b];
}

/** Forty days pass. */
async function age({ platform, store }: OpenStore): Promise<void> {
  for (let i = 0; i < 2; i++) {
    platform.nowMs += 20 * DAY_MS;
    await store.maintain();
  }
}

test("[D23] the caller sets how old an unknown state may be, up to the horizon", async () => {
  const [a, b] = await beyondHorizon();
  const { horizon } = b.store.read(({ head }) => head);
  expect(horizon).toBeGreaterThan(0);
  expect(await apply(b.store, mergeFrom(a, "gone"))).toEqual(["stale"]);
  const { alive } = a.store.read((view) => view.state("c", "gone").state);
  expect(await apply(b.store, mergeFrom(a, "gone", alive.time))).toEqual(["stale"]);
  expect(fieldsOf(b.store, "c", "gone")).toBeUndefined();
  expect(await apply(b.store, mergeFrom(a, "old", alive.time - 100_000_000))).toEqual(["applied"]);
  expect(await apply(b.store, mergeFrom(a, "gone", 0))).toEqual(["applied"]);
  expect(fieldsOf(b.store, "c", "gone")).toEqual({ n: 1 });
  expect(problems(b.storage)).toEqual([]);
});

test("[D23] a floor that was forgotten here changes nothing if it comes again, unless it ends a write", async () => {
  const [a, b] = await beyondHorizon();
  await remove(a, "gone");
  const tombstone = mergeFrom(a, "gone");
  const { txnId } = b.store;
  // Of today: it is news.
  expect(await apply(b.store, tombstone)).toEqual(["applied"]);
  await age(b);
  expect(b.store.read((view) => view.version("c", "gone"))).toBe(0);
  const before = b.store.txnId;
  expect(await apply(b.store, { ...tombstone, staleUpTo: 0 })).toEqual(["unchanged"]);
  expect(b.store.txnId).toBe(before);
  expect(before).toBeGreaterThan(txnId);
  // What it ends is ended, however old it is.
  const c = await openStore();
  await insert(c, "gone", { n: 2 });
  await insert(c, "other", { n: 2 });
  await remove(c, "other");
  await age(c);
  await age(c);
  expect(c.store.read(({ head }) => head.horizon)).toBeGreaterThan(0);
  expect(await apply(c.store, { ...tombstone, staleUpTo: 0 })).toEqual(["applied"]);
  expect(fieldsOf(c.store, "c", "gone")).toBeUndefined();
});

test("[S53] a transaction records the store that it came from, and verify checks it", async () => {
  const b = await openStore();
  await b.store.transact((transaction) => {
    transaction.markVia("h1");
    transaction.apply([{ kind: "insert", collection: "c", id: "1", fields: {} }]);
  });
  const key = transactionKey(1);
  const record = dump(b.storage).get(key);
  expect(record).toEqual(expect.objectContaining({ via: "h1" }));
  expect(problems(b.storage)).toEqual([]);
  await b.storage.commit(new Map([[key, { ...(record as object), via: 7 } as Value]]));
  expect(problems(b.storage)).toEqual([
    expect.stringContaining("expected the history of the store that it came from"),
  ]);
});
