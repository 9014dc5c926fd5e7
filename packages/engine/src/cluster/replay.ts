/**
 * Replay: applies a transaction of the shared log to a store, as the evaluating node did: the result
 * is the same, byte for byte (K20).
 */

import { PeerError, type Site } from "@bigpeer/protocol";
import type { Reader } from "../platform.ts";
import type { Steps } from "../steps.ts";
import { Applier } from "../store/applier.ts";
import { Overlay } from "../store/overlay.ts";
import type { Origin, TransactionRecord } from "../store/records.ts";
import { View } from "../store/view.ts";
import type { SharedRecord, SharedTransaction } from "./log-entry.ts";

export interface Replayed {
  readonly overlay: Overlay;
  readonly record: TransactionRecord;
}

/**
 * Applies a transaction over `base`. Throws `store.corrupt` if the store is not in the state in which
 * it was evaluated: then the nodes differ.
 */
export function* replay(
  base: Reader,
  { txnId, record: shared }: SharedTransaction,
  site: Site,
): Steps<Replayed> {
  const overlay = new Overlay(base);
  const applier = new Applier(overlay, txnId, site);
  const view = new View(overlay);
  for (const [collection, id, version] of shared.guards ?? []) {
    if (view.version(collection, id) !== version) throw differs(txnId);
    applier.guard(collection, id);
    yield;
  }
  for (const step of shared.steps) {
    yield* applier.step(step);
    yield;
  }
  const record = yield* applier.finish(originOf(shared));
  if (record === undefined) throw differs(txnId);
  return { overlay, record };
}

function originOf({ at, requestId, upload, refusal, via, by }: SharedRecord): Origin {
  return { at, requestId, upload, refusal, via, by };
}

function differs(txnId: number): PeerError {
  const message = `transaction ${txnId} of the cluster does not fit the state of this store`;
  return new PeerError("store.corrupt", message);
}
