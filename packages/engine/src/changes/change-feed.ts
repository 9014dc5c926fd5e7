/**
 * ChangeFeed: gives readers the changes of one store, in the order of transactions.
 *
 * Readers that are up to date are served together: after a commit, the feed reads the new changes
 * once, finds the affected groups of readers by the match index, and makes each line once for a
 * group. A reader that is further behind reads the log; readers of one group at the same position
 * share what was read. So no reader holds lines that it did not take.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { located } from "../query/fault.ts";
import { Budget } from "../query/frame/budget.ts";
import { type Match, MatchIndex } from "../query/live/match-index.ts";
import { TimeSlicer } from "../query/run/time-slicer.ts";
import type { Steps } from "../steps.ts";
import { loggedIds } from "../store/change-log.ts";
import { transactionRange } from "../store/keys.ts";
import type { Store, StoreSnapshot } from "../store/store.ts";
import { ChangesGone, comparePositions, cursorText, type Position, readCursor } from "./cursor.ts";
import { DocumentImages } from "./document-images.ts";
import { type FeedHost, FeedReader, type LoggedLines } from "./feed-reader.ts";
import { type FeedFilter, feedFilter } from "./filter.ts";
import { type ChangeTexts, changeLine, endLine, type PlacedLine, textsOf } from "./line.ts";
import { byTransaction, type LoggedChange, readChunk } from "./logged-changes.ts";
import type { ChangeReader, ChangesRequest } from "./reader.ts";
import { type GroupMember, ReaderGroup, type TailSum } from "./reader-group.ts";

export interface ChangeFeedOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
}

/** Readings of the log that are kept for other readers at the same position, and their characters. */
const SHARED_MAX = 64;
const SHARED_LENGTH_MAX: number = 8 * 1024 * 1024;

/** Characters of JSON after which a reading of the log ends. */
const LOGGED_LENGTH_MAX: number = 256 * 1024;

/** Attempts to read after the store has ended a snapshot. */
const ATTEMPTS_MAX = 5;

export class ChangeFeed implements FeedHost {
  readonly store: Store;
  readonly platform: Platform;
  readonly images: DocumentImages = new DocumentImages();
  readonly #appId: string;
  readonly #slicer: TimeSlicer;
  readonly #budget: Budget;
  readonly #index: MatchIndex<ReaderGroup>;
  readonly #groups = new Map<string, ReaderGroup>();
  /** Groups of all collections, and the collections that they have filters for. */
  readonly #wide = new Set<ReaderGroup>();
  readonly #tails: TailSum = { length: 0 };
  readonly #readers = new Set<FeedReader>();
  readonly #shared = new Map<string, Promise<LoggedLines>>();
  #stopListening: (() => void) | undefined;
  /** The groups have all lines up to here. */
  #position: Position = { txnId: 0 };
  #isPumping = false;
  #isClosed = false;
  /** Groups with lines of the transaction that the last chunk did not finish. */
  #inTransaction: ReadonlySet<ReaderGroup> = new Set();
  /** Groups that came while a chunk was read: they may lack lines of it, and begin behind it. */
  readonly #joining = new Set<ReaderGroup>();
  readonly #sharedLengths = new Map<string, number>();
  #sharedLength = 0;

  constructor({ store, platform, appId }: ChangeFeedOptions) {
    const elapsed = (): number => platform.elapsed();
    this.store = store;
    this.platform = platform;
    this.#appId = appId;
    this.#slicer = new TimeSlicer(() => platform.pause(), elapsed);
    this.#budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: Infinity });
    this.#index = new MatchIndex(platform, this.#appId);
  }

  /** Open readers. */
  get count(): number {
    return this.#readers.size;
  }

  /** Different filters of them. */
  get groupCount(): number {
    return this.#groups.size;
  }

  /** Characters of lines that are kept. */
  get keptLength(): number {
    return this.#tails.length;
  }

  get historyId(): string {
    return this.store.identity.historyId;
  }

  get position(): Position {
    return this.#position;
  }

  /**
   * Throws a PeerError: that of the filter, `permission.denied`, `changes.cursor`, `store.closed`, or
   * a ChangesGone.
   */
  open(request: ChangesRequest): ChangeReader {
    if (this.#isClosed) throw closing();
    const { collection, authority } = request;
    const filter = feedFilter(request, authority);
    if (collection !== undefined) {
      located("", () => authority?.require([{ kind: "read", collection }]));
    }
    const position = this.#startOf(request);
    const reader = new FeedReader(this, this.groupOf(filter), { request, position });
    this.#readers.add(reader);
    return reader;
  }

  /**
   * The transaction of a cursor; undefined for `0` and for a cursor of another history, whose
   * transaction this store never reaches. Throws `changes.cursor`.
   */
  transactionOf(cursor: string): number | undefined {
    if (cursor === "0") return undefined;
    const { historyId, at } = readCursor(cursor);
    return historyId === this.historyId ? at.txnId : undefined;
  }

  /** The oldest position that the log still has. */
  get oldest(): string {
    return this.store.read(({ head }) => cursorText(this.historyId, { txnId: head.floor }));
  }

  /** Ends all readers: their next call rejects with `store.closed`. */
  close(): void {
    this.#isClosed = true;
    this.#endReaders(closing());
  }

  /** The group of a filter; it ends with its last reader. */
  groupOf(filter: FeedFilter): ReaderGroup {
    const known = this.#groups.get(filter.key);
    if (known !== undefined) return known;
    if (this.#groups.size === 0) this.#begin();
    const group = new ReaderGroup(filter, this.#index, this.#position, this.#tails);
    this.#groups.set(filter.key, group);
    if (this.#isPumping) this.#joining.add(group);
    if (filter.collection === undefined) this.#wide.add(group);
    return group;
  }

  leave(reader: FeedReader): void {
    this.#readers.delete(reader);
  }

  dropIfEmpty(group: ReaderGroup): void {
    if (!group.isEmpty) return;
    group.close();
    // Not of a group that has failed: another may have come with its filter.
    if (this.#groups.get(group.filter.key) !== group) return;
    this.#joining.delete(group);
    this.#groups.delete(group.filter.key);
    this.#wide.delete(group);
    if (this.#groups.size === 0) this.#end();
  }

  /**
   * Reads from one snapshot in slices; again if the store has ended the snapshot. The groups keep
   * their filters until it ends, also without a reader.
   */
  async read<T>(
    work: (snapshot: StoreSnapshot) => Steps<T>,
    groups: readonly ReaderGroup[] = [],
  ): Promise<T> {
    const reading: GroupMember = { wake: () => {} };
    for (const group of groups) group.members.add(reading);
    try {
      return await this.#readAgain(work);
    } finally {
      for (const group of groups) {
        group.members.delete(reading);
        this.dropIfEmpty(group);
      }
    }
  }

  async #readAgain<T>(work: (snapshot: StoreSnapshot) => Steps<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const snapshot = this.store.snapshot();
      try {
        return await this.#slicer.take(work(snapshot), this.#budget, snapshot);
      } catch (error) {
        snapshot.close();
        if (!isTransient(error) || attempt === ATTEMPTS_MAX) throw error;
        await this.platform.pause();
      }
    }
  }

  /** The lines of a group behind a position, from the log. Readers at one position share them. */
  logged(group: ReaderGroup, from: Position): Promise<LoggedLines> {
    const key = `${group.filter.key}\n${from.txnId}.${from.index ?? ""}`;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const reading = this.read((snapshot) => this.#logged(snapshot, group, from), [group]);
    this.#shared.set(key, reading);
    reading.then(
      (logged) => this.#share(key, logged),
      () => this.#shared.delete(key),
    );
    return reading;
  }

  /** Keeps lines for other readers, within bounds; at the end of the log there may soon be more. */
  #share(key: string, { length, through }: LoggedLines): void {
    if (comparePositions(through, this.#position) >= 0) {
      this.#shared.delete(key);
      return;
    }
    this.#sharedLengths.set(key, length);
    this.#sharedLength += length;
    for (const [oldest, its] of this.#sharedLengths) {
      if (this.#sharedLength <= SHARED_LENGTH_MAX && this.#shared.size <= SHARED_MAX) break;
      this.#shared.delete(oldest);
      this.#sharedLengths.delete(oldest);
      this.#sharedLength -= its;
    }
  }

  /** Throws a ChangesGone if the log no longer has a position. */
  requireHeld(snapshot: StoreSnapshot, { txnId, index }: Position): void {
    const { floor: logStart } = snapshot.head;
    const needed = index === undefined ? txnId : txnId - 1;
    if (needed < logStart) throw this.#gone("floor", logStart);
  }

  #gone(reason: ChangesGone["goneReason"], logStart: number): ChangesGone {
    return new ChangesGone(reason, cursorText(this.historyId, { txnId: logStart }));
  }

  #startOf({ since, isInitial = false }: ChangesRequest): Position {
    return this.store.read((snapshot) => {
      const { floor: logStart, txnId: last } = snapshot.head;
      if (since === undefined) {
        return isInitial ? { txnId: last, row: FIRST_ROW } : { txnId: last };
      }
      if (since === "0") return { txnId: logStart };
      const { historyId, at } = readCursor(since);
      if (historyId !== this.historyId) throw this.#gone("history", logStart);
      if (at.txnId > last) throw this.#gone("ahead", logStart);
      this.requireHeld(snapshot, at);
      return at;
    });
  }

  #begin(): void {
    const txnId = this.store.read(({ head }) => head.txnId);
    this.#position = { txnId };
    this.#stopListening = this.store.onCommit(() => this.#pump());
  }

  #end(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#shared.clear();
    this.#sharedLengths.clear();
    this.#sharedLength = 0;
    this.#inTransaction = new Set();
    this.#joining.clear();
  }

  /** Brings all groups up to date. Never rejects. */
  #pump(): void {
    if (this.#isPumping || this.#groups.size === 0) return;
    this.#isPumping = true;
    void this.#pumpAll().then(
      () => {
        this.#isPumping = false;
        // A commit during the last round.
        if (this.#isBehind) this.#pump();
      },
      (error: unknown) => {
        this.#isPumping = false;
        this.#endReaders(error);
      },
    );
  }

  /** Also within the last transaction, whose changes may be several chunks. */
  get #isBehind(): boolean {
    const { txnId, index } = this.#position;
    return this.store.txnId > txnId || index !== undefined;
  }

  async #pumpAll(): Promise<void> {
    while (this.#groups.size > 0 && this.#isBehind) {
      const woken = await this.read((snapshot) => this.#round(snapshot));
      for (const group of woken) group.wake();
    }
  }

  /** One chunk for all groups. */
  *#round(snapshot: StoreSnapshot): Steps<ReadonlySet<ReaderGroup>> {
    const from = this.#position;
    this.requireHeld(snapshot, from);
    const isWanted = (name: string): boolean => this.#wide.size > 0 || this.#index.has(name);
    const chunk = yield* readChunk({ snapshot, images: this.images, isWanted }, from);
    const touched = new Set<ReaderGroup>();
    const lines: [ReaderGroup, PlacedLine][] = [];
    let inTransaction = new Set(this.#inTransaction);
    for (const { txnId, changes, isEnded } of byTransaction(chunk, from)) {
      for (const change of changes) {
        yield* this.#deliver(change, (group, line) => {
          touched.add(group);
          if (line === undefined) return;
          inTransaction.add(group);
          lines.push([group, line]);
        });
      }
      if (!isEnded) continue;
      const end = endLine(this.historyId, txnId);
      for (const group of inTransaction) lines.push([group, end]);
      for (const group of inTransaction) touched.add(group);
      inTransaction = new Set();
    }
    for (const group of this.#joining) touched.add(group);
    this.#complete(chunk.through, lines, inTransaction);
    return touched;
  }

  /** At once: groups have all lines of a chunk, or none. */
  #complete(
    through: Position,
    lines: readonly (readonly [ReaderGroup, PlacedLine])[],
    inTransaction: ReadonlySet<ReaderGroup>,
  ): void {
    for (const [group, line] of lines) if (!this.#joining.has(group)) group.append(line);
    for (const group of this.#joining) group.beginAt(through);
    // Within a transaction it is not known whether they had lines of it.
    if (through.index === undefined) this.#joining.clear();
    this.#inTransaction = inTransaction;
    this.#position = through;
  }

  /** Makes the lines of a change; undefined for a group whose filter failed. */
  *#deliver(
    change: LoggedChange,
    take: (group: ReaderGroup, line: PlacedLine | undefined) => void,
  ): Steps<void> {
    this.#widen(change.collection);
    const texts = textsOf(change);
    for (const entry of this.#index.touched(change)) {
      const match = this.#index.matchOf(entry, change);
      if (match !== undefined) take(entry.owner, this.#lineOf(entry.owner, match, texts));
      yield;
    }
    yield;
  }

  #widen(collection: string): void {
    for (const group of this.#wide) group.entryOf(collection);
  }

  /** Undefined if the filter failed: then the group ends. */
  #lineOf(
    group: ReaderGroup,
    match: Match<ReaderGroup>,
    texts: ChangeTexts,
  ): PlacedLine | undefined {
    if (match.kind === "failed") {
      group.failure ??= match.error;
      return undefined;
    }
    const { view, isNamingWriters } = group.filter;
    return changeLine(texts, match.kind, { historyId: this.historyId, view, isNamingWriters });
  }

  *#logged(snapshot: StoreSnapshot, group: ReaderGroup, from: Position): Steps<LoggedLines> {
    this.requireHeld(snapshot, from);
    const { collection } = group.filter;
    const isWanted = (name: string): boolean => collection === undefined || name === collection;
    const chunk = yield* readChunk({ snapshot, images: this.images, isWanted }, from);
    const lines: PlacedLine[] = [];
    let length = 0;
    let hasLines = from.index !== undefined;
    for (const { txnId, changes, isEnded } of byTransaction(chunk, from)) {
      for (const change of changes) {
        const line = this.#lineFor(group, change);
        yield;
        if (line === undefined) continue;
        lines.push(line);
        hasLines = true;
        length += line.json.length;
        if (length > LOGGED_LENGTH_MAX) return { lines, length, through: line.at };
      }
      if (isEnded && hasLines) lines.push(endLine(this.historyId, txnId));
      if (isEnded) hasLines = false;
    }
    return { lines, length, through: chunk.through };
  }

  #lineFor(group: ReaderGroup, change: LoggedChange): PlacedLine | undefined {
    const entry = group.entryOf(change.collection);
    const match = entry && this.#index.matchOf(entry, change);
    return match && this.#lineOf(group, match, textsOf(change));
  }

  /** Whether a document matches the filter of a group now. */
  matches(group: ReaderGroup, collection: string, document: LoggedChange["after"]): boolean {
    const entry = document && group.entryOf(collection);
    return entry !== undefined && document !== undefined && this.#index.matches(entry, document);
  }

  /** Age of the first transaction after a position, and how many there are. */
  lagAfter({ txnId, index }: Position): { readonly transactions: number; readonly ms: number } {
    const after = index === undefined ? txnId : txnId - 1;
    return this.store.read((snapshot) => {
      const last = snapshot.head.txnId;
      for (const next of loggedIds(snapshot, transactionRange(after, last))) {
        const at = snapshot.reader.get(transactionRange(next - 1, next).from, ["at"]);
        const { at: atMs } = at as unknown as { readonly at: number };
        return { transactions: last - after, ms: Math.max(0, this.platform.now() - atMs) };
      }
      return { transactions: 0, ms: 0 };
    });
  }

  /** Those that come later begin anew: they read the log from their cursors. */
  #endReaders(error: unknown): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    this.#wide.clear();
    this.#end();
    for (const group of groups) {
      group.failure ??= error;
      group.wake();
      this.dropIfEmpty(group);
    }
  }
}

function closing(): PeerError {
  return new PeerError("store.closed", "the app is closing");
}

/** Comes before every row. */
const FIRST_ROW = { collection: "", idKey: "" };

function isTransient(error: unknown): boolean {
  return error instanceof PeerError && error.code === "store.snapshot_expired";
}
