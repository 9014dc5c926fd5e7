/**
 * Key paths: trie of the key lists of decoded objects, which predicts the next key of an object.
 *
 * Documents of a collection have the same keys in the same order. So the next key is predicted and
 * its bytes are compared: no string is created, and no duplicate check is needed. A new key list is
 * learned when its object is read to the end. A sender of only new keys uses up its credit and is
 * not learned from: that would cost more than it saves.
 */

import { ByteWriter, encodeText } from "./bytes.ts";
import { isPlainKey } from "./value.ts";

/** The keys of an object up to one of them, in order; all are different. */
export class KeyPath {
  readonly key: string;
  /** The path without the last key; undefined for the empty path. */
  readonly before: KeyPath | undefined;
  /** The key in CBOR, in its shortest form. */
  readonly bytes: Uint8Array;
  /** Whether a field of this name can be set without the care of setField. */
  readonly isPlain: boolean;
  /** The child that was taken last. */
  likely: KeyPath | undefined;
  #longer: Map<string, KeyPath> | undefined;

  constructor(key: string, before: KeyPath | undefined) {
    this.key = key;
    this.before = before;
    this.bytes = before === undefined ? NO_BYTES : encodedKey(key);
    this.isPlain = isPlainKey(key);
  }

  /** The path with one more key, if it is known. */
  longer(key: string): KeyPath | undefined {
    return this.#longer?.get(key);
  }

  learn(key: string): KeyPath {
    this.#longer ??= new Map();
    const path = new KeyPath(key, this);
    this.#longer.set(key, path);
    return path;
  }

  /** All keys, in order. */
  keys(): string[] {
    if (this.before === undefined) return [];
    const keys = this.before.keys();
    keys.push(this.key);
    return keys;
  }
}

const NO_BYTES = new Uint8Array();
const TEXT = 0x60;

/** Longer keys, and longer lists of them, are not learned. */
const KEY_SIZE_MAX = 64;
export const PATH_LENGTH_MAX = 64;

/** Maximum number of paths; beyond it all are dropped, and those in use are learned again. */
const PATH_COUNT_MAX = 2048;

/** Credit that learning a path costs; each object with known keys earns one. */
const PRICE = 8;
const CREDIT_MAX: number = PRICE * PATH_COUNT_MAX;

/** The key in CBOR, with a head of one or two bytes; longer keys are not learned. */
function encodedKey(key: string): Uint8Array {
  const writer = new ByteWriter();
  const text = encodeText(key);
  if (text.length < 24) writer.byte(TEXT | text.length);
  else {
    writer.byte(TEXT | 24);
    writer.byte(text.length);
  }
  writer.raw(text);
  return writer.finish();
}

export class KeyPaths {
  root: KeyPath = new KeyPath("", undefined);
  #count = 0;
  #credit = CREDIT_MAX;

  /** Notes that an object with known keys was read. */
  used(): void {
    if (this.#credit < CREDIT_MAX) this.#credit++;
  }

  /** Learns the keys of an object, all different. */
  learn(keys: Iterable<string>): void {
    if (this.#count > PATH_COUNT_MAX) this.#forget();
    let path = this.root;
    for (const key of keys) {
      let next = path.longer(key);
      if (next === undefined) {
        if (this.#credit < PRICE || key.length > KEY_SIZE_MAX) return;
        this.#credit -= PRICE;
        this.#count++;
        next = path.learn(key);
      }
      path.likely = next;
      path = next;
    }
  }

  #forget(): void {
    this.root = new KeyPath("", undefined);
    this.#count = 0;
  }
}
