/**
 * Sweep: releases documents that no subscription covers any more, in bounded transactions.
 *
 * The reason for a sweep stays on record until its last transaction, so an interrupted sweep is
 * repeated.
 */

import type { Key } from "../platform.ts";
import {
  collectionOfKey,
  documentKey,
  HELD,
  ID_OFFSET,
  readTombstoneKey,
  tombstoneRange,
} from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import type { View } from "../store/view.ts";
import { type LayeredDocument, Layers } from "./layers.ts";

/** Documents that one transaction of a sweep visits. */
const SWEEP_BATCH = 1000;

/** Calls `visit` for each document that the peer holds, and writes its changes. */
export async function sweepHeld(
  store: Store,
  visit: (document: LayeredDocument) => void,
): Promise<void> {
  let after: Key | undefined;
  do {
    const from = after;
    const { result } = await store.transact((transaction) => {
      const layers = new Layers(transaction);
      const last = sweepSome(layers, from, visit);
      layers.flush();
      return last;
    });
    after = result;
  } while (after !== undefined);
}

/** Continues after a key. Returns the last key that it visited; undefined at the end. */
function sweepSome(
  layers: Layers,
  after: Key | undefined,
  visit: (document: LayeredDocument) => void,
): Key | undefined {
  const names = namesOf(layers.view);
  const range = { from: after === undefined ? HELD.from : `${after}\x00`, to: HELD.to };
  let seen = 0;
  for (const key of layers.view.reader.keys(range)) {
    const collection = names.get(collectionOfKey(key));
    if (collection !== undefined) visit(layers.documentByKey(collection, key.slice(ID_OFFSET)));
    if (++seen === SWEEP_BATCH) return key;
  }
  return undefined;
}

/**
 * Forgets documents that were deleted up to a time (S36). UNSETs stay until the server has
 * forgotten them, because increments name them as their birth.
 */
export async function forgetDeleted(store: Store, upToTime: number): Promise<void> {
  let after: Key | undefined;
  do {
    const from = after;
    const { result } = await store.transact((transaction) => {
      const layers = new Layers(transaction);
      const last = forgetSome(layers, from, upToTime);
      layers.flush();
      return last;
    });
    after = result;
  } while (after !== undefined);
}

function forgetSome(layers: Layers, after: Key | undefined, upToTime: number): Key | undefined {
  const { reader } = layers.view;
  const names = namesOf(layers.view);
  const { from, to } = tombstoneRange(upToTime);
  let seen = 0;
  for (const key of reader.keys({ from: after === undefined ? from : `${after}\x00`, to })) {
    const { collection, idKey } = readTombstoneKey(key);
    const name = names.get(collection);
    if (name !== undefined && !reader.has(documentKey(collection, idKey))) {
      const document = layers.documentByKey(name, idKey);
      if (!document.isPending) document.forget();
    }
    if (++seen === SWEEP_BATCH) return key;
  }
  return undefined;
}

function namesOf(view: View): Map<number, string> {
  const names = new Map<number, string>();
  for (const name of view.collections()) {
    const number = view.collectionNumber(name);
    if (number !== undefined) names.set(number, name);
  }
  return names;
}
