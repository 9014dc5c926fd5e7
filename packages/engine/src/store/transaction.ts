/**
 * Transaction: a request while it is evaluated.
 *
 * It reads over its own overlay, so it sees what it wrote, and turns what it decides into
 * operations, one tick of the clock for each statement or command. It ends as an entry (guards and
 * steps) that is in the log, or as nothing at all. It must not be used after its request returned.
 */

import {
  checkOperation,
  type Operation,
  PeerError,
  type Site,
  type Stamp,
  type Value,
} from "@bigpeer/protocol";
import { type ClockLimits, checkRemoteTime, checkWallClock, nextTime } from "../crdt/clock.ts";
import { eachStateStamp } from "../crdt/state.ts";
import { stateOfBytes } from "../crdt/state-codec.ts";
import { OPERATIONS_MAX } from "../limits.ts";
import type { Reader } from "../platform.ts";
import { Applier, type OperationOutcome } from "./applier.ts";
import { Overlay } from "./overlay.ts";
import type { Entry, TransactionRecord, UploadMark } from "./records.ts";
import { type StoredDocument, View } from "./view.ts";

/** What a transaction needs to know of its store. */
export interface TransactionContext {
  readonly site: Site;
  readonly nowMs: number;
  readonly clock: ClockLimits;
  /** Whether an operator has confirmed the wall clock. */
  readonly isClockAccepted: boolean;
}

export class Transaction {
  readonly #context: TransactionContext;
  readonly #applier: Applier;
  readonly #overlay: Overlay;
  readonly view: View;
  #operations = 0;
  #origin: Pick<Entry, "upload" | "refusal"> = {};

  constructor(parent: Reader, txnId: number, context: TransactionContext) {
    this.#context = context;
    this.#overlay = new Overlay(parent);
    this.#applier = new Applier(this.#overlay, txnId, context.site);
    this.view = new View(this.#overlay);
  }

  /** Reads a document for a decision about a write: the write holds only while it is unchanged. */
  get(collection: string, id: Value): StoredDocument | undefined {
    this.#applier.guard(collection, id);
    return this.view.get(collection, id);
  }

  /** Applies the operations of one statement or command: one tick for all of them. */
  apply(operations: readonly Operation[]): OperationOutcome[] {
    if (operations.length === 0) return [];
    this.#bound(operations.length);
    const { nowMs, clock, isClockAccepted } = this.#context;
    const last = this.#applier.time;
    if (!isClockAccepted) checkWallClock(last, nowMs, clock);
    const checked = operations.map(checkOperation);
    for (const operation of checked) this.#checkStamps(operation);
    return this.#applier.step({ time: nextTime(last, nowMs), operations: checked });
  }

  /** Applies operations of another site under its own stamp. */
  applyForeign(stamp: Stamp, operations: readonly Operation[]): OperationOutcome[] {
    this.#bound(operations.length);
    checkRemoteTime(stamp.time, this.#context.nowMs, this.#context.clock);
    return this.#applier.step({ time: stamp.time, site: stamp.site, operations });
  }

  /** Ties the transaction to an upload: its number is taken in the same breath. */
  markUpload(upload: UploadMark, refusal?: string): void {
    this.#origin = refusal === undefined ? { upload } : { upload, refusal };
  }

  /** Closes the transaction; undefined when it changed nothing. */
  finish(): { overlay: Overlay; record: TransactionRecord } | undefined {
    const record = this.#applier.finish(this.#origin);
    return record === undefined ? undefined : { overlay: this.#overlay, record };
  }

  #bound(more: number): void {
    this.#operations += more;
    if (this.#operations > OPERATIONS_MAX) {
      const message = `expected at most ${OPERATIONS_MAX} operations in a transaction`;
      throw new PeerError("operation.refused", message);
    }
  }

  #checkStamps(operation: Operation): void {
    if (operation.kind !== "merge") return;
    eachStateStamp(stateOfBytes(operation.state), (stamp) => {
      checkRemoteTime(stamp.time, this.#context.nowMs, this.#context.clock);
    });
  }
}
