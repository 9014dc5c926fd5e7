/**
 * Transaction: a request while it is evaluated, with its own reads and writes.
 *
 * It reads over its own overlay, so it sees its own writes, and turns decisions into operations,
 * with one tick of the clock for each statement or command. It ends as an entry in the log (guards
 * and steps), or as nothing at all. It must not be used after its request returned.
 */

import {
  type CreateIndexOperation,
  checkOperation,
  documentId,
  isDocumentOperation,
  type LayerOperation,
  type LocalOperation,
  type Operation,
  PeerError,
  type Site,
  type Stamp,
  type Value,
} from "@bigpeer/protocol";
import { type ClockLimits, checkRemoteTime, checkWallClock, nextTime } from "../crdt/clock.ts";
import { newestOfMerge } from "../crdt/state-parts.ts";
import { INDEXES_MAX, OPERATIONS_MAX } from "../limits.ts";
import type { KeyRange, Reader } from "../platform.ts";
import { AT_ONCE, finish, type Steps } from "../steps.ts";
import { Applier, type OperationOutcome } from "./applier.ts";
import { Overlay } from "./overlay.ts";
import { OwnWrites } from "./own-writes.ts";
import type { MutableOrigin, TransactionRecord, UploadMark, Writer } from "./records.ts";
import { type StoredDocument, View } from "./view.ts";

/** Settings and clock that the store gives to a transaction. */
export interface TransactionContext {
  readonly site: Site;
  readonly nowMs: number;
  readonly clock: ClockLimits;
  /** Whether an operator has confirmed the wall clock. */
  readonly isClockAccepted: boolean;
  /** When the store was opened after an accepted long rest. */
  readonly awakeMs?: number | undefined;
  /** Whether the document writes of the transaction are collected for an upload. */
  readonly isTraced?: boolean;
  /** Whether the log does not name the writer, because another node could not keep the name. */
  readonly isAnonymous?: boolean;
}

/** What the queue knows of a transaction, and of those before it. */
export interface QueuedTransaction {
  readonly requestId?: string | undefined;
  readonly by?: Writer | undefined;
  /** By collection number, the last transaction that forgot documents. */
  readonly forgotten?: ReadonlyMap<number, number>;
  /** Of transactions up to this one it is not known what they forgot. */
  readonly unknownUpTo?: number;
}

/** A transaction that changed something. */
export interface FinishedTransaction {
  readonly overlay: Overlay;
  readonly record: TransactionRecord;
  /** Numbers of the collections of which it forgot documents. */
  readonly forgotten: ReadonlySet<number> | undefined;
}

export class Transaction {
  readonly #context: TransactionContext;
  readonly #parent: Reader;
  readonly #forgotten: ReadonlyMap<number, number> | undefined;
  readonly #unknownUpTo: number;
  #applier: Applier;
  #overlay: Overlay;
  #view: View;
  #own: OwnWrites | undefined;
  /** The id that the transaction gets if it changes anything. */
  readonly txnId: number;
  #operations = 0;
  readonly #origin: MutableOrigin;
  /** Housekeeping and document writes do not mix: collecting would not see those writes. */
  #kind: "documents" | "housekeeping" | undefined;
  #isEnded = false;

  constructor(
    parent: Reader,
    txnId: number,
    context: TransactionContext,
    { requestId, by, forgotten, unknownUpTo = 0 }: QueuedTransaction = {},
  ) {
    this.#context = context;
    this.#forgotten = forgotten;
    this.#unknownUpTo = unknownUpTo;
    this.#parent = parent;
    this.txnId = txnId;
    this.#overlay = new Overlay(parent);
    this.#own = context.isTraced === true ? new OwnWrites() : undefined;
    this.#applier = new Applier(this.#overlay, txnId, context.site, this.#own);
    this.#view = new View(this.#overlay);
    this.#origin = {
      at: context.nowMs,
      requestId,
      upload: undefined,
      refusal: undefined,
      via: undefined,
      by: context.isAnonymous === true ? undefined : by,
    };
  }

  /** The documents with everything applied so far. */
  get view(): View {
    return this.#view;
  }

  /** The documents before the transaction. */
  get before(): View {
    return new View(this.#parent);
  }

  /** Its document writes so far; undefined in a store that does not collect them. */
  get own(): OwnWrites | undefined {
    return this.#own;
  }

  /** Whether it has any operation so far. */
  get isChanging(): boolean {
    return this.#operations > 0;
  }

  /** The wall clock when the request was evaluated, in milliseconds. */
  get nowMs(): number {
    return this.#context.nowMs;
  }

  /** Calls `onWrite` before each key is written; if it throws, nothing is written. */
  watch(onWrite: () => void): void {
    this.#overlay.onWrite = onWrite;
  }

  /** Rolls back everything applied so far. Views taken before still show it. */
  restart(): void {
    if (this.#isEnded) throw endedError();
    this.#overlay = new Overlay(this.#parent);
    this.#own = this.#own && new OwnWrites();
    this.#applier = new Applier(this.#overlay, this.txnId, this.#context.site, this.#own);
    this.#view = new View(this.#overlay);
    this.#operations = 0;
    this.#kind = undefined;
  }

  /** Reads a document and guards it: the outcome holds only while the document is unchanged. */
  get(collection: string, id: Value): StoredDocument | undefined {
    if (this.#isEnded) throw endedError();
    const shown = this.#applier.guard(collection, id);
    if (shown === undefined) return undefined;
    return { id: documentId(id).id, fields: shown.fields, types: shown.types };
  }

  /** Whether anything in a collection may have changed after a transaction. */
  isChangedSince(collection: string, txnId: number): boolean {
    if (this.isForgottenSince(collection, txnId)) return true;
    for (const _ of this.view.changedSince(collection, txnId)) return true;
    return false;
  }

  /**
   * Whether documents of a collection were forgotten after a transaction, which leaves no trace of
   * them. Valid only for transactions since the store was opened.
   */
  isForgottenSince(collection: string, txnId: number): boolean {
    const number = this.view.collectionNumber(collection);
    if (number === undefined) return false;
    if (this.#applier.forgotten?.has(number) === true) return true;
    return (this.#forgotten?.get(number) ?? this.#unknownUpTo) > txnId;
  }

  /** Applies the operations of one statement or command: one tick for all of them. */
  apply(operations: readonly Operation[]): OperationOutcome[] {
    return finish(this.applyInSteps(operations));
  }

  /** As apply, with pauses, for any number of operations. */
  *applyInSteps(operations: readonly Operation[]): Steps<OperationOutcome[]> {
    if (operations.length === 0) return [];
    const admitting = this.#admit(operations);
    if (admitting !== undefined) yield* admitting;
    const { nowMs, clock, isClockAccepted, awakeMs } = this.#context;
    const last = this.#applier.time;
    if (!isClockAccepted) checkWallClock(last, nowMs, clock, awakeMs);
    const checked: Operation[] = [];
    for (const operation of operations) {
      if (checked.length > 0) yield;
      const next = checkOperation(operation);
      this.#checkStamps(next);
      checked.push(next);
    }
    return yield* this.#applier.step({ time: nextTime(last, nowMs), operations: checked });
  }

  /**
   * Applies the layers of a small peer, whose documents were checked when they came. The number of
   * operations has no bound: no limit may stop the progress of a peer.
   */
  applyLayers(operations: readonly (LayerOperation | LocalOperation)[]): void {
    if (operations.length === 0) return;
    if (this.#isEnded) throw endedError();
    finish(this.#checkAll(operations));
    const time = nextTime(this.#applier.time, this.#context.nowMs);
    finish(this.#applier.step({ time, operations }));
  }

  /** Approximate memory held, in bytes; 0 for a single document. */
  get bytes(): number {
    return this.#applier.bytes;
  }

  /** Stamp count of a document that the transaction made exceed the limit; undefined for none. */
  get outgrown(): number | undefined {
    return this.#applier.outgrown;
  }

  /** Announces large documents: each is read in steps of its own before a write. */
  expectLarge(): void {
    this.#applier.hasLarge = true;
  }

  /** Announces many reads in this range: see Overlay. */
  expect(range: KeyRange): void {
    this.#overlay.expect(range);
  }

  /** Applies operations of another site under its own stamp. */
  applyForeign(stamp: Stamp, operations: readonly Operation[]): OperationOutcome[] {
    return finish(this.applyForeignInSteps(stamp, operations));
  }

  /** As applyForeign, with pauses. */
  *applyForeignInSteps(stamp: Stamp, operations: readonly Operation[]): Steps<OperationOutcome[]> {
    const admitting = this.#admit(operations);
    if (admitting !== undefined) yield* admitting;
    checkRemoteTime(stamp.time, this.#context.nowMs, this.#context.clock);
    return yield* this.#applier.step({ time: stamp.time, site: stamp.site, operations });
  }

  /** Ties the transaction to an upload: its number is taken in the same commit. */
  markUpload(upload: UploadMark, refusal?: string): void {
    this.#origin.upload = upload;
    this.#origin.refusal = refusal;
  }

  /** Records the history of the linked store that the writes came from. */
  markVia(history: string): void {
    this.#origin.via = history;
  }

  /** Closes the transaction; undefined when it changed nothing. */
  *finish(): Steps<FinishedTransaction | undefined> {
    this.#isEnded = true;
    this.#overlay.onWrite = undefined;
    const record = yield* this.#applier.finish(this.#origin);
    if (record === undefined) return undefined;
    const { forgotten } = this.#applier;
    return { overlay: this.#overlay, record, forgotten };
  }

  /** Undefined when all is checked at once: a single operation needs no generator. */
  #admit(operations: readonly Operation[]): Steps<void> | undefined {
    if (this.#isEnded) throw endedError();
    this.#operations += operations.length;
    if (this.#operations > OPERATIONS_MAX) {
      const message = `expected at most ${OPERATIONS_MAX} operations in a transaction`;
      throw new PeerError("operation.refused", message);
    }
    if (operations.length > 1) return this.#checkAll(operations);
    for (const operation of operations) this.#check(operation, operations);
    return undefined;
  }

  *#checkAll(operations: readonly Operation[]): Steps<void> {
    let seen = 0;
    for (const operation of operations) {
      if (++seen % AT_ONCE === 0) yield;
      this.#check(operation, operations);
    }
    yield* checkDistinct(operations);
  }

  #check(operation: Operation, all: readonly Operation[]): void {
    this.#checkKind(operation);
    if (operation.kind === "create_index") this.#checkRoom(operation, all);
  }

  #checkKind(operation: Operation): void {
    const isHousekeeping = operation.kind === "horizon" || operation.kind === "trim";
    const kind = isHousekeeping ? "housekeeping" : "documents";
    this.#kind ??= kind;
    if (kind === this.#kind) return;
    const message = "expected housekeeping in a transaction of its own";
    throw new PeerError("operation.invalid", message);
  }

  /** Counts all new indexes of the collection, also those whose name is already taken. */
  #checkRoom({ collection }: CreateIndexOperation, operations: readonly Operation[]): void {
    const isOnSame = (operation: Operation): boolean =>
      operation.kind === "create_index" && operation.collection === collection;
    const count = this.view.indexes(collection).length + operations.filter(isOnSame).length;
    if (count <= INDEXES_MAX) return;
    const message = `expected at most ${INDEXES_MAX} indexes of a collection`;
    throw new PeerError("operation.refused", message);
  }

  #checkStamps(operation: Operation): void {
    if (operation.kind !== "merge") return;
    checkRemoteTime(newestOfMerge(operation.state), this.#context.nowMs, this.#context.clock);
  }
}

function endedError(): PeerError {
  return new PeerError("store.closed", "the transaction has ended");
}

/** One tick cannot order two operations on one document. Merged states have their own stamps. */
function* checkDistinct(operations: readonly Operation[]): Steps<void> {
  const collections = new Map<string, Set<string>>();
  let looked = 0;
  for (const operation of operations) {
    if (++looked % AT_ONCE === 0) yield;
    if (!isDocumentOperation(operation)) continue;
    if (operation.kind === "merge" || operation.kind === "layer") continue;
    const { collection, id } = operation;
    let seen = collections.get(collection);
    if (seen === undefined) {
      seen = new Set();
      collections.set(collection, seen);
    }
    const { size } = seen;
    if (seen.add(documentId(id).key).size > size) continue;
    const message = "expected each document once in a statement or command";
    throw new PeerError("operation.invalid", message);
  }
}
