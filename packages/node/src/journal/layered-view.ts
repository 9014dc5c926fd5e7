/**
 * LayeredView: one state of a journaled storage: layers of the table over a view of the tree. A
 * write in a newer layer hides what older layers and the tree have under its key.
 */

import type { Key, KeyEntry, KeyRange } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import type { EncodedWrite } from "../lmdb/encoded-write.ts";
import type { View } from "../lmdb/held-snapshot.ts";
import type { RecordReader } from "../lmdb/record-reader.ts";
import { MergedIterator, type MergeOptions } from "./merged-iterator.ts";
import type { TableLayer } from "./table-layer.ts";

export interface LayeredState {
  /** One object for all views of the same state. */
  readonly state: object;
  /** Later writes in the layers do not show. */
  readonly version: number;
  /** The newest first. */
  readonly layers: readonly TableLayer[];
  /** Below all layers; the view takes over the caller's reference. */
  readonly tree: View;
}

export class LayeredView implements View {
  readonly state: object;
  readonly layers: readonly TableLayer[];
  readonly #version: number;
  readonly #tree: View;
  readonly #reader: RecordReader;
  readonly #onEnd: (view: LayeredView) => void;
  #referenceCount = 1;

  /** `onEnd` is called when the last reference is given back. */
  constructor(
    { state, version, layers, tree }: LayeredState,
    reader: RecordReader,
    onEnd: (view: LayeredView) => void,
  ) {
    this.state = state;
    this.layers = layers;
    this.#version = version;
    this.#tree = tree;
    this.#reader = reader;
    this.#onEnd = onEnd;
  }

  share(): this {
    this.#referenceCount++;
    return this;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const write = this.#find(key);
    if (write === undefined) return this.#tree.get(key, fields);
    return this.#read(write, fields);
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    const write = this.#find(key);
    if (write === undefined) return yield* this.#tree.getInSteps(key);
    const bytes = bytesOf(write);
    return bytes === undefined ? undefined : yield* this.#reader.readInSteps(bytes, key);
  }

  has(key: Key): boolean {
    const write = this.#find(key);
    return write === undefined ? this.#tree.has(key) : write.chunk !== undefined;
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterator<KeyEntry> {
    return this.#merge(range, this.#tree.entries(range, fields), {
      keyOf: ({ key }) => key,
      itemOf: (write) => ({ key: write.key, value: this.#read(write, fields) as Value }),
    });
  }

  keys(range: KeyRange): Iterator<Key> {
    return this.#merge(range, this.#tree.keys(range), {
      keyOf: (key) => key,
      itemOf: ({ key }) => key,
    });
  }

  release(): void {
    this.#referenceCount--;
    if (this.#referenceCount > 0) return;
    this.#tree.release();
    this.#onEnd(this);
  }

  #find(key: Key): EncodedWrite | undefined {
    for (const layer of this.layers) {
      const write = layer.find(key, this.#version);
      if (write !== undefined) return write;
    }
    return undefined;
  }

  #read(write: EncodedWrite, fields: readonly string[] | undefined): Value | undefined {
    const bytes = bytesOf(write);
    if (bytes === undefined) return undefined;
    return this.#reader.read(bytes, write.key, this.#reader.fieldSet(fields));
  }

  #merge<T>(
    range: KeyRange,
    tree: Iterator<T>,
    { keyOf, itemOf }: Pick<MergeOptions<T>, "keyOf" | "itemOf">,
  ): Iterator<T> {
    const options = { keyOf, itemOf, isReverse: range.reverse === true };
    let merged = tree;
    // The oldest layer is merged first, so that a newer one hides it.
    for (const layer of this.layers.toReversed()) {
      const keys = layer.walk(range);
      if (keys === undefined) continue;
      const own = { keys, find: (key: Key) => layer.find(key, this.#version) };
      merged = new MergedIterator(merged, own, options);
    }
    return merged;
  }
}

function bytesOf({ chunk, start, size }: EncodedWrite): Uint8Array | undefined {
  return chunk?.subarray(start, start + size);
}
