/**
 * Index writer: keeps the secondary indexes of a store in step with its documents, inside one
 * transaction.
 *
 * It is a part of the applier: it changes keys only through the overlay of the transaction and
 * depends on nothing else (K20). A document of a collection without an index costs one map lookup,
 * and nothing at all in a store that never had an index.
 *
 * An index may be filled and emptied in pieces, by several operations. While it is being filled, it
 * covers the documents up to a certain id; later ones wait for their piece.
 */

import {
  type BuildIndexOperation,
  type ClearIndexOperation,
  type CreateIndexOperation,
  compareText,
  type DropIndexOperation,
} from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import { entryKeyOf, isWithin } from "./index-entry.ts";
import {
  documentsBehind,
  droppedIndexKey,
  entryPrefix,
  ID_OFFSET,
  indexListKey,
  prefixRange,
} from "./keys.ts";
import type { Overlay } from "./overlay.ts";
import { type IndexProgress, type IndexRecord, readIndexList, shownOfRecord } from "./records.ts";

/** Result of an operation; `missing`: there is no such index. */
export type IndexOutcome = "applied" | "unchanged" | "missing";

/** The fields of the store's head about indexes. */
interface IndexHead {
  indexes?: number;
  unfinished?: number;
}

const NOTHING_DONE: IndexProgress = { after: "", done: 0 };

export class IndexWriter {
  readonly #overlay: Overlay;
  readonly #head: IndexHead;
  /** Allocated on first use: most stores have no index. */
  #lists: Map<number, readonly IndexRecord[]> | undefined;

  /** The writer updates `head`, the head of the transaction. */
  constructor(overlay: Overlay, head: IndexHead) {
    this.#overlay = overlay;
    this.#head = head;
  }

  /** Moves the entries of a document from the fields that it shows to those that it will show. */
  move(
    document: {
      readonly collection: number;
      readonly idKey: string;
      readonly shown: Shown | undefined;
    },
    after: Shown | undefined,
  ): void {
    if (this.#head.indexes === undefined) return;
    const { collection, idKey, shown: before } = document;
    for (const index of this.#listOf(collection)) {
      if (!isWithin(index, idKey)) continue;
      const from = before && entryKeyOf(index, before.fields, idKey);
      const to = after && entryKeyOf(index, after.fields, idKey);
      if (from === to) continue;
      if (from !== undefined) this.#overlay.remove(from);
      if (to !== undefined) this.#overlay.put(to, true);
    }
  }

  /** Adds an index, with entries of all shown documents, or of the first `limit`. */
  create(collection: number, { name, keys, limit }: CreateIndexOperation): IndexOutcome {
    if (this.#find(collection, name) !== undefined) return "unchanged";
    const number = (this.#head.indexes ?? 0) + 1;
    this.#head.indexes = number;
    const index = this.#filled(collection, { name, number, keys }, limit);
    if (index.building !== undefined) this.#countUnfinished(1);
    const list = [...this.#listOf(collection), index];
    this.#setList(
      collection,
      list.sort((a, b) => compareText(a.name, b.name)),
    );
    return "applied";
  }

  /** Adds entries of the next documents. */
  build(collection: number, { name, limit }: BuildIndexOperation): IndexOutcome {
    const index = this.#find(collection, name);
    if (index === undefined) return "missing";
    if (index.building === undefined) return "unchanged";
    const filled = this.#filled(collection, index, limit);
    if (filled.building === undefined) this.#countUnfinished(-1);
    const list = this.#listOf(collection).map((other) => (other === index ? filled : other));
    this.#setList(collection, list);
    return "applied";
  }

  /** Removes an index from the list, and all its entries, or the first `limit`. */
  drop(collection: number, { name, limit }: DropIndexOperation): IndexOutcome {
    const index = this.#find(collection, name);
    if (index === undefined) return "missing";
    this.#setList(
      collection,
      this.#listOf(collection).filter((other) => other !== index),
    );
    if (index.building !== undefined) this.#countUnfinished(-1);
    if (this.#removeEntries(index.number, limit)) return "applied";
    this.#overlay.put(droppedIndexKey(index.number), true);
    this.#countUnfinished(1);
    return "applied";
  }

  /** Removes the next entries of a dropped index. */
  clear({ number, limit }: ClearIndexOperation): IndexOutcome {
    const key = droppedIndexKey(number);
    if (!this.#overlay.has(key)) return "missing";
    if (!this.#removeEntries(number, limit)) return "applied";
    this.#overlay.remove(key);
    this.#countUnfinished(-1);
    return "applied";
  }

  #find(collection: number, name: string): IndexRecord | undefined {
    return this.#listOf(collection).find((index) => index.name === name);
  }

  /** The index with entries of at most `limit` more documents. */
  #filled(
    collection: number,
    { name, number, keys, building = NOTHING_DONE }: IndexRecord,
    limit: number = Number.POSITIVE_INFINITY,
  ): IndexRecord {
    const index = { name, number, keys };
    let { after, done } = building;
    let room = limit;
    const documents = documentsBehind(collection, after);
    for (const { key, value } of this.#overlay.entries(documents, fieldsOf(index))) {
      if (room === 0) return { ...index, building: { after, done } };
      after = key.slice(ID_OFFSET);
      this.#overlay.put(entryKeyOf(index, shownOfRecord(value).fields, after), true);
      done++;
      room--;
    }
    return index;
  }

  /** Whether no entry is left. */
  #removeEntries(number: number, limit: number = Number.POSITIVE_INFINITY): boolean {
    let room = limit;
    for (const key of this.#overlay.keys(prefixRange(entryPrefix(number)))) {
      if (room === 0) return false;
      this.#overlay.remove(key);
      room--;
    }
    return true;
  }

  #countUnfinished(change: number): void {
    this.#head.unfinished = (this.#head.unfinished ?? 0) + change;
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

/** The top-level fields that an index reads; the id is no field. */
function fieldsOf({ keys }: IndexRecord): readonly string[] {
  return keys.flatMap(({ path }) => (path[0] === undefined || path[0] === "_id" ? [] : path[0]));
}
