/**
 * Written stamps: the stamps that each transaction wrote to each document. Deltas are made from
 * them.
 */

import {
  beforeStamp,
  documentId,
  isDocumentOperation,
  type Operation,
  type Site,
  type Stamp,
  ZERO,
} from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { TransactionRecord } from "../../store/records.ts";
import type { WindowDocument } from "./change-window.ts";

/** Operations that are processed between two pauses. */
const OPERATIONS_PER_PAUSE = 64;

/** Remembers the stamps of a transaction as long as a change window holds its record. */
export class WrittenStamps {
  readonly #site: Site;
  readonly #byRecord = new WeakMap<TransactionRecord, Map<string, readonly Stamp[] | undefined>>();

  /** `site`: site of the store, which its own steps leave out. */
  constructor(site: Site) {
    this.#site = site;
  }

  /**
   * Names of all stamps that the changes after `since` wrote to a document. Undefined if one of the
   * changes leaves no stamp, or if the state may have lost it. The caller must have called `learn`
   * for the document.
   */
  since(document: WindowDocument, since: number, horizon: number): Set<string> | undefined {
    const names = new Set<string>();
    for (const { txnId, record } of document.changes) {
      if (txnId <= since) break;
      const stamps = this.#byRecord.get(record)?.get(placeOf(document.collection, document.idKey));
      if (stamps === undefined) return undefined;
      for (const stamp of stamps) {
        if (stamp.time > 0 && stamp.time <= horizon) return undefined;
        names.add(stampName(stamp));
      }
    }
    return names;
  }

  /** Reads the transactions that changed a document, each once for all documents. */
  *learn({ changes }: WindowDocument): Steps<void> {
    for (const { record } of changes) {
      if (!this.#byRecord.has(record)) this.#byRecord.set(record, yield* this.#read(record));
    }
  }

  *#read(record: TransactionRecord): Steps<Map<string, Stamp[] | undefined>> {
    const byPlace = new Map<string, Stamp[] | undefined>();
    let count = 0;
    for (const { time, site, operations } of record.steps) {
      const own: Stamp = { time, site: site ?? this.#site };
      for (const operation of operations) {
        if (++count % OPERATIONS_PER_PAUSE === 0) yield;
        if (!isDocumentOperation(operation)) continue;
        const place = placeOf(operation.collection, documentId(operation.id).key);
        addWritten(byPlace, place, stampOf(operation, own));
      }
    }
    return byPlace;
  }
}

/** Stamp that an operation writes; undefined if it leaves none. */
function stampOf({ kind }: Operation, own: Stamp): Stamp | undefined {
  if (kind === "evict" || kind === "merge") return undefined;
  return kind === "initial" ? ZERO : own;
}

/** After an operation that leaves no stamp, the stamps of the document stay undefined. */
function addWritten(
  byPlace: Map<string, Stamp[] | undefined>,
  place: string,
  written: Stamp | undefined,
): void {
  const known = byPlace.get(place);
  if (known === undefined && byPlace.has(place)) return;
  if (written === undefined) byPlace.set(place, undefined);
  else if (known === undefined) byPlace.set(place, [written, beforeStamp(written)]);
  else if (known.at(-2) !== written) known.push(written, beforeStamp(written));
}

function placeOf(collection: string, idKey: string): string {
  return `${collection.length} ${collection}${idKey}`;
}

export function stampName({ time, site }: Stamp): string {
  return `${time}/${site}`;
}
