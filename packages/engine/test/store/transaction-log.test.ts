import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { transactionKey } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import {
  type CommitGroup,
  type TransactionLog,
  writesLog,
} from "../../src/store/transaction-log.ts";
import { testPlatform } from "../support/test-platform.ts";

function insert(id: number): Operation {
  return { kind: "insert", collection: "cars", id, fields: { id } };
}

test("[K22] a log gets the transactions of a flush in order, as the change log has them, with their keys", async () => {
  const storage = new MemoryKeyValue();
  const groups: CommitGroup[] = [];
  const below = writesLog(storage);
  const log: TransactionLog = {
    append: (group) => {
      groups.push(group);
      return below.append(group);
    },
  };
  const store = await Store.open(storage, testPlatform(), { log });
  const written = [1, 2, 3].map((id) =>
    store.transact((transaction) => transaction.apply([insert(id)])),
  );
  const txnIds = (await Promise.all(written)).map(({ txnId }) => txnId);
  expect(groups).toHaveLength(1);
  for (const { transactions, writes } of groups) {
    expect(transactions.map(({ txnId }) => txnId)).toEqual(txnIds);
    for (const { txnId, record } of transactions) {
      expect(writes.get(transactionKey(txnId))).toBe(record);
    }
  }
  await store.close();
});

test("[K24] a group that a log refuses fails its requests, and changes nothing", async () => {
  const storage = new MemoryKeyValue();
  const log: TransactionLog = { append: () => Promise.reject(new Error("no quorum")) };
  const store = await Store.open(storage, testPlatform(), { log });
  await expect(store.transact((transaction) => transaction.apply([insert(1)]))).rejects.toThrow(
    "no quorum",
  );
  expect(store.read((snapshot) => snapshot.get("cars", 1))).toBeUndefined();
  await store.close();
});
