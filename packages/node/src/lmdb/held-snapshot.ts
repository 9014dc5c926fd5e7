/**
 * Held snapshots: the lifetime of snapshots and of the iterators that are open on them.
 *
 * A snapshot ends by close(), by age since it was taken or renewed, or with its storage; later reads
 * throw an error that says which. Below it is a View: one state, shared by several snapshots with a
 * reference count. All its cursors must be closed before it is.
 */

import {
  IndexedSet,
  type Key,
  type KeyEntry,
  type KeyRange,
  type Placed,
  type Snapshot,
} from "@bigpeer/engine";
import { PeerError, type Value } from "@bigpeer/protocol";

/**
 * One state of the storage. It throws only when the storage is damaged. Iterators that are not run
 * to the end must be returned.
 */
export interface View {
  /** One object for all views of the same state. */
  readonly state: object;
  get(key: Key, fields?: readonly string[]): Value | undefined;
  /** As get, with pauses; the view may be closed meanwhile. */
  getInSteps(key: Key): Generator<void, Value | undefined, void>;
  has(key: Key): boolean;
  entries(range: KeyRange, fields?: readonly string[]): Iterator<KeyEntry>;
  keys(range: KeyRange): Iterator<Key>;
  /** Gives back one reference; the last one closes the view. */
  release(): void;
}

export type EndReason = "store.closed" | "store.snapshot_expired";

/** All open snapshots of one storage. Ends those that are held longer than `lifeMs`. */
export class SnapshotHolder {
  readonly #lifeMs: number;
  readonly #snapshots = new IndexedSet<HeldSnapshot>();
  #timer: NodeJS.Timeout | undefined;

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  /** Takes over the caller's reference to `view`. */
  hold(view: View): Snapshot {
    const snapshot = new HeldSnapshot(view, this.#snapshots);
    if (this.#timer === undefined) this.#arm(this.#lifeMs);
    return snapshot;
  }

  endAll(reason: EndReason): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const snapshot of this.#snapshots.list()) snapshot.end(reason);
  }

  /** Ends the oldest snapshot of those whose view is chosen. False when there is none. */
  endOldest(isChosen: (view: View) => boolean): boolean {
    let oldest: HeldSnapshot | undefined;
    for (const snapshot of this.#snapshots.list()) {
      const isOlder = oldest === undefined || snapshot.takenAtMs < oldest.takenAtMs;
      if (isOlder && snapshot.view !== undefined && isChosen(snapshot.view)) oldest = snapshot;
    }
    oldest?.end("store.snapshot_expired");
    return oldest !== undefined;
  }

  #arm(delayMs: number): void {
    this.#timer = setTimeout(() => this.#endOld(), delayMs);
    this.#timer.unref();
  }

  #endOld(): void {
    this.#timer = undefined;
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const snapshot of this.#snapshots.list()) {
      const leftMs = snapshot.heldFromMs + this.#lifeMs - now;
      if (leftMs <= 0) snapshot.end("store.snapshot_expired");
      else if (leftMs < nextMs) nextMs = leftMs;
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#arm(Math.ceil(nextMs));
  }
}

class HeldSnapshot implements Snapshot, Placed {
  place = -1;
  readonly takenAtMs: number = performance.now();
  /** When its life began, or began anew. */
  #heldFromMs: number = this.takenAtMs;
  readonly #siblings: IndexedSet<HeldSnapshot>;
  #view: View | undefined;
  #iterators: Set<HeldIterator<unknown>> | undefined;
  #endReason: EndReason = "store.closed";

  /** It is a member of `siblings` as long as it is open. */
  constructor(view: View, siblings: IndexedSet<HeldSnapshot>) {
    this.#view = view;
    this.#siblings = siblings;
    siblings.add(this);
  }

  get state(): object | undefined {
    return this.#view?.state;
  }

  /** Undefined when it has ended. */
  get view(): View | undefined {
    return this.#view;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const view = this.#view ?? this.#fail();
    try {
      return view.get(key, fields);
    } catch (cause) {
      throw corruptError(cause);
    }
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    const view = this.#view ?? this.#fail();
    try {
      return yield* view.getInSteps(key);
    } catch (cause) {
      throw corruptError(cause);
    }
  }

  has(key: Key): boolean {
    const view = this.#view ?? this.#fail();
    try {
      return view.has(key);
    } catch (cause) {
      throw corruptError(cause);
    }
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    return this.#iterable((view) => view.entries(range, fields));
  }

  keys(range: KeyRange): Iterable<Key> {
    return this.#iterable((view) => view.keys(range));
  }

  get heldFromMs(): number {
    return this.#heldFromMs;
  }

  /** It is as old as before where the oldest snapshot has to end for memory. */
  renew(): void {
    this.#heldFromMs = performance.now();
  }

  close(): void {
    this.end("store.closed");
  }

  /** Later reads throw an error with this code. Only the first reason counts. */
  end(reason: EndReason): void {
    const view = this.#view;
    if (view === undefined) return;
    this.#view = undefined;
    this.#endReason = reason;
    this.#siblings.remove(this);
    for (const iterator of this.#iterators ?? []) iterator.return();
    view.release();
  }

  #iterable<T>(read: (view: View) => Iterator<T>): Iterable<T> {
    if (this.#view === undefined) this.#fail();
    return {
      [Symbol.iterator]: () => {
        const source = read(this.#view ?? this.#fail());
        this.#iterators ??= new Set();
        return new HeldIterator(source, this.#iterators, () => {
          if (this.#view === undefined) this.#fail();
        });
      },
    };
  }

  #fail(): never {
    const message =
      this.#endReason === "store.closed"
        ? "expected an open snapshot, found it closed"
        : "the snapshot has ended: it was held too long, kept too much memory, or a write failed";
    throw new PeerError(this.#endReason, message);
  }
}

/** Returns its source in every case: after the end, a break, an error, or with the snapshot. */
class HeldIterator<T> implements Iterator<T> {
  readonly #siblings: Set<HeldIterator<unknown>>;
  readonly #checkOpen: () => void;
  #source: Iterator<T> | undefined;

  constructor(source: Iterator<T>, siblings: Set<HeldIterator<unknown>>, checkOpen: () => void) {
    this.#source = source;
    this.#siblings = siblings;
    this.#checkOpen = checkOpen;
    siblings.add(this);
  }

  next(): IteratorResult<T> {
    if (this.#source === undefined) {
      this.#checkOpen();
      return { done: true, value: undefined };
    }
    try {
      const result = this.#source.next();
      if (result.done === true) this.return();
      return result;
    } catch (cause) {
      this.return();
      throw corruptError(cause);
    }
  }

  return(): IteratorResult<T> {
    const source = this.#source;
    this.#source = undefined;
    this.#siblings.delete(this);
    source?.return?.();
    return { done: true, value: undefined };
  }
}

function corruptError(cause: unknown): PeerError {
  return new PeerError("store.corrupt", "failed to read a stored record; run bigpeer verify", {
    cause,
  });
}
