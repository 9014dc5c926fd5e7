/**
 * What a device wrote does not vanish from it when it hears that the server applied it, whoever
 * follows the document then: nobody at the end would see that it was gone for a while.
 */

import { documentId, type Outcome, type Value } from "@bigpeer/protocol";
import { show } from "../../src/crdt/show.ts";
import { pendingChainOf } from "../../src/peer/chain.ts";
import type { ConfirmedBatch } from "../../src/peer/peer-layers.ts";
import type { PeerStore } from "../../src/peer/peer-store.ts";
import { type PendingWrite, pendingOver } from "../../src/peer/pending-view.ts";
import { heldKey, pendingKey, sequenceKey } from "../../src/store/keys.ts";
import {
  type Held,
  type PendingRecord,
  readHeld,
  serverFact,
} from "../../src/store/peer-records.ts";
import type { View } from "../../src/store/view.ts";
import { valueText } from "../support/dump.ts";
import { replace } from "../support/replaced-method.ts";
import { placeOf } from "./server-oracle.ts";

/** A document that an upload wrote, and what it wrote. */
interface OwnDocument {
  readonly collection: string;
  readonly id: Value;
  readonly writes: PendingWrite[];
  /** The transaction that the upload became. */
  readonly txn: number;
}

/** What a server says of a document. */
interface Said {
  readonly key: string;
  readonly isLetGo: boolean;
}

/** Looks at every outcome that a store takes. */
export function watchOwnWrites(store: PeerStore, fail: (detail: string) => void): void {
  const gone = new Set<string>();
  replace(store, "apply", (apply) => (batch) => {
    for (const { key, isLetGo } of saidIn(batch)) {
      if (isLetGo) gone.add(key);
      else gone.delete(key);
    }
    const written = store.store
      .read((view) => batch.outcomes.flatMap((outcome) => ownDocuments(view, outcome)))
      .filter(({ id }) => !gone.has(documentId(id).key));
    const taken = apply.call(store, batch);
    const check = (): void => {
      for (const own of written) {
        const lost = store.store.read((view) => lostOf(view, own));
        if (lost !== undefined) fail(`${placeOf(own.collection, own.id)}: ${lost}`);
      }
    };
    taken.then(check, () => undefined);
    return taken;
  });
}

/** Which documents are let go of. What may not be read may be held a little longer, as it was before. */
function saidIn({ parts, notices: reported = [], outcomes }: ConfirmedBatch): Said[] {
  const entries = [
    ...parts.flatMap((part) => part.entries),
    ...[...reported, ...outcomes.flatMap(({ documents }) => documents)].map(([, entry]) => entry),
  ];
  return entries.map(([kind, id]) => {
    const isLetGo = kind === "drop" || kind === "left" || kind === "deleted";
    return { key: documentId(id).key, isLetGo };
  });
}

function ownDocuments(view: View, { site, number, kind, txn }: Outcome): OwnDocument[] {
  const chain = kind === "applied" ? pendingChainOf(view.reader, site)?.chain : undefined;
  const key = chain === undefined ? undefined : view.reader.get(sequenceKey(chain, number));
  const record = key === undefined ? undefined : view.reader.get(pendingKey(key as number));
  if (record === undefined) return [];
  // What nobody covers any more goes with its last pending write.
  return writtenBy(record as unknown as PendingRecord, txn).filter(
    (own) => (heldOf(view, own)?.covers.length ?? 0) > 0,
  );
}

function writtenBy({ steps, site }: PendingRecord, txn: number): OwnDocument[] {
  const byPlace = new Map<string, OwnDocument>();
  for (const { time, operations } of steps) {
    for (const operation of operations) {
      const { collection, id } = operation;
      const place = placeOf(collection, id);
      const own = byPlace.get(place) ?? { collection, id, writes: [], txn };
      own.writes.push({ stamp: { time, site }, operation });
      byPlace.set(place, own);
    }
  }
  return [...byPlace.values()];
}

/**
 * What would show with the writes once more. Undefined when they show already, and when the server has
 * told of the document since: then it is what came of them, though it may have forgotten since that
 * they were deleted.
 */
function lostOf(view: View, own: OwnDocument): string | undefined {
  const held = heldOf(view, own);
  if (held?.epoch === serverFact(view.reader).epoch && held.version >= own.txn) return undefined;
  const { state } = view.state(own.collection, own.id);
  const found = valueText(show(state)?.fields);
  const expected = valueText(show(pendingOver(state, own.writes))?.fields);
  return found === expected ? undefined : `shows ${found}, with what was written ${expected}`;
}

function heldOf(view: View, { collection, id }: OwnDocument): Held | undefined {
  const number = view.collectionNumber(collection);
  const record = number && view.reader.get(heldKey(number, documentId(id).key));
  return record ? readHeld(record) : undefined;
}
