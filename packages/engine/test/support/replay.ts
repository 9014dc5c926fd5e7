/**
 * Replay: applies the log of one store to an empty one, as a node of a cluster would.
 */

import type { Value } from "@bigpeer/protocol";
import { replay as replayOne } from "../../src/cluster/replay.ts";
import type { Key } from "../../src/platform.ts";
import { finish } from "../../src/steps.ts";
import { transactionRange, txnIdOfKey } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import { dump } from "./open-store.ts";

/** The keys and values that the operations in the log of `storage` make of nothing. */
export async function replay(storage: MemoryKeyValue, site: string): Promise<Map<Key, Value>> {
  const target = new MemoryKeyValue(new MemoryDisk());
  const source = storage.snapshot();
  const range = transactionRange(0, Number.MAX_SAFE_INTEGER - 1);
  for (const { key, value } of source.entries(range)) {
    await applyRecord(target, txnIdOfKey(key), value as unknown as TransactionRecord, site);
  }
  source.close();
  return dump(target);
}

async function applyRecord(
  target: MemoryKeyValue,
  txnId: number,
  record: TransactionRecord,
  site: string,
): Promise<void> {
  const base = target.snapshot();
  const { overlay } = finish(replayOne(base, { txnId, record }, site));
  base.close();
  await target.commit(overlay.writes);
}
