import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Crash } from "../../src/store/memory-disk.ts";
import { fieldsOf, problems } from "../support/open-store.ts";
import {
  ALL,
  crashAfter,
  FILTER,
  type PeerPair,
  peerPair,
  reopen,
  send,
  uploadAll,
  welcome,
} from "../support/peer-pair.ts";

const INCREMENT: Operation = {
  kind: "update",
  collection: "c",
  id: "a",
  edits: [{ kind: "increment", path: ["k"], by: 1 }],
};

/** Everything that a peer does, in an order that makes each step rest on those before it. */
async function live(pair: PeerPair, acknowledged: { count: number }): Promise<void> {
  const { peer } = pair;
  const { key } = peer.subscription(ALL);
  const increment = async (): Promise<void> => {
    await peer.store.transact((transaction) => transaction.apply([INCREMENT]));
    acknowledged.count++;
  };
  await send(pair, key, "a");
  await increment();
  await increment();
  await peer.sequence(0, 1);
  await increment();
  await uploadAll(pair);
  const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
  await peer.apply({ parts: [], outcomes: [], completed });
  await increment();
  await peer.sequence(0, 10);
  await increment();
  await peer.fork(peer.site, 4);
  await increment();
  await uploadAll(pair, 2000);
  await peer.store.transact((transaction) =>
    transaction.apply([{ kind: "evict", collection: "c", id: "a" }]),
  );
  await welcome(pair, new Uint8Array([9]));
  await send(pair, key, "a");
  await increment();
}

/** What a crash does to commits that were not synced: also to those that were relaxed. */
const CRASHES: readonly Crash[] = [
  { unsynced: "lost" },
  { unsynced: "kept" },
  { unsynced: "lost", relaxedLost: 1 },
  { unsynced: "lost", relaxedLost: Number.POSITIVE_INFINITY },
];

test("[S35] [K94] a crash at any write leaves both layers intact, and every write counts once", async () => {
  for (const crash of CRASHES) {
    for (let count = 0; ; count++) {
      const where = `after ${count} commits, ${JSON.stringify(crash)}`;
      const pair = await peerPair(count + 1);
      await pair.server.transact((transaction) =>
        transaction.apply([{ kind: "insert", collection: "c", id: "a", fields: { n: 1 } }]),
      );
      pair.disk.holdSyncs();
      const acknowledged = { count: 0 };
      void live(pair, acknowledged).catch(() => {});
      const isCrashed = await crashAfter(pair, count, crash);
      if (!isCrashed) pair.disk.releaseSyncs();
      await reopen(pair, { isCrash: true });
      expect(problems(pair.storage), where).toEqual([]);
      await welcome(pair);
      const { key } = pair.peer.subscription(ALL);
      await uploadAll(pair);
      await send(pair, key, "a");
      expect(problems(pair.storage), where).toEqual([]);
      expect(pair.peer.pendingCount, where).toBe(0);
      const found = pair.server.read((snapshot) => snapshot.get("c", "a")?.fields["k"]) ?? 0;
      // The one that was under way may have reached the disk.
      expect([acknowledged.count, acknowledged.count + 1], where).toContain(found);
      expect(fieldsOf(pair.peer.store, "c", "a"), where).toEqual(
        found === 0 ? { n: 1 } : { n: 1, k: found },
      );
      if (isCrashed) continue;
      expect(acknowledged.count).toBe(7);
      break;
    }
  }
});
