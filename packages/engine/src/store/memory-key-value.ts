/**
 * MemoryKeyValue: the reference implementation of KeyValue, in memory, for tests, the simulator,
 * and peers that keep nothing. The state itself lies in a MemoryDisk.
 *
 * If a caller asks for some fields, it returns only those, although the whole value would cost
 * nothing. So every test that runs on it finds a caller that asks for too few.
 */

import {
  assert,
  isArray,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  type Value,
} from "@bigpeer/protocol";
import {
  type CommitOptions,
  KEY_SIZE_MAX,
  type Key,
  type KeyEntry,
  type KeyRange,
  type KeyValue,
  type Snapshot,
  type Writes,
} from "../platform.ts";
import { MemoryDisk, type Mount } from "./memory-disk.ts";
import type { OrderedTree } from "./ordered-tree.ts";

export class MemoryKeyValue implements KeyValue {
  readonly #disk: MemoryDisk;
  readonly #life: Life;
  #commit: Promise<void> | undefined;

  constructor(disk: MemoryDisk = new MemoryDisk()) {
    this.#disk = disk;
    this.#life = { mount: disk.mount(), isClosed: false };
  }

  snapshot(): Snapshot {
    checkAlive(this.#life);
    return new MemorySnapshot(this.#disk.state, this.#life);
  }

  async commit(writes: Writes, options?: CommitOptions): Promise<void> {
    assert(this.#commit === undefined, "one commit at a time");
    if (this.#life.isClosed) throw closedError();
    for (const key of writes.keys()) assertKey(key);
    const commit = this.#disk.write(this.#life.mount, writes, options);
    this.#commit = commit;
    try {
      await commit;
    } finally {
      this.#commit = undefined;
    }
  }

  async close(): Promise<void> {
    this.#life.isClosed = true;
    if (!this.#life.mount.isAlive) return;
    await this.#commit?.catch(() => undefined);
    if (this.#life.mount.isAlive) this.#disk.flush();
  }
}

/** A MemoryKeyValue and its snapshots end together: by close() or by a crash. */
interface Life {
  readonly mount: Mount;
  isClosed: boolean;
}

class MemorySnapshot implements Snapshot {
  readonly #life: Life;
  #tree: OrderedTree<Value> | undefined;

  constructor(tree: OrderedTree<Value>, life: Life) {
    this.#tree = tree;
    this.#life = life;
  }

  get state(): object | undefined {
    return isAlive(this.#life) ? this.#tree : undefined;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const value = this.#use().get(key);
    return value === undefined || fields === undefined ? value : partOf(value, fields);
  }

  has(key: Key): boolean {
    return this.#use().get(key) !== undefined;
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    this.#use();
    return { [Symbol.iterator]: () => this.#entries(range, fields) };
  }

  keys(range: KeyRange): Iterable<Key> {
    this.#use();
    return { [Symbol.iterator]: () => this.#keys(range) };
  }

  close(): void {
    this.#tree = undefined;
  }

  *#entries(range: KeyRange, fields?: readonly string[]): Generator<KeyEntry, void> {
    for (const [key, value] of this.#use().entries(range)) {
      yield { key, value: fields === undefined ? value : partOf(value, fields) };
      this.#use();
    }
  }

  *#keys(range: KeyRange): Generator<Key, void> {
    for (const entry of this.#entries(range)) yield entry.key;
  }

  #use(): OrderedTree<Value> {
    checkAlive(this.#life);
    if (this.#tree === undefined) {
      throw new PeerError("store.closed", "expected an open snapshot, found it closed");
    }
    return this.#tree;
  }
}

function partOf(value: Value, fields: readonly string[]): Value {
  if (isArray(value)) return value.map((part) => (isArray(part) ? part : partOf(part, fields)));
  if (!isObject(value)) return value;
  const part: MutableObject = {};
  for (const name of Object.keys(value)) {
    if (fields.includes(name)) setField(part, name, value[name] as Value);
  }
  return part;
}

function isAlive({ isClosed, mount }: Life): boolean {
  return !isClosed && mount.isAlive;
}

function checkAlive(life: Life): void {
  if (!isAlive(life)) throw closedError();
}

function closedError(): PeerError {
  return new PeerError("store.closed", "expected an open storage, found it closed");
}

function assertKey(key: Key): void {
  assert(key.length > 0 && key.length <= KEY_SIZE_MAX, "a key of 1 to KEY_SIZE_MAX bytes");
  for (let i = 0; i < key.length; i++) {
    assert(key.charCodeAt(i) <= 0xff, "a key whose characters are bytes");
  }
}
