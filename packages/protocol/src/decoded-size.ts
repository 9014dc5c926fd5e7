/**
 * Decoded size: estimates the memory of a value while it is decoded from untrusted text or bytes.
 *
 * An empty list is one byte of CBOR and forty in memory, and a list of one list takes two hundred:
 * so the size of a message says little about its memory. The numbers below are those of V8, rounded
 * up; those of a list and an object are for one that grew item by item.
 */

import { isArray, isSparseIndex, type Value } from "./value.ts";

/** Called before this many more bytes are allocated. Throws when the budget is exceeded. */
export type Charge = (bytes: number) => void;

const LIST_BYTES = 48;
/** Memory that the first item reserves, for itself and the next sixteen; then for each item. */
const FIRST_ITEMS = 17;
const FIRST_ITEMS_BYTES = 160;
const ITEM_BYTES = 12;
const OBJECT_BYTES = 64;
const FIELD_BYTES = 16;
/** A new key, with the table that it makes of its object. */
const NEW_KEY_BYTES = 240;
/** A key that looks like an index is in a table of its own. */
const TABLE_BYTES = 160;
const NUMBER_BYTES = 16;
const BIG_INTEGER_BYTES = 32;
const TEXT_BYTES = 32;
const BINARY_BYTES = 208;
const SMALL_INTEGER_MAX = 2 ** 30;

/** Keys that count as known: V8 keeps this many object shapes; all others become tables. */
const KNOWN_KEYS_MAX = 1024;

/** Charged at a time: charging every byte would cost more than reading it. */
const GRAIN = 16 * 1024;

export class DecodedSize {
  readonly #charge: Charge | undefined;
  readonly #keys = new Set<string>();
  #uncharged = 0;

  constructor(charge: Charge | undefined) {
    this.#charge = charge;
  }

  list(): void {
    this.#add(LIST_BYTES);
  }

  /** Counts one more item in a list of `count`. */
  item(count: number): void {
    if (count === 0) this.#add(FIRST_ITEMS_BYTES);
    else if (count >= FIRST_ITEMS) this.#add(ITEM_BYTES);
  }

  object(): void {
    this.#add(OBJECT_BYTES);
  }

  field(key: string): void {
    if (this.#keys.has(key)) return this.#add(isSparseIndex(key) ? TABLE_BYTES : FIELD_BYTES);
    if (this.#keys.size < KNOWN_KEYS_MAX) this.#keys.add(key);
    this.#add(NEW_KEY_BYTES + 2 * key.length);
  }

  text(bytes: number): void {
    this.#add(TEXT_BYTES + bytes);
  }

  binary(length: number): void {
    this.#add(BINARY_BYTES + length);
  }

  scalar(value: Value): void {
    if (typeof value === "number") {
      const isSmall = Number.isInteger(value) && Math.abs(value) < SMALL_INTEGER_MAX;
      if (!isSmall) this.#add(NUMBER_BYTES);
    } else if (typeof value === "bigint") this.#add(BIG_INTEGER_BYTES);
  }

  /** Charges the bytes counted since the last charge. */
  settle(): void {
    const bytes = this.#uncharged;
    this.#uncharged = 0;
    if (bytes > 0) this.#charge?.(bytes);
  }

  #add(bytes: number): void {
    this.#uncharged += bytes;
    if (this.#uncharged >= GRAIN) this.settle();
  }
}

/** The estimated size of an existing value. */
export function decodedSize(value: Value): number {
  let total = 0;
  const size = new DecodedSize((bytes) => {
    total += bytes;
  });
  measure(size, value);
  size.settle();
  return total;
}

function measure(size: DecodedSize, value: Value): void {
  if (typeof value === "string") return size.text(2 * value.length);
  if (typeof value !== "object" || value === null) return size.scalar(value);
  if (value instanceof Uint8Array) return size.binary(value.length);
  if (isArray(value)) {
    size.list();
    for (let i = 0; i < value.length; i++) {
      size.item(i);
      measure(size, value[i] as Value);
    }
    return;
  }
  size.object();
  for (const key in value) {
    size.field(key);
    measure(size, value[key] as Value);
  }
}
