/**
 * What is done of a large round between two pauses, counted: bytes sent, documents looked for,
 * operations gone through. Never the time.
 */

import { setImmediate } from "node:timers/promises";
import type { Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import { StoreSnapshot } from "../../src/store/store.ts";
import type { WindowDocument } from "../../src/sync/log/change-window.ts";
import { WrittenStamps } from "../../src/sync/log/written-stamps.ts";
import { Outbox } from "../../src/sync/outbox/outbox.ts";
import { openStreams, turns } from "../support/open-streams.ts";
import { replace } from "../support/replaced-method.ts";

/** A platform on which every look at the clock ends a slice, and what is counted between pauses. */
class Counter {
  most = 0;
  total = 0;
  #count = 0;
  #nowMs = 0;

  readonly platform = {
    elapsed: (): number => (this.#nowMs += 20),
    pause: async (): Promise<void> => {
      this.#count = 0;
      await setImmediate();
    },
  };

  add(count: number): void {
    this.#count += count;
    this.total += count;
    this.most = Math.max(this.most, this.#count);
  }

  reset(): void {
    this.most = 0;
    this.total = 0;
  }
}

const ALL = "SELECT * FROM cars";

function cars(count: number, size: number): Value[] {
  return Array.from({ length: count }, (_, i) => ({ _id: `car ${i}`, text: "x".repeat(size) }));
}

test("[S10] a round sends a few hundred kilobytes between two pauses, to any number of sessions", async () => {
  const counter = new Counter();
  const opened = await openStreams({ platform: counter.platform });
  for (let i = 0; i < 32; i++) await opened.follow(ALL);
  const mend = replace(Outbox.prototype, "send", (original) => {
    return function send(this: Outbox, bytes: Uint8Array): void {
      counter.add(bytes.length);
      original.call(this, bytes);
    };
  });
  try {
    counter.reset();
    await opened.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents: cars(200, 1000) });
    await turns(2000);
  } finally {
    mend();
  }
  // Two hundred kilobytes for each of them, all of which were sent.
  expect(counter.total).toBeGreaterThan(32 * 200_000);
  expect(counter.most).toBeLessThan(512 * 1024);
});

test.runIf(isFullSize)(
  "[S28] documents of an outcome are read a few at a time, also if nothing is sent",
  async () => {
    const counter = new Counter();
    const opened = await openStreams({ platform: counter.platform });
    const { receiver } = await opened.follow(ALL);
    await opened.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents: cars(1000, 10) });
    await turns(3000);
    const mend = replace(StoreSnapshot.prototype, "getByKey", (original) => {
      return function getByKey(this: StoreSnapshot, ...given: Parameters<typeof original>) {
        counter.add(1);
        return original.apply(this, given);
      };
    });
    try {
      counter.reset();
      const documents = Array.from({ length: 1000 }, (_, i) => {
        return { collection: "cars", id: `car ${i}` };
      });
      const { txnId: txn } = opened.store;
      const outcome = {
        site: "0000000000000001",
        number: 1,
        kind: "applied" as const,
        txn,
        reason: "",
      };
      receiver.session.outcome({ ...outcome, documents });
      await turns(1000);
    } finally {
      mend();
    }
    expect(receiver.outcomes).toHaveLength(1);
    expect(counter.total).toBe(1000);
    expect(counter.most).toBeLessThanOrEqual(16);
  },
);

test("the documents of a large transaction are listed a few operations at a time, in one walk", () => {
  const count = 50_000;
  let read = 0;
  let most = 0;
  const operations = Array.from({ length: count }, (_, i): Operation => {
    return {
      kind: "update",
      collection: "cars",
      get id() {
        most = Math.max(most, ++read);
        return i % 2;
      },
      edits: [],
    };
  });
  const steps = operations.map((operation, i) => ({ time: i + 1, operations: [operation] }));
  const record: TransactionRecord = { at: 0, steps, changes: [], size: 0 };
  const change = { txnId: 5, previous: 1, before: null, record };
  const document: WindowDocument = {
    collection: "cars",
    id: 1,
    idKey: "",
    changes: [change],
    isEvicted: false,
  };
  const learning = new WrittenStamps("00000000000000aa").learn(document);
  while (learning.next().done !== true) read = 0;
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(64);
});
