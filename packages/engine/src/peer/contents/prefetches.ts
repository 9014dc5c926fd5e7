/**
 * Prefetches: the subscriptions whose attachments are fetched in advance. It finds the attachments of
 * documents that arrive for them, and of those that are on the device already.
 */

import { documentTokens, type TokenContent } from "../../store/attachment-tokens.ts";
import { heldKey, readReferenceKey, referencesBehind } from "../../store/keys.ts";
import { readHeld } from "../../store/peer-records.ts";
import type { Store } from "../../store/store.ts";
import type { View } from "../../store/view.ts";
import type { ConfirmedBatch } from "../peer-layers.ts";
import type { KnownSubscription } from "../subscriptions.ts";

export class Prefetches {
  readonly #store: Store;
  /** How often each subscription wants it. */
  readonly #wanted = new Map<string, { readonly known: KnownSubscription; count: number }>();
  readonly #onWanted: (contents: readonly TokenContent[]) => void;

  /** `onWanted` receives the attachments of documents that are here or arrive. */
  constructor(store: Store, onWanted: (contents: readonly TokenContent[]) => void) {
    this.#store = store;
    this.#onWanted = onWanted;
  }

  /** Returns a function that ends it. */
  add(known: KnownSubscription): () => void {
    const entry = this.#wanted.get(known.key) ?? { known, count: 0 };
    this.#wanted.set(known.key, entry);
    entry.count++;
    this.#report(this.#store.read((view) => [...coveredTokens(view, known)]));
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--entry.count === 0) this.#wanted.delete(known.key);
    };
  }

  /** The attachments of documents that the subscriptions cover. */
  ids(): ReadonlySet<string> {
    return this.#store.read((view) => {
      const ids = new Set<string>();
      for (const { known } of this.#wanted.values()) {
        for (const { id } of coveredTokens(view, known)) ids.add(id);
      }
      return ids;
    });
  }

  /** A batch of the server was applied. */
  applied({ parts }: ConfirmedBatch): void {
    if (this.#wanted.size === 0) return;
    const found: TokenContent[] = [];
    this.#store.read((view) => {
      for (const { subscription, entries } of parts) {
        const collection = this.#wanted.get(subscription)?.known.collection;
        if (collection === undefined) continue;
        for (const [, id] of entries) {
          const document = view.get(collection, id);
          if (document !== undefined) found.push(...documentTokens(document));
        }
      }
    });
    this.#report(found);
  }

  #report(contents: readonly TokenContent[]): void {
    if (contents.length > 0) this.#onWanted(contents);
  }
}

/** The attachments of documents that a subscription covers. */
function* coveredTokens(
  view: View,
  { collection, number }: KnownSubscription,
): Iterable<TokenContent> {
  const own = view.collectionNumber(collection);
  for (const key of view.reader.keys(referencesBehind())) {
    const { collection: from, idKey } = readReferenceKey(key);
    if (from !== own) continue;
    const held = view.reader.get(heldKey(from, idKey));
    if (held === undefined || !readHeld(held).covers.includes(number)) continue;
    const document = view.getByKey(collection, idKey);
    if (document !== undefined) yield* documentTokens(document);
  }
}
