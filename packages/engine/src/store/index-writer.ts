/**
 * Index writer: keeps the indexes of a store in step with its documents, inside one transaction.
 *
 * A part of the applier: it changes keys only through the overlay of the transaction, and depends on
 * nothing but what is in there (K20). A document of a collection without an index costs one look
 * into a map, and nothing at all in a store that never had one.
 */

import { compareText } from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import { entryKeyOf } from "./index-entry.ts";
import { documentRange, entryPrefix, ID_OFFSET, indexListKey, prefixRange } from "./keys.ts";
import type { Overlay } from "./overlay.ts";
import { type IndexRecord, readIndexList, shownOfRecord } from "./records.ts";

export class IndexWriter {
  readonly #overlay: Overlay;
  /** Made when it is needed: most stores have no index. */
  #lists: Map<number, readonly IndexRecord[]> | undefined;
  /** Whether the store has or had an index. */
  #isUsed: boolean;

  constructor(overlay: Overlay, isUsed: boolean) {
    this.#overlay = overlay;
    this.#isUsed = isUsed;
  }

  /** Moves the entries of a document from what it shows to what it will show. */
  move(
    document: {
      readonly collection: number;
      readonly idKey: string;
      readonly shown: Shown | undefined;
    },
    after: Shown | undefined,
  ): void {
    if (!this.#isUsed) return;
    const { collection, idKey, shown: before } = document;
    for (const index of this.#listOf(collection)) {
      const from = before && entryKeyOf(index, before.fields, idKey);
      const to = after && entryKeyOf(index, after.fields, idKey);
      if (from === to) continue;
      if (from !== undefined) this.#overlay.remove(from);
      if (to !== undefined) this.#overlay.put(to, true);
    }
  }

  find(collection: number, name: string): IndexRecord | undefined {
    return this.#listOf(collection).find((index) => index.name === name);
  }

  /** Adds an index, with an entry for each document that shows. */
  create(collection: number, index: IndexRecord): void {
    this.#isUsed = true;
    const list = [...this.#listOf(collection), index];
    this.#setList(
      collection,
      list.sort((a, b) => compareText(a.name, b.name)),
    );
    for (const { key, value } of this.#overlay.entries(documentRange(collection))) {
      const { fields } = shownOfRecord(value);
      this.#overlay.put(entryKeyOf(index, fields, key.slice(ID_OFFSET)), true);
    }
  }

  /** Removes an index and all its entries. */
  drop(collection: number, index: IndexRecord): void {
    const list = this.#listOf(collection).filter((other) => other.number !== index.number);
    this.#setList(collection, list);
    const entries = prefixRange(entryPrefix(index.number));
    for (const key of this.#overlay.keys(entries)) this.#overlay.remove(key);
  }

  #listOf(collection: number): readonly IndexRecord[] {
    this.#lists ??= new Map();
    let list = this.#lists.get(collection);
    if (list === undefined) {
      list = readIndexList(this.#overlay.get(indexListKey(collection)));
      this.#lists.set(collection, list);
    }
    return list;
  }

  #setList(collection: number, list: readonly IndexRecord[]): void {
    if (list.length === 0) this.#overlay.remove(indexListKey(collection));
    else this.#overlay.put(indexListKey(collection), list);
    this.#lists?.set(collection, list);
  }
}
