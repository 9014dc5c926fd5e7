/**
 * SimulatedDisk: a disk for a journaled storage, with the segment files and the tree, that does one
 * thing at a time when it is told to, fails, and loses what was not synced when the power goes.
 *
 * A write that was under way is torn: of its sectors any may have reached the disk. A rename that
 * was not synced may have happened or not. A commit of the tree that was under way is there as a
 * whole or not at all, as LMDB promises. After a crash nothing of the former process continues.
 */

import type { Key, KeyEntry, KeyRange } from "@bigpeer/engine";
import { PeerError, type Value } from "@bigpeer/protocol";
import { OrderedTree } from "../../../engine/src/store/ordered-tree.ts";
import type { Random } from "../../../engine/test/support/test-platform.ts";
import type { JournalTree, TreeView } from "../../src/journal/journal-tree.ts";
import type { SegmentFile, SegmentFiles } from "../../src/journal/segment-files.ts";
import type { StorageParts } from "../../src/journal/table-key-value.ts";
import type { OnEnd, TreeCommit } from "../../src/lmdb/lmdb-tree.ts";
import type { PageEstimate } from "../../src/lmdb/page-estimate.ts";
import { RecordCheck } from "../../src/lmdb/record-check.ts";
import { RecordReader } from "../../src/lmdb/record-reader.ts";
import { readShapes, SHAPES_END, shapeKey } from "../../src/lmdb/shape-records.ts";
import { ShapeTable } from "../../src/lmdb/shape-table.ts";
import { ValueDecoder } from "../../src/lmdb/value-decoder.ts";
import { NODE_CLOCK } from "../../src/slices.ts";

const SECTOR = 512;
const SPARE = 0;

/** Something that the disk was asked to do. */
interface Task {
  readonly name: TaskName;
  /** Does it completely. */
  readonly finish: () => void;
  /** Leaves what a crash, or a failure, may leave of it. */
  readonly tear: () => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export type TaskName = "append" | "create" | "prepare" | "recycle" | "remove" | "tree";

/** One process that uses the disk. */
export interface Mount {
  readonly disk: SimulatedDisk;
  readonly life: number;
}

/** What a storage on the disk stands on. */
export function partsOn(mount: Mount): StorageParts<SimulatedTree> {
  return {
    openTree: (onEnd) => new SimulatedTree(mount, onEnd),
    filesOf: () => new SimulatedSegments(mount),
  };
}

interface TreeState {
  readonly values: OrderedTree<Uint8Array>;
  readonly beside: OrderedTree<Uint8Array>;
}

export class SimulatedDisk {
  readonly #random: Random;
  /** What is under each number; the spare file has 0. */
  #names = new Map<number, Buffer>();
  /** Renames and removals since the folder was synced, each as what it does to durable names. */
  #unsynced: ((names: Map<number, Buffer>) => void)[] = [];
  #durableNames = new Map<number, Buffer>();
  #tasks: Task[] = [];
  #life = 0;
  /** Whether the last segment that was to be made could not be. */
  isCreateFailing = false;
  state: TreeState = { values: OrderedTree.empty(), beside: OrderedTree.empty() };
  readonly done: Record<TaskName, number> = {
    append: 0,
    create: 0,
    prepare: 0,
    recycle: 0,
    remove: 0,
    tree: 0,
  };

  constructor(random: Random) {
    this.#random = random;
  }

  get isIdle(): boolean {
    return this.#tasks.length === 0;
  }

  get names(): ReadonlyMap<number, Buffer> {
    return this.#names;
  }

  /** Opens the disk for one process, which a crash ends. */
  mount(): Mount {
    return { disk: this, life: this.#life };
  }

  /** Does one of the things that wait, or fails to. */
  step(failing: (name: TaskName) => boolean = () => false): void {
    const task = this.#tasks.splice(this.#random.below(this.#tasks.length), 1)[0];
    if (task === undefined) return;
    if (failing(task.name)) {
      if (["create", "prepare"].includes(task.name)) this.isCreateFailing = true;
      task.tear();
      task.reject(
        new PeerError("store.write_failed", "failed to write: the disk was told to fail"),
      );
      return;
    }
    this.done[task.name]++;
    if (task.name === "create") this.isCreateFailing = false;
    task.finish();
    task.resolve();
  }

  /** The power goes. What waits is torn, and is never answered. */
  crash(): void {
    this.#life++;
    for (const task of this.#tasks.splice(0)) task.tear();
    const kept = this.#random.below(this.#unsynced.length + 1);
    for (const rename of this.#unsynced.slice(0, kept)) rename(this.#durableNames);
    this.#unsynced = [];
    this.#names = new Map(this.#durableNames);
  }

  /** What a process asks for that has ended is not done, and never answered. */
  do(
    { life }: Mount,
    name: TaskName,
    finish: () => void,
    tear: () => void = () => {},
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      if (life !== this.#life) return;
      this.#tasks.push({ name, finish, tear, resolve, reject });
    });
  }

  /** Of the sectors of a write any may reach the disk. */
  tearWrite(file: Buffer, bytes: Uint8Array, at: number): void {
    if (this.#random.chance(0.3)) file.set(bytes, at);
    else {
      for (let from = 0; from < bytes.length; ) {
        const end = Math.min(bytes.length, (Math.floor((at + from) / SECTOR) + 1) * SECTOR - at);
        if (this.#random.chance(0.5)) file.set(bytes.subarray(from, end), at + from);
        from = end;
      }
    }
  }

  /** It may be made as a whole all the same. */
  tearCreate(file: Buffer, header: Uint8Array, number: number): void {
    if (this.#random.chance(0.5)) {
      file.set(header, 0);
      this.rename(SPARE, number);
      if (this.#random.chance(0.5)) this.syncNames();
    } else this.tearWrite(file, header, 0);
  }

  rename(from: number, to: number | undefined): void {
    this.#change((names) => {
      const file = names.get(from);
      names.delete(from);
      if (file !== undefined && to !== undefined) names.set(to, file);
    });
  }

  add(number: number, file: Buffer): void {
    this.#change((names) => names.set(number, file));
  }

  syncNames(): void {
    this.#unsynced = [];
    this.#durableNames = new Map(this.#names);
  }

  #change(change: (names: Map<number, Buffer>) => void): void {
    change(this.#names);
    this.#unsynced.push(change);
  }
}

/** One thing after the other, as in FolderSegments. */
export class SimulatedSegments implements SegmentFiles {
  readonly #mount: Mount;
  readonly #disk: SimulatedDisk;
  #last: Promise<unknown> = Promise.resolve();

  constructor(mount: Mount) {
    this.#mount = mount;
    this.#disk = mount.disk;
  }

  describe(number: number): string {
    return `segment ${number}`;
  }

  list(): number[] {
    return [...this.#disk.names.keys()].filter((number) => number !== SPARE).sort((a, b) => a - b);
  }

  read(number: number): Buffer | undefined {
    const bytes = this.#disk.names.get(number);
    return bytes && Buffer.from(bytes);
  }

  create(number: number, size: number, header: Uint8Array): Promise<SegmentFile> {
    return this.#inTurn(() => this.#create(number, size, header));
  }

  prepare(size: number): Promise<void> {
    return this.#inTurn(() => this.#prepare(size));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #create(number: number, size: number, header: Uint8Array): Promise<SegmentFile> {
    await this.#prepare(size);
    const file = this.#disk.names.get(SPARE) as Buffer;
    await this.#disk.do(
      this.#mount,
      "create",
      () => {
        file.set(header, 0);
        this.#disk.rename(SPARE, number);
        this.#disk.syncNames();
      },
      () => this.#disk.tearCreate(file, header, number),
    );
    return new SimulatedSegment(this.#mount, file);
  }

  async #prepare(size: number): Promise<void> {
    await this.#disk.do(this.#mount, "prepare", () => {
      const spare = this.#disk.names.get(SPARE);
      if (spare !== undefined && spare.length >= size) return;
      const file = Buffer.alloc(size);
      if (spare !== undefined) file.set(spare);
      this.#disk.add(SPARE, file);
    });
  }

  recycle(number: number): Promise<void> {
    return this.#inTurn(() =>
      this.#disk.do(this.#mount, "recycle", () => {
        this.#disk.rename(number, this.#disk.names.has(SPARE) ? undefined : SPARE);
      }),
    );
  }

  async settled(): Promise<void> {
    await this.#last;
  }

  removeAll(): Promise<void> {
    return this.#inTurn(() =>
      this.#disk.do(this.#mount, "remove", () => {
        for (const number of this.#disk.names.keys()) this.#disk.rename(number, undefined);
        this.#disk.syncNames();
      }),
    );
  }
}

class SimulatedSegment implements SegmentFile {
  readonly #mount: Mount;
  readonly #disk: SimulatedDisk;
  readonly #file: Buffer;

  constructor(mount: Mount, file: Buffer) {
    this.#mount = mount;
    this.#disk = mount.disk;
    this.#file = file;
  }

  get size(): number {
    return this.#file.length;
  }

  write(bytes: Uint8Array, at: number): Promise<void> {
    return this.#disk.do(
      this.#mount,
      "append",
      () => this.#file.set(bytes, at),
      () => this.#disk.tearWrite(this.#file, bytes, at),
    );
  }

  async close(): Promise<void> {}
}

export class SimulatedTree implements JournalTree {
  readonly #mount: Mount;
  readonly #disk: SimulatedDisk;
  readonly #onEnd: OnEnd;
  readonly shapes: ShapeTable = new ShapeTable();
  readonly clock = NODE_CLOCK;
  readonly pageSize = 4096;
  readonly reader: RecordReader = new RecordReader(
    new ValueDecoder(() => this.shapes.shapes),
    new RecordCheck(true),
  );

  constructor(mount: Mount, onEnd: OnEnd) {
    this.#mount = mount;
    this.#disk = mount.disk;
    this.#onEnd = onEnd;
    this.loadShapes();
  }

  view(): TreeView {
    return new SimulatedView(this.#disk.state, this.reader);
  }

  loadShapes(): void {
    const first = this.shapes.shapes.length;
    const range = { from: shapeKey(first), to: SHAPES_END };
    const records = Array.from(this.#disk.state.beside.entries(range), ([key, value]) => ({
      key,
      value,
    }));
    this.shapes.load(readShapes(undefined, first, records));
  }

  isReserved(_commits: readonly PageEstimate[]): boolean {
    return true;
  }

  async reserve(_commits: readonly PageEstimate[]): Promise<void> {}

  async write({ values, beside }: TreeCommit): Promise<void> {
    let { state } = this.#disk;
    for (const { key, chunk, start, size } of values) {
      const bytes = chunk && Uint8Array.from(chunk.subarray(start, start + size));
      const tree = state.values;
      state = { ...state, values: bytes ? tree.with(key, bytes) : tree.without(key) };
    }
    for (const { key, value } of beside) {
      state = { ...state, beside: state.beside.with(key, Uint8Array.from(value)) };
    }
    const finish = (): void => {
      this.#disk.state = state;
    };
    try {
      await this.#disk.do(this.#mount, "tree", finish, () => this.#mayFinish(finish));
    } catch (error) {
      this.#onEnd("store.snapshot_expired");
      throw error;
    }
  }

  refuse(): never {
    throw new PeerError("store.closed", "expected an open storage");
  }

  async close(): Promise<void> {
    this.#onEnd("store.closed");
  }

  #isCrashing = false;

  /** Only a crash may leave a commit that was not acknowledged: LMDB undoes one that failed. */
  #mayFinish(finish: () => void): void {
    if (this.#isCrashing) finish();
  }

  /** Called before a crash that keeps the commit under way. */
  keepUnacknowledged(): void {
    this.#isCrashing = true;
  }
}

class SimulatedView implements TreeView {
  readonly #state: TreeState;
  readonly #reader: RecordReader;

  constructor(state: TreeState, reader: RecordReader) {
    this.#state = state;
    this.#reader = reader;
  }

  get state(): object {
    return this.#state;
  }

  recordBeside(key: Key): Uint8Array | undefined {
    return this.#state.beside.get(key);
  }

  get(key: Key): Value | undefined {
    const bytes = this.#state.values.get(key);
    return bytes && this.#reader.read(bytes, key, undefined);
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    yield;
    return this.get(key);
  }

  has(key: Key): boolean {
    return this.#state.values.get(key) !== undefined;
  }

  *entries(range: KeyRange): Generator<KeyEntry, undefined> {
    for (const [key, bytes] of this.#state.values.entries(range)) {
      yield { key, value: this.#reader.read(bytes, key, undefined) };
    }
    return undefined;
  }

  *keys(range: KeyRange): Generator<Key, undefined> {
    for (const [key] of this.#state.values.entries(range)) yield key;
    return undefined;
  }

  share(): this {
    return this;
  }

  release(): void {}
}
