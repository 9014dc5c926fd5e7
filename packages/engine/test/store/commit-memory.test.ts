import { setImmediate } from "node:timers/promises";
import type { Operation, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { Steps } from "../../src/steps.ts";
import { CommitMemory, UNCOUNTED_BYTES } from "../../src/store/commit-memory.ts";
import type { Store } from "../../src/store/store.ts";
import type { Transaction } from "../../src/store/transaction.ts";
import { fieldsOf, openStore, problems } from "../support/open-store.ts";

const MB = 1024 * 1024;

/** Documents of about a kilobyte: each takes about four of memory while it is not durable. */
function inserts(count: number): Operation[] {
  const text = "x".repeat(1000);
  return Array.from({ length: count }, (_, i) => ({
    kind: "insert",
    collection: "c",
    id: i,
    fields: { text },
  }));
}

function insertAll(store: Store, count: number): Promise<unknown> {
  return store.transactInSteps((each) => each.applyInSteps(inserts(count)));
}

function refusalOf(failing: Promise<unknown>): Promise<PeerError> {
  return failing.then(
    () => expect.fail("expected a refusal"),
    (error: PeerError) => error,
  );
}

async function settle(times = 200): Promise<void> {
  for (let i = 0; i < times; i++) await setImmediate();
}

test("[K76] small transactions are not counted", () => {
  const memory = new CommitMemory({ oneMax: 10 * MB, youngerMax: MB });
  const share = memory.share();
  expect(share.tryTake(UNCOUNTED_BYTES)).toBe(true);
  expect(memory.bytes).toBe(0);
});

test("[K76] the oldest transaction may take the maximum of one; younger ones share less", () => {
  const memory = new CommitMemory({ oneMax: 10 * MB, youngerMax: 4 * MB });
  const [first, second, third] = [memory.share(), memory.share(), memory.share()];
  expect(first?.tryTake(2 * MB)).toBe(true);
  expect(second?.tryTake(3 * MB)).toBe(true);
  expect(third?.tryTake(2 * MB)).toBe(false);
  expect(second?.tryTake(5 * MB)).toBe(false);
  expect(first?.tryTake(10 * MB)).toBe(true);
  expect(memory.bytes).toBe(13 * MB);
  first?.give();
  expect(second?.tryTake(9 * MB)).toBe(true);
  expect(third?.tryTake(4 * MB)).toBe(true);
  expect(memory.bytes).toBe(13 * MB);
});

test("[K76] no transaction may take more than the maximum of one", () => {
  const memory = new CommitMemory({ oneMax: 10 * MB, youngerMax: 4 * MB });
  const share = memory.share();
  expect(() => share.tryTake(11 * MB)).toThrow("expected a transaction of at most 10485760 bytes");
  expect(memory.bytes).toBe(0);
});

test("[K76] a transaction is charged before it takes memory, and gives it back when it is durable", async () => {
  const memory = new CommitMemory({ oneMax: 64 * MB, youngerMax: MB });
  const { store } = await openStore({ memory });
  let most = 0;
  await store.transactInSteps(function* watched(transaction: Transaction): Steps<void> {
    for (const _ of transaction.applyInSteps(inserts(4_000))) {
      // What is not charged yet is what one operation added.
      expect(transaction.bytes).toBeLessThan(Math.max(memory.bytes, UNCOUNTED_BYTES) + 8_000);
      most = Math.max(most, memory.bytes);
      yield;
    }
  });
  // A kilobyte each in the document, in its log record and in pages.
  expect(most).toBeGreaterThan(4_000 * 3_000);
  expect(memory.bytes).toBe(0);
});

test("[K76] a transaction that is too large is refused, and leaves nothing behind", async () => {
  const memory = new CommitMemory({ oneMax: 4 * MB, youngerMax: MB });
  const { store, storage } = await openStore({ memory });
  const { code, message } = await refusalOf(insertAll(store, 4_000));
  expect(code).toBe("operation.refused");
  expect(message).toContain("write in several");
  expect(memory.bytes).toBe(0);
  await insertAll(store, 500);
  expect(fieldsOf(store, "c", 499)).toBeDefined();
  expect(fieldsOf(store, "c", 500)).toBeUndefined();
  expect(problems(storage)).toEqual([]);
});

test.runIf(isFullSize)(
  "[K76] stores that share a memory budget commit large transactions one after the other",
  async () => {
    const memory = new CommitMemory({ oneMax: 64 * MB, youngerMax: 2 * MB });
    const stores = await Promise.all([1, 2, 3].map(() => openStore({ memory })));
    let most = 0;
    const done = stores.map(({ store }) =>
      store.transactInSteps(function* watched(transaction: Transaction): Steps<void> {
        for (const _ of transaction.applyInSteps(inserts(2_000))) {
          most = Math.max(most, memory.bytes);
          yield;
        }
      }),
    );
    await Promise.all(done);
    // One of about 8 MB, and of the others what they may have beside it.
    expect(most).toBeGreaterThan(6 * MB);
    expect(most).toBeLessThan(12 * MB);
    expect(memory.bytes).toBe(0);
    for (const { store } of stores) expect(fieldsOf(store, "c", 1_999)).toBeDefined();
  },
);

test("[K76] small writes of another store continue while a large transaction waits", async () => {
  const memory = new CommitMemory({ oneMax: 64 * MB, youngerMax: 2 * MB });
  const other = memory.share();
  other.take(8 * MB);
  const large = await openStore({ memory });
  const small = await openStore({ memory });
  let isDone = false;
  const waiting = insertAll(large.store, 2_000).then(() => {
    isDone = true;
  });
  await settle();
  await insertAll(small.store, 10);
  expect(isDone).toBe(false);
  other.give();
  await waiting;
  expect(fieldsOf(large.store, "c", 1_999)).toBeDefined();
});
