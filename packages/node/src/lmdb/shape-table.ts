/**
 * ShapeTable: dictionary of object shapes (lists of keys) that are stored as numbers instead of
 * keys.
 *
 * A shape gets a number only after it was seen several times in values of different owners, or
 * several times inside one value. So records get one; a map keyed by user ids, which grows with
 * each write of one document, does not. Numbers are never reused: when the table is full, other
 * shapes are written with their keys, which costs only space.
 *
 * The table does not store itself: the owner of the storage writes the result of `unsaved` in the
 * same transaction as the first values that use it, then calls `markSaved`.
 */

import { assert, type ValueObject } from "@bigpeer/protocol";

/**
 * After the first 32, a shape takes two bytes: a low part, then (number - 32) / 32. 4,096 shapes
 * keep the second byte below 0x80, as msgpackr requires, which can read what is stored here.
 */
export const SHAPE_COUNT_MAX = 4096;

/** Larger objects are ignored: they are rarely records, and a reader is compiled for each shape. */
const KEY_COUNT_MAX = 64;
const SIGHTING_COUNT_MIN = 6;

/** Nodes that the tree may have beside those of numbered shapes before it is pruned. */
const CANDIDATE_COUNT_MAX = 20_000;

const UNNUMBERED = -1;

/** A node in the tree of shapes: the list of keys on the path to it. */
interface Place {
  readonly next: Map<string, Place>;
  /** The child taken last. Documents of one shape come in sequence, so it mostly fits. */
  lastKey: string;
  last: Place | undefined;
  number: number;
  sightingCount: number;
  owner: string;
  valueCount: number;
}

export class ShapeTable {
  readonly #shapes: string[][] = [];
  #root: Place = newPlace();
  #candidateCount = 0;
  #savedCount = 0;
  #owner = "";
  #valueCount = 0;

  /** All shapes by number, unsaved ones included. */
  get shapes(): string[][] {
    return this.#shapes;
  }

  /** Loads shapes from the storage, in the order of their numbers. */
  load(shapes: readonly (readonly string[])[]): void {
    assert(this.#shapes.length === this.#savedCount, "no unsaved shape when shapes are loaded");
    for (const shape of shapes) this.#number([...shape]);
    this.#savedCount = this.#shapes.length;
  }

  /** Starts a value, which belongs to `owner`; the next shapes are its own. */
  beginValue(owner: string): void {
    this.#owner = owner;
    this.#valueCount++;
  }

  /** The number of an object's shape, or -1 when it has none. */
  find(object: ValueObject): number {
    let place = this.#root;
    let count = 0;
    // Twice as fast as a list of the keys, which only a new shape needs.
    for (const key in object) {
      if (++count > KEY_COUNT_MAX) return UNNUMBERED;
      place =
        place.lastKey === key && place.last !== undefined ? place.last : this.#step(place, key);
    }
    if (place.number !== UNNUMBERED) return place.number;
    return place === this.#root ? UNNUMBERED : this.#consider(place, Object.keys(object));
  }

  /** The shapes that no commit has saved yet, and the number of the first of them. */
  unsaved(): { readonly first: number; readonly shapes: readonly string[][] } {
    return { first: this.#savedCount, shapes: this.#shapes.slice(this.#savedCount) };
  }

  markSaved(count: number): void {
    assert(count >= this.#savedCount && count <= this.#shapes.length, "a count of known shapes");
    this.#savedCount = count;
  }

  #step(place: Place, key: string): Place {
    let next = place.next.get(key);
    if (next === undefined) {
      next = newPlace();
      place.next.set(key, next);
      this.#candidateCount++;
    }
    place.lastKey = key;
    place.last = next;
    return next;
  }

  #consider(place: Place, keys: string[]): number {
    if (this.#candidateCount > CANDIDATE_COUNT_MAX) this.#cutBack();
    // The same document written again says nothing about other documents.
    if (place.owner === this.#owner && place.valueCount !== this.#valueCount) return UNNUMBERED;
    place.owner = this.#owner;
    place.valueCount = this.#valueCount;
    place.sightingCount++;
    if (place.sightingCount < SIGHTING_COUNT_MIN) return UNNUMBERED;
    if (this.#shapes.length >= SHAPE_COUNT_MAX) return UNNUMBERED;
    if (!keys.every(isPlainKey)) return UNNUMBERED;
    return this.#number(keys);
  }

  #number(keys: string[]): number {
    let place = this.#root;
    for (const key of keys) place = this.#step(place, key);
    place.number = this.#shapes.length;
    this.#shapes.push(keys);
    return place.number;
  }

  #cutBack(): void {
    this.#root = newPlace();
    for (const [number, keys] of this.#shapes.entries()) {
      let place = this.#root;
      for (const key of keys) place = this.#step(place, key);
      place.number = number;
    }
    this.#candidateCount = 0;
  }
}

/** Whether every reader of MessagePack returns the key unchanged: see stored-value.ts. */
export function isPlainKey(key: string): boolean {
  return key !== "__proto__" && key.charCodeAt(0) !== 0xfeff;
}

function newPlace(): Place {
  return {
    next: new Map(),
    lastKey: "",
    last: undefined,
    number: UNNUMBERED,
    sightingCount: 0,
    owner: "",
    valueCount: 0,
  };
}
