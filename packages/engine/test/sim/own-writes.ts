/**
 * What a device wrote does not vanish from it when it hears that the server applied it, whoever
 * follows the document then: nobody at the end would see that it was gone for a while.
 */

import type { Outcome, Value } from "@bigpeer/protocol";
import { isShown, show } from "../../src/crdt/show.ts";
import { pendingChainOf } from "../../src/peer/chain.ts";
import type { PeerStore } from "../../src/peer/peer-store.ts";
import { type PendingWrite, pendingOver } from "../../src/peer/pending-view.ts";
import { pendingKey, sealKey } from "../../src/store/keys.ts";
import type { PendingRecord } from "../../src/store/peer-records.ts";
import type { View } from "../../src/store/view.ts";
import { valueText } from "../support/dump.ts";
import { replace } from "../support/replaced-method.ts";
import { placeOf } from "./server-oracle.ts";

/** A document that an upload wrote, and what it wrote. */
interface OwnDocument {
  readonly collection: string;
  readonly id: Value;
  readonly writes: PendingWrite[];
}

/** Looks at every outcome that a store takes. */
export function watchOwnWrites(store: PeerStore, fail: (detail: string) => void): void {
  replace(store, "apply", (apply) => (batch) => {
    const applied = batch.outcomes.filter(({ kind }) => kind === "applied");
    const written = store.store.read((view) =>
      applied.flatMap((outcome) => ownDocuments(view, outcome)),
    );
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

/** What the upload wrote, but for what the server says is not to be read any more. */
function ownDocuments(view: View, { site, number, documents }: Outcome): OwnDocument[] {
  const chain = pendingChainOf(view.reader, site)?.chain;
  const key = chain === undefined ? undefined : view.reader.get(sealKey(chain, number));
  const record = key === undefined ? undefined : view.reader.get(pendingKey(key as number));
  if (record === undefined) return [];
  const byPlace = writesOf(record as unknown as PendingRecord);
  for (const [collection, [kind, id]] of documents) {
    if (kind === "drop") byPlace.delete(placeOf(collection, id));
  }
  return [...byPlace.values()];
}

function writesOf({ steps, site }: PendingRecord): Map<string, OwnDocument> {
  const byPlace = new Map<string, OwnDocument>();
  for (const { time, operations } of steps) {
    for (const operation of operations) {
      const { collection, id } = operation;
      const place = placeOf(collection, id);
      const own = byPlace.get(place) ?? { collection, id, writes: [] };
      own.writes.push({ stamp: { time, site }, operation });
      byPlace.set(place, own);
    }
  }
  return byPlace;
}

/** What would show with the writes once more; undefined when it shows, or nothing does any more. */
function lostOf(view: View, { collection, id, writes }: OwnDocument): string | undefined {
  const { state } = view.state(collection, id);
  if (!isShown(state)) return undefined;
  const found = valueText(show(state)?.fields);
  const expected = valueText(show(pendingOver(state, writes))?.fields);
  return found === expected ? undefined : `shows ${found}, with what was written ${expected}`;
}
