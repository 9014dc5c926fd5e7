/**
 * Platform: the interfaces that the host of the engine implements: time, random bytes, hashing,
 * patterns, ordered key-value storage, connections, and code that is loaded on use.
 *
 * The engine calls nothing else of its host. Each interface states its contract; the contract suite
 * in test/contract checks it for every KeyValue.
 */

import type { Value } from "@bigpeer/protocol";

export interface Platform {
  /** Wall clock in milliseconds since 1970. May jump; the engine's own clock does not. */
  now(): number;
  /** Milliseconds on a monotonic clock with an arbitrary origin. */
  elapsed(): number;
  /** Yields to all other waiting work; long work calls it regularly. */
  pause(): Promise<void>;
  /** Unpredictable bytes, new at each call. */
  random(size: number): Uint8Array;
  sha256(bytes: Uint8Array): Uint8Array;
  /**
   * Compiles a user's pattern that matches in time linear in the text: RE2 syntax, no look-around,
   * no back-references. `flags`: any of `i` (case), `m` (lines), `s` (dot matches all); or `~` for a
   * pattern of SIMILAR TO, with the code point of its escape character, if there is one. Undefined
   * when the pattern is not valid.
   */
  pattern(source: string, flags: string): Pattern | undefined;
  /**
   * PLAN_EXPLAINER of the engine's entry `explain`. Undefined while a host has not loaded it, which
   * it does before a statement that needs it. Only the statement language knows its type.
   */
  explainer(): object | undefined;
}

export interface Pattern {
  /** Whether the pattern occurs in the text. Throws `query.too_large` beyond its bounds. */
  isFoundIn(text: string, count: CountSteps): boolean;
  /** All matches from left to right, without overlap. Throws as above, also during iteration. */
  matchesIn(text: string, count: CountSteps): Iterable<PatternMatch>;
}

/** Receives the cost of work in steps of about a microsecond. Throws to end the work. */
export type CountSteps = (steps: number) => void;

export interface PatternMatch {
  readonly start: number;
  readonly end: number;
  /** The text that each group matched, the whole match first; undefined for no match. */
  readonly groups: readonly (string | undefined)[];
}

/**
 * A key: text in which every character is one byte, 0 to 255. Keys are ordered by their bytes,
 * which is also the order of such JS strings. Never empty, at most KEY_SIZE_MAX bytes.
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
 * One consistent state of the storage. The caller may keep the returned values but not change them.
 *
 * A caller that needs only some fields of the values names them. Then an object, or an object in an
 * array, may come without its other fields. The named fields come exactly as in the whole value;
 * the adapter chooses how much else it returns.
 */
export interface Reader {
  get(key: Key, fields?: readonly string[]): Value | undefined;
  /**
   * As get, with pauses: a value of many megabytes, like the log record of a large transaction,
   * takes long to decode. The reader may be closed meanwhile. Absent where nothing is decoded.
   */
  getInSteps?(key: Key): Generator<void, Value | undefined, void>;
  has(key: Key): boolean;
  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry>;
  /** As entries, without reading or decoding the values. */
  keys(range: KeyRange): Iterable<Key>;
}

/**
 * A Reader on the committed state at the time it was taken. It does not change while writes go on. It
 * must be closed; close() may be called again. An adapter may end a snapshot that is held longer
 * than its set time: then every read throws `store.snapshot_expired`.
 */
export interface Snapshot extends Reader {
  /**
   * One object for all open snapshots of the same state, so that they can share a cache. Undefined
   * when it is closed, or if the adapter does not know.
   */
  readonly state?: object | undefined;
  /**
   * Lets it be held for the set time from now on: for a reader that goes forward through more data
   * than that time is enough for. Absent where nothing ends a snapshot.
   */
  renew?(): void;
  close(): void;
}

/** The changes of one commit: a value to put, or undefined to remove the key. */
export type Writes = ReadonlyMap<Key, Value | undefined>;

/**
 * What a crash may do to a commit that was acknowledged. `strict`: nothing; the commit and all
 * commits before it are synced. `relaxed`: it may be lost, together with all commits after it.
 */
export type Durability = "strict" | "relaxed";

export interface CommitOptions {
  /** The default is `strict`. A storage may treat `relaxed` as `strict`. */
  readonly durability?: Durability;
}

/**
 * Ordered key-value storage. It keeps values, not bytes, so that each adapter chooses its encoding;
 * every Value must come back exactly (-0, NaN, 64-bit integers and a field named `__proto__`
 * included).
 */
export interface KeyValue {
  /**
   * The newest committed state. It contains every acknowledged commit and no other. A crash can lose
   * only the relaxed commits after the last strict one, the newest first.
   */
  snapshot(): Snapshot;
  /**
   * Commits all of `writes`, or none of it. When it resolves, the commit is visible and as durable
   * as `options` ask; a strict commit also makes all commits before it durable. Rejects with
   * PeerError `store.full` (no space) or `store.write_failed`; afterwards the storage is as before
   * the call, and a later commit may succeed. The caller has at most one commit under way and does
   * not change `writes` meanwhile.
   */
  commit(writes: Writes, options?: CommitOptions): Promise<void>;
  /** Waits for a commit under way, makes relaxed commits durable, releases everything. Idempotent. */
  close(): Promise<void>;
}

/** The sending half of a connection; its owner passes incoming messages to the engine. */
export interface Channel {
  /** Never throws. Does nothing after `close`. */
  send(bytes: Uint8Array): void;
  /** Bytes passed to `send` that the network has not taken yet. */
  readonly queuedBytes: number;
  /** Closes the connection after everything sent. */
  close(): void;
  /** Pauses or resumes reading (backpressure). Left out where the transport cannot. */
  hold?(isHeld: boolean): void;
}
