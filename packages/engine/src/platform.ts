/**
 * What the outside must supply to the engine: time, random bytes, hashing, ordered storage.
 *
 * The engine calls nothing else of its host. Each interface says what its implementer must keep;
 * the contract suite in test/contract checks it for every KeyValue.
 */

import type { Value } from "@bigpeer/protocol";

export interface Platform {
  /** Wall clock in milliseconds since 1970. May jump; the engine's own clock does not. */
  now(): number;
  /** Milliseconds on a clock that never goes back; where it began means nothing. */
  elapsed(): number;
  /** Lets everything else that waits have its turn; long work calls it now and then. */
  pause(): Promise<void>;
  /** Unpredictable bytes, new at each call. */
  random(size: number): Uint8Array;
  sha256(bytes: Uint8Array): Uint8Array;
  /**
   * A pattern that a user wrote, ready to be matched in time linear in the text: RE2's language, no
   * look-around, no back-references. `flags`: any of `i` (case), `m` (lines), `s` (dot matches all).
   * Undefined when the pattern is not valid.
   */
  pattern(source: string, flags: string): Pattern | undefined;
}

export interface Pattern {
  /** Whether the pattern is found anywhere in the text. Throws `query.too_large` beyond its bounds. */
  isFoundIn(text: string, count: CountSteps): boolean;
  /** All matches from left to right, none within another. Throws as above, also on the way. */
  matchesIn(text: string, count: CountSteps): Iterable<PatternMatch>;
}

/** Hears of work while it is done, in steps of about a microsecond. It may throw: then the work ends. */
export type CountSteps = (steps: number) => void;

export interface PatternMatch {
  readonly start: number;
  readonly end: number;
  /** What each group of the pattern matched, the whole first; undefined for one that took no part. */
  readonly groups: readonly (string | undefined)[];
}

/**
 * A key: text in which every character is one byte, 0 to 255. Keys are ordered as their bytes,
 * which is also how JS orders such strings. Never empty, at most KEY_SIZE_MAX bytes.
 */
export type Key = string;

export const KEY_SIZE_MAX = 1900;

/** Keys from `from` (included) to `to` (excluded), in key order, or backwards when `reverse`. */
export interface KeyRange {
  readonly from: Key;
  readonly to: Key;
  readonly reverse?: boolean;
}

export interface KeyEntry {
  readonly key: Key;
  readonly value: Value;
}

/**
 * One consistent state of the storage. Values given out are the reader's to keep, not to change.
 *
 * Whoever needs only some fields of the values names them: then an object, or an object that is an
 * element of an array, may come without its other fields. Those that were named come exactly as in
 * the whole value; it is the adapter's choice how much else it gives.
 */
export interface Reader {
  get(key: Key, fields?: readonly string[]): Value | undefined;
  /**
   * As get, with pauses: a value of many megabytes, like the log record of a large transaction, takes
   * long to decode. The reader may be closed meanwhile. Absent where values are not decoded.
   */
  getInSteps?(key: Key): Generator<void, Value | undefined, void>;
  has(key: Key): boolean;
  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry>;
  /** As entries, without reading or decoding the values. */
  keys(range: KeyRange): Iterable<Key>;
}

/**
 * A Reader on the state that was durable when it was taken. It does not change while writes go on.
 * It must be closed; close() may be called again. An adapter may end a snapshot that is held longer
 * than its set time: then every read of it throws `store.snapshot_expired`.
 */
export interface Snapshot extends Reader {
  /**
   * One object for all open snapshots of the same state, so that what one has read need not be read
   * by the next. Undefined when it is closed, or where the adapter does not know.
   */
  readonly state?: object | undefined;
  close(): void;
}

/** What one commit changes: a value to put, or undefined to remove the key. */
export type Writes = ReadonlyMap<Key, Value | undefined>;

/**
 * Ordered storage. It keeps values, not bytes, so that each adapter encodes in its own best way;
 * every Value must come back exactly (-0, NaN, 64-bit integers and a field named `__proto__`
 * included).
 */
export interface KeyValue {
  /** The newest durable state. Nothing that a crash could take away is ever in it. */
  snapshot(): Snapshot;
  /**
   * Makes all of `writes` durable and visible, or none of it. Resolves after the data is synced.
   * Rejects with PeerError `store.full` (no room) or `store.write_failed`; afterwards the storage is
   * as before the call, and a later commit may succeed. The caller has at most one commit under way
   * and does not change `writes` meanwhile.
   */
  commit(writes: Writes): Promise<void>;
  /** Waits for a commit under way, then releases everything. Idempotent. */
  close(): Promise<void>;
}

/** What a connection can do for us; what comes in is handed to us by whoever owns it. */
export interface Channel {
  /** Never throws. After `close` nothing happens. */
  send(bytes: Uint8Array): void;
  /** Bytes that were handed to `send` and that the network has not taken yet. */
  readonly queuedBytes: number;
  /** Ends the connection after what was sent. */
  close(): void;
  /** Whether nothing more is to be read for now. Left out where nothing can be done about it. */
  hold?(isHeld: boolean): void;
}
