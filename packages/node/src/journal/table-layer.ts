/**
 * TableLayer: committed writes that are not in the tree yet, in memory, with the versions that open
 * snapshots may read.
 *
 * Each commit has a version, a number that rises. A read at a version sees the newest write of a
 * key that is not later. A layer grows until it is frozen; then it is written to the tree, and
 * dropped when no snapshot reads it any more.
 */

import type { Key, KeyRange } from "@bigpeer/engine";
import { KeyOrder } from "@bigpeer/engine/store";
import type { EncodedWrite } from "../lmdb/encoded-write.ts";
import { PageEstimate } from "../lmdb/page-estimate.ts";
import type { ShapeRecord } from "../lmdb/shape-records.ts";
import { atOnce } from "../slices.ts";
import type { JournaledWrites } from "./journal-payload.ts";

/** One write of a key. */
interface Slot {
  version: number;
  write: EncodedWrite;
  /** The largest size of a write of this key, for which space is reserved. */
  sizeMax: number;
  /** The write before, if a snapshot may read it. */
  older: Slot | undefined;
}

/** A commit as a layer gets it. */
export interface LayerCommit<P> {
  readonly version: number;
  readonly position: P;
  /** Whether a snapshot may read what is replaced. */
  readonly keepsOlder: boolean;
  /** Of the same writes. */
  readonly plan: LayerPlan;
}

/** What a commit would change in a layer, valid until the next commit. */
export interface LayerPlan {
  /** The pages that the layer may need in the tree with these writes. */
  readonly pages: PageEstimate;
  /** For each write, the one before of its key. */
  readonly before: readonly (Slot | undefined)[];
}

/** The keys with the same first letter: ordered when a range of them is read, and from then on. */
interface KindOfKeys {
  readonly letter: string;
  readonly order: KeyOrder;
  /** Not in the order yet. */
  unordered: Key[];
}

/** Approximate memory of a slot beside its bytes. */
const SLOT_BYTES = 160;

/** Writes that are planned, or added, between two possible pauses: about a millisecond. */
const WRITES_PER_PAUSE = 1024;

/** `P`: a position in the log that has the commits: a journal, or the log of a cluster. */
export class TableLayer<P = unknown> {
  readonly #slots = new Map<Key, Slot>();
  readonly #kinds = new Map<string, KindOfKeys>();
  readonly #beside: ShapeRecord[] = [];
  #pages: PageEstimate;
  #bytes = 0;
  #position: P | undefined;

  constructor(pageSize: number) {
    this.#pages = new PageEstimate(pageSize);
  }

  /** Whether it has no commit. */
  get isEmpty(): boolean {
    return this.#position === undefined;
  }

  get keyCount(): number {
    return this.#slots.size;
  }

  /**
   * Approximate memory. It never falls: each commit is one piece of memory, which a single write in it
   * keeps.
   */
  get bytes(): number {
    return this.#bytes;
  }

  /** Position of its last commit in the log; undefined when it is empty. */
  get position(): P | undefined {
    return this.#position;
  }

  /** The pages that its commit may need in the tree. */
  get pages(): PageEstimate {
    return this.#pages;
  }

  /** Records for the tree of shapes. */
  get beside(): readonly ShapeRecord[] {
    return this.#beside;
  }

  plan(values: readonly EncodedWrite[]): LayerPlan {
    return atOnce(this.planInSteps(values));
  }

  /** As plan, with pauses, in which the layer must not change. */
  *planInSteps(values: readonly EncodedWrite[]): Generator<void, LayerPlan> {
    const pages = this.#pages.copy();
    const before: (Slot | undefined)[] = [];
    for (const each of values) {
      const slot = this.#slots.get(each.key);
      if (slot === undefined) pages.add(each);
      else if (slot.sizeMax < each.size) pages.resize(each, slot.sizeMax, each.size);
      if (before.push(slot) % WRITES_PER_PAUSE === 0) yield;
    }
    return { pages, before };
  }

  add(writes: JournaledWrites, commit: LayerCommit<P>): void {
    atOnce(this.addInSteps(writes, commit));
  }

  /** As add, with pauses, in which only states before its version may be read. */
  *addInSteps(
    { values, beside }: JournaledWrites,
    { version, position, keepsOlder, plan }: LayerCommit<P>,
  ): Generator<void, void> {
    let i = 0;
    for (const write of values) {
      this.#put(write, version, plan.before[i++], keepsOlder);
      this.#bytes += SLOT_BYTES + write.size + write.keySize;
      if (i % WRITES_PER_PAUSE === 0) yield;
    }
    for (const record of beside) this.#beside.push(record);
    this.#position = position;
    this.#pages = plan.pages;
  }

  #put(write: EncodedWrite, version: number, before: Slot | undefined, keepsOlder: boolean): void {
    if (before === undefined) {
      this.#slots.set(write.key, { version, write, sizeMax: write.size, older: undefined });
      this.#addKey(write.key);
      return;
    }
    // The slot in the map stays, and what it was becomes an older one.
    before.older = keepsOlder ? { ...before } : undefined;
    before.version = version;
    before.write = write;
    before.sizeMax = Math.max(write.size, before.sizeMax);
  }

  /** The write of a key that a version sees; undefined when there is none. */
  find(key: Key, version: number): EncodedWrite | undefined {
    let slot = this.#slots.get(key);
    while (slot !== undefined && slot.version > version) slot = slot.older;
    return slot?.write;
  }

  /** The keys of a range in its order, later versions included; undefined when there are none. */
  walk(range: KeyRange): Iterator<Key, undefined> | undefined {
    const { from, to } = range;
    if (to <= from) return undefined;
    const [first, last] = [from.charAt(0), to.charAt(0)];
    const kinds: KindOfKeys[] = [];
    if (first === last) {
      const only = this.#kinds.get(first);
      if (only !== undefined) kinds.push(only);
    } else {
      for (const [letter, kind] of this.#kinds) {
        if (letter >= first && letter <= last) kinds.push(kind);
      }
      kinds.sort((a, b) => (a.letter < b.letter ? -1 : 1));
      if (range.reverse === true) kinds.reverse();
    }
    if (kinds.length === 0) return undefined;
    return walkAll(kinds.map((kind) => walkKind(kind, range)));
  }

  /** The newest write of each key. */
  newest(): EncodedWrite[] {
    return Array.from(this.#slots.values(), ({ write }) => write);
  }

  #addKey(key: Key): void {
    const letter = key.charAt(0);
    const kind = this.#kinds.get(letter);
    if (kind !== undefined) kind.unordered.push(key);
    else this.#kinds.set(letter, { letter, order: new KeyOrder(), unordered: [key] });
  }
}

function walkKind(kind: KindOfKeys, range: KeyRange): Iterator<Key, undefined> {
  for (const key of kind.unordered) kind.order.add(key);
  kind.unordered = [];
  return kind.order.walk(range);
}

function* walkAll(walks: readonly Iterator<Key, undefined>[]): Generator<Key, undefined> {
  for (const walk of walks) {
    for (let step = walk.next(); step.done !== true; step = walk.next()) yield step.value;
  }
}
