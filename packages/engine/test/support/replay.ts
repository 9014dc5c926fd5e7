/**
 * Replay: applies the log of one store to an empty one, as a node of a cluster would.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key } from "../../src/platform.ts";
import { finish } from "../../src/steps.ts";
import { Applier } from "../../src/store/applier.ts";
import { transactionRange, txnIdOfKey } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Overlay } from "../../src/store/overlay.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import { View } from "../../src/store/view.ts";
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
  const overlay = new Overlay(base);
  const applier = new Applier(overlay, txnId, site);
  const view = new View(overlay);
  for (const [collection, id, version] of record.guards ?? []) {
    if (view.version(collection, id) !== version) throw new Error("a guard of the log fails");
    applier.guard(collection, id);
  }
  for (const step of record.steps) finish(applier.step(step));
  const finished = applier.finish({
    at: record.at,
    ...(record.requestId === undefined ? {} : { requestId: record.requestId }),
    ...(record.upload === undefined ? {} : { upload: record.upload }),
    ...(record.refusal === undefined ? {} : { refusal: record.refusal }),
    ...(record.via === undefined ? {} : { via: record.via }),
  });
  finish(finished);
  base.close();
  await target.commit(overlay.writes);
}
