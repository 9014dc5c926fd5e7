/**
 * What an outcome costs: not more for a document with thousands of writes that wait than for one with
 * a few.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { PeerStore } from "../../src/peer/peer-store.ts";
import type { Snapshot } from "../../src/platform.ts";
import { PENDING } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { fieldsOf, openStore } from "../support/open-store.ts";
import { APP, take, upload, welcome } from "../support/peer-pair.ts";
import { testPlatform } from "../support/test-platform.ts";

const INCREMENT: Operation = {
  kind: "update",
  collection: "c",
  id: "a",
  edits: [{ kind: "increment", path: ["k"], by: 1 }],
};

/** Counts the pending transactions that are read. */
class CountingKeyValue extends MemoryKeyValue {
  reads = 0;

  override snapshot(): Snapshot {
    const snapshot = super.snapshot();
    const get = snapshot.get.bind(snapshot);
    snapshot.get = (key, fields) => {
      if (key >= PENDING.from && key < PENDING.to) this.reads++;
      return get(key, fields);
    };
    return snapshot;
  }
}

/** Reads for the outcomes of ten uploads, while so many more wait. */
async function readsWith(waiting: number): Promise<number> {
  const { store: server } = await openStore({}, testPlatform(1001));
  const storage = new CountingKeyValue();
  const platform = testPlatform(1);
  const peer = await PeerStore.open(storage, platform, { appId: APP });
  const pair = { server, peer, storage, platform };
  await welcome(pair);
  const insert: Operation = { kind: "insert", collection: "c", id: "a", fields: {} };
  for (const operation of [insert, ...Array.from({ length: waiting + 9 }, () => INCREMENT)]) {
    await peer.store.transact((transaction) => transaction.apply([operation]));
  }
  const sequenced = await peer.sequence(0, 10);
  const outcomes = [];
  for (const each of sequenced) outcomes.push(await upload(pair, each));
  storage.reads = 0;
  await take(pair, ...outcomes);
  const { reads } = storage;
  expect(peer.pendingCount).toBe(waiting);
  expect(fieldsOf(peer.store, "c", "a")).toEqual({ k: waiting + 9 });
  return reads;
}

test("[S35] the cost of an outcome does not depend on how many writes to the document are pending", async () => {
  expect(await readsWith(500)).toBe(await readsWith(50));
});
