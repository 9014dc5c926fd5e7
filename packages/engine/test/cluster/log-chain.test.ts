/**
 * The log of a cluster: what one store commits becomes entries, and another store that follows them
 * becomes the same; an entry that does not belong there is found.
 */

import { encodeCbor, type Operation, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { LogChain, PARTS_BYTES_MAX } from "../../src/cluster/log-chain.ts";
import {
  contentsOf,
  decodeEntry,
  type EntryContent,
  encodeEntry,
  FIRST_DIGEST,
  type SharedTransaction,
} from "../../src/cluster/log-entry.ts";
import { replay } from "../../src/cluster/replay.ts";
import type { Key } from "../../src/platform.ts";
import { finish } from "../../src/steps.ts";
import { HEAD_KEY, IDENTITY_KEY } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { FIRST_HEAD } from "../../src/store/records.ts";
import { Store } from "../../src/store/store.ts";
import { type TransactionLog, writesLog } from "../../src/store/transaction-log.ts";
import { dump } from "../support/open-store.ts";
import { testPlatform } from "../support/test-platform.ts";

const platform = testPlatform();

interface Appended {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/** A log in memory, written by one node. */
class Log {
  readonly entries: Appended[] = [];
  #digest = FIRST_DIGEST;
  epoch = 1;
  writer = "w";

  add(content: EntryContent): void {
    const entry = encodeEntry(
      { format: 1, epoch: this.epoch, writer: this.writer, previous: this.#digest, content },
      platform,
    );
    this.#digest = entry.digest;
    this.entries.push({ sequence: this.entries.length + 1, bytes: entry.bytes });
  }
}

/** A store that notes the transactions of each flush. */
async function openNoting(): Promise<{
  store: Store;
  storage: MemoryKeyValue;
  flushes: (readonly SharedTransaction[])[];
}> {
  const storage = new MemoryKeyValue(new MemoryDisk());
  const flushes: (readonly SharedTransaction[])[] = [];
  const inner = writesLog(storage);
  const log: TransactionLog = {
    append: (group) => {
      flushes.push(group.transactions);
      return inner.append(group);
    },
  };
  return { store: await Store.open(storage, platform, { log }), storage, flushes };
}

/** The keys and values of a store that follows the log from the beginning. */
async function follow(log: Log, store: Store): Promise<Map<Key, Value>> {
  const storage = new MemoryKeyValue(new MemoryDisk());
  const { identity } = store;
  await storage.commit(
    new Map<Key, Value>([
      [IDENTITY_KEY, identity],
      [HEAD_KEY, FIRST_HEAD],
    ]),
  );
  const chain = new LogChain(platform);
  for (const { sequence, bytes } of log.entries) {
    for (const transaction of finish(chain.take(sequence, bytes)).transactions) {
      const snapshot = storage.snapshot();
      const { overlay } = finish(replay(snapshot, transaction, identity.site));
      snapshot.close();
      await storage.commit(overlay.writes);
    }
  }
  return dump(storage);
}

const fields = fc.dictionary(
  fc.constantFrom("a", "b", "__proto__"),
  fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string({ maxLength: 40 }),
    fc.uint8Array(),
    fc.constant(-0),
  ),
  { maxKeys: 3 },
);

const operation: fc.Arbitrary<Operation> = fc
  .record({ kind: fc.constantFrom("insert", "update", "delete"), id: fc.nat(4), fields })
  .map(({ kind, id, fields: given }): Operation => {
    const value = given as { [name: string]: Value };
    if (kind === "insert") return { kind, collection: "cars", id, fields: value };
    if (kind === "delete") return { kind, collection: "cars", id };
    const edits = [{ kind: "set", path: [], value } as const];
    return { kind: "update", collection: "cars", id, edits };
  });

test("[K20] a store that follows the log of another becomes the same, however its flushes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 1, maxLength: 12 }),
      fc.constantFrom(1, 7, 64, 300, 4_000_000),
      async (operations, sizeMax) => {
        const { store, storage, flushes } = await openNoting();
        await Promise.allSettled(
          operations.map((each) => store.transact((transaction) => transaction.apply([each]))),
        );
        const log = new Log();
        for (const flush of flushes) {
          for (const content of finish(contentsOf(flush, sizeMax))) log.add(content);
        }
        expect(await follow(log, store)).toEqual(dump(storage));
      },
    ),
    { numRuns: 60 },
  );
});

/** A log of some transactions, each in an entry of its own, after that of its history. */
async function someLog(): Promise<Log> {
  const { store, flushes } = await openNoting();
  const { historyId, site } = store.identity;
  const log = new Log();
  log.add({ kind: "history", historyId, site, txnId: 0 });
  for (let id = 0; id < 4; id++) {
    await store.transact((transaction) =>
      transaction.apply([{ kind: "insert", collection: "cars", id, fields: { id } }]),
    );
  }
  for (const content of flushes.flatMap((flush) => finish(contentsOf(flush)))) log.add(content);
  return log;
}

function take(
  chain: LogChain,
  entry: Appended | undefined,
  sequence = entry?.sequence ?? 0,
): number {
  return finish(chain.take(sequence, entry?.bytes ?? new Uint8Array())).transactions.length;
}

test("an entry that does not continue the chain is refused, and the right one is taken afterwards", async () => {
  const { entries } = await someLog();
  const other = (await someLog()).entries;
  const chain = new LogChain(platform);
  take(chain, entries[0]);
  const { last } = chain;
  expect(() => take(chain, entries[2], 2)).toThrow("does not continue entry 1");
  expect(() => take(chain, other[1])).toThrow("does not continue entry 1");
  expect(() => take(chain, entries[1], 1)).toThrow("it comes after entry 1");
  const changed = Uint8Array.from(entries[1]?.bytes ?? []);
  changed[changed.length - 1] = 23;
  // The next entry shows it: the digest of an entry is in the one after it.
  const beside = new LogChain(platform, last);
  expect(() => {
    take(beside, { sequence: 2, bytes: changed });
    take(beside, entries[2]);
  }).toThrow("expected");
  expect(chain.last).toBe(last);
  expect(take(chain, entries[1])).toBe(1);
});

test("a writer whose epoch is over is refused", async () => {
  const log = new Log();
  log.epoch = 3;
  log.add({ kind: "transactions", transactions: [] });
  log.epoch = 2;
  log.add({ kind: "transactions", transactions: [] });
  const chain = new LogChain(platform);
  take(chain, log.entries[0]);
  expect(() => take(chain, log.entries[1])).toThrow("its epoch 2 is over since epoch 3");
});

test("an epoch has one writer", async () => {
  const log = new Log();
  log.add({ kind: "transactions", transactions: [] });
  log.writer = "other";
  log.add({ kind: "transactions", transactions: [] });
  const chain = new LogChain(platform);
  take(chain, log.entries[0]);
  expect(() => take(chain, log.entries[1])).toThrow("epoch 1 has another writer");
});

test("parts apply when the last one is there, and a new epoch voids unfinished ones", async () => {
  const { store, flushes } = await openNoting();
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: 1, fields: { t: "x".repeat(100) } }]),
  );
  const parts = finish(contentsOf(flushes.flat(), 80));
  expect(parts.length).toBeGreaterThan(2);
  const log = new Log();
  for (const part of parts.slice(0, -1)) log.add(part);
  log.epoch = 2;
  for (const part of parts) log.add(part);
  const chain = new LogChain(platform);
  const counts = log.entries.map((entry) => {
    const count = take(chain, entry);
    expect(chain.complete.sequence).toBe(count === 1 ? entry.sequence : 0);
    return count;
  });
  expect(counts.at(-1)).toBe(1);
  expect(counts.slice(0, -1).every((count) => count === 0)).toBe(true);
});

test("parts out of order, and other entries between them, are refused", async () => {
  const part = (number: number): EntryContent => {
    return { kind: "part", number, count: 3, bytes: new Uint8Array(4) };
  };
  const following: [EntryContent, string][] = [
    [part(1), "part 1 of 3 is not the next one"],
    [part(3), "part 3 of 3 is not the next one"],
    [{ ...part(2), count: 4 } as EntryContent, "part 2 of 4 is not the next one"],
    [{ kind: "transactions", transactions: [] }, "the parts before it are not complete"],
  ];
  for (const [content, message] of following) {
    const log = new Log();
    log.add(part(1));
    log.add(content);
    const chain = new LogChain(platform);
    take(chain, log.entries[0]);
    expect(() => take(chain, log.entries[1])).toThrow(message);
  }
});

test.runIf(isFullSize)(
  "the parts of a flush together have a bound, so that none can fill the memory",
  () => {
    const bytes = new Uint8Array(16 * 1024 * 1024);
    const log = new Log();
    for (let number = 1; number <= 20; number++) {
      log.add({ kind: "part", number, count: 1000, bytes });
    }
    const chain = new LogChain(platform);
    const takeAll = (): void => log.entries.forEach((entry) => take(chain, entry));
    expect(takeAll).toThrow(`its parts have more than ${PARTS_BYTES_MAX} bytes`);
    expect(chain.last.sequence).toBe(PARTS_BYTES_MAX / bytes.length);
  },
);

test("bytes that are no entry, and entries of a newer format, are refused with the reason", () => {
  const head = { format: 1, epoch: 1, writer: "w", previous: FIRST_DIGEST };
  const cases: [Value, string][] = [
    [1, "it is no object"],
    [{}, "its head is not valid"],
    [{ ...head, previous: new Uint8Array(3), kind: "transactions" }, "its head is not valid"],
    [{ ...head, epoch: -1 }, "its head is not valid"],
    [{ ...head, writer: 1 }, "its head is not valid"],
    [{ ...head, kind: "other" }, "its content is not valid"],
    [{ ...head, kind: "transactions", transactions: [1] }, "its content is not valid"],
    [{ ...head, kind: "transactions" }, "its content is not valid"],
    [{ ...head, kind: "part", number: 2, count: 1, bytes: new Uint8Array() }, "content"],
    [{ ...head, kind: "history", historyId: "h", site: 1, txnId: 0 }, "content"],
    [{ ...head, format: 0 }, "its head is not valid"],
    [{ ...head, format: 3 }, "entries of format 3, this node reads up to 2: upgrade this node"],
  ];
  for (const [value, message] of cases) {
    expect(() => decodeEntry(encodeCbor(value))).toThrow(message);
  }
  expect(() => decodeEntry(new Uint8Array([0xff]))).toThrow("it is no CBOR");
  const chain = new LogChain(platform);
  for (const transactions of [[new Uint8Array([0xff])], [encodeCbor([1])], [encodeCbor("x")]]) {
    const { bytes } = encodeEntry(
      {
        format: 1,
        epoch: 1,
        writer: "w",
        previous: FIRST_DIGEST,
        content: { kind: "transactions", transactions },
      },
      platform,
    );
    expect(() => finish(chain.take(1, bytes))).toThrow("a transaction in it");
  }
});

test("the first entry says which history a log is", () => {
  const log = new Log();
  log.add({ kind: "history", historyId: "h", site: "s", txnId: 7 });
  const [entry] = log.entries;
  const { history } = finish(new LogChain(platform).take(1, entry?.bytes ?? new Uint8Array()));
  expect(history).toEqual({ kind: "history", historyId: "h", site: "s", txnId: 7 });
});

test("[K20] a transaction that does not fit the state of a store is refused", async () => {
  const { store, flushes } = await openNoting();
  await store.transact((transaction) => {
    transaction.get("cars", 1);
    return transaction.apply([{ kind: "insert", collection: "cars", id: 2, fields: {} }]);
  });
  const [transaction] = flushes.flat();
  const { store: other, storage } = await openNoting();
  await other.transact((each) =>
    each.apply([{ kind: "insert", collection: "cars", id: 1, fields: {} }]),
  );
  const snapshot = storage.snapshot();
  const later = { txnId: 9, record: transaction?.record } as SharedTransaction;
  expect(() => finish(replay(snapshot, later, "s"))).toThrow("does not fit the state");
  snapshot.close();
});
