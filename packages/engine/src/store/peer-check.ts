/**
 * Peer check: the part of verify that compares the sync records of a small peer with its documents.
 *
 * Each pending transaction has an entry at every document that it wrote to. Such a document has a
 * confirmed state beside it, and no other has.
 */

import { documentId, isArray, type Value } from "@bigpeer/protocol";
import type { Key, Reader } from "../platform.ts";
import {
  collectionOfKey,
  heldKey,
  ID_OFFSET,
  metaKey,
  peerNumberOfKey,
  pendingKey,
  readTouchKey,
  sequenceKey,
  touchKey,
  touchRange,
} from "./keys.ts";
import {
  COUNT_FACT,
  countFact,
  isHeldAlone,
  type KeptRecord,
  type PendingRecord,
  readHeld,
} from "./peer-records.ts";
import type { View } from "./view.ts";

export class PeerCheck {
  readonly #view: View;
  readonly #reader: Reader;
  readonly #report: (key: Key, message: string) => void;
  readonly #collections = new Set<number>();
  #pending = 0;
  #refused = 0;
  #keptBytes = 0;

  constructor(view: View, report: (key: Key, message: string) => void) {
    this.#view = view;
    this.#reader = view.reader;
    this.#report = report;
  }

  /** Collections with held records. */
  collections(): Iterable<number> {
    return this.#collections;
  }

  checkHeld(key: Key, value: Value): void {
    const collection = collectionOfKey(key);
    const idKey = key.slice(ID_OFFSET);
    this.#collections.add(collection);
    if (!isArray(value) || value.length < 3) {
      return this.#report(key, "expected what is held of a document");
    }
    const isPending = this.#isPending(collection, idKey);
    if (isPending !== (readHeld(value).confirmed !== undefined)) {
      this.#report(key, "expected a confirmed state exactly while something is pending");
    }
    if (!isPending && !this.#reader.has(metaKey(collection, idKey))) {
      this.#report(key, "expected a document that it is held of");
    }
  }

  checkLocal(key: Key, value: Value): void {
    switch (key.charAt(1)) {
      case "p":
        return this.#checkPending(key, value as unknown as PendingRecord);
      case "d":
        return this.#checkTouch(key);
      case "s":
        return this.#checkSequence(key, value as number);
      case "k":
        this.#keptBytes += (value as unknown as KeptRecord).size;
        return;
      case "r":
        this.#refused++;
        return;
      case "a":
      case "c":
        return;
      default:
        return this.#report(key, "expected a key of the storage format");
    }
  }

  checkTotals(): void {
    const { pending, refused, keptBytes } = countFact(this.#reader);
    const isRight =
      pending === this.#pending && refused === this.#refused && keptBytes === this.#keptBytes;
    if (isRight) return;
    const found = `${pending}, ${refused} and ${keptBytes}`;
    const expected = `${this.#pending} pending, ${this.#refused} refused, ${this.#keptBytes} bytes kept`;
    this.#report(COUNT_FACT, `expected ${expected}, found ${found}`);
  }

  #isPending(collection: number, idKey: string): boolean {
    for (const _ of this.#reader.keys(touchRange(collection, idKey))) return true;
    return false;
  }

  #checkPending(key: Key, { steps, seal: sequence }: PendingRecord): void {
    this.#pending++;
    const number = peerNumberOfKey(key);
    for (const { collection, id } of steps.flatMap(({ operations }) => operations)) {
      const known = this.#view.collectionNumber(collection);
      const idKey = documentId(id).key;
      if (known === undefined || !this.#reader.has(touchKey(known, idKey, number))) {
        this.#report(key, "expected an entry for each document that it wrote to");
      }
    }
    if (this.#reader.get(sequenceKey(sequence.chain, sequence.number)) !== number) {
      this.#report(key, "expected an entry for its number");
    }
  }

  #checkTouch(key: Key): void {
    const { collection, idKey, number } = readTouchKey(key);
    const held = this.#reader.get(heldKey(collection, idKey));
    if (held === undefined || isHeldAlone(held) || !this.#reader.has(pendingKey(number))) {
      this.#report(key, "expected a pending transaction and a document that it is held of");
    }
  }

  #checkSequence(key: Key, number: number): void {
    const pending = this.#reader.get(pendingKey(number)) as unknown as PendingRecord | undefined;
    const { seal: sequence } = pending ?? {};
    if (sequence === undefined || sequenceKey(sequence.chain, sequence.number) !== key) {
      this.#report(key, "expected a pending transaction with this number");
    }
  }
}
