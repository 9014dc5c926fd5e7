/**
 * Store: documents of one app, kept safe.
 *
 * Composition of the parts: identity, commit queue, snapshots, change log, uploads, maintenance.
 * Writes go through `transact` or `upload` and nowhere else; reads through a snapshot, which never
 * shows what a crash could take away.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { ClockLimits } from "../crdt/clock.ts";
import { DRIFT_MS_MAX, REST_MS_MAX } from "../limits.ts";
import type { KeyValue, Platform, Snapshot } from "../platform.ts";
import {
  type ChangesSince,
  type Cursor,
  changesSince,
  type DocumentDelta,
  deltaSince,
} from "./change-log.ts";
import { CommitQueue, type Committed, type Evaluate } from "./commit-queue.ts";
import { CURRENT_FORMAT, type Format, openIdentity } from "./identity.ts";
import { DEFAULT_RETENTION, dueWork, heartbeat, type Retention } from "./maintenance.ts";
import type { Identity, UploadOutcome, UploadRecord } from "./records.ts";
import {
  answerFromRecord,
  applyUpload,
  checkEnvelope,
  checkSteps,
  lastTimeOf,
  markOf,
  type Upload,
  type UploadAnswer,
  type UploadStep,
} from "./upload.ts";
import { View } from "./view.ts";

export interface StoreOptions {
  readonly clock?: ClockLimits;
  readonly retention?: Retention;
  /** Set after an operator confirmed a wall clock that leapt. */
  readonly isClockAccepted?: boolean;
  /** For tests of migration; the current format otherwise. */
  readonly format?: Format;
}

const DEFAULT_CLOCK: ClockLimits = { driftMsMax: DRIFT_MS_MAX, restMsMax: REST_MS_MAX };

/** A durable state to read from. It must be closed. */
export class StoreSnapshot extends View {
  readonly #snapshot: Snapshot;
  readonly #identity: Identity;

  constructor(snapshot: Snapshot, identity: Identity, numbers: Map<string, number>) {
    super(snapshot, numbers);
    this.#snapshot = snapshot;
    this.#identity = identity;
  }

  /** The transaction that this state includes last. */
  get txnId(): number {
    return this.head.txnId;
  }

  /** Transactions after a cursor, or why it cannot be served. Read them before closing. */
  changesSince(cursor: Cursor): ChangesSince {
    return changesSince(this, this.#identity, cursor);
  }

  /** What a replica that holds `from` of a document lacks. */
  deltaSince(collection: string, id: Value, from: number): DocumentDelta {
    return deltaSince(this, this.#identity.site, { collection, id }, from);
  }

  close(): void {
    this.#snapshot.close();
  }
}

export class Store {
  readonly #storage: KeyValue;
  readonly #platform: Platform;
  readonly #options: StoreOptions;
  readonly #queue: CommitQueue;
  readonly #numbers = new Map<string, number>();
  readonly #listeners = new Set<(txnId: number) => void>();
  readonly identity: Identity;

  private constructor(
    storage: KeyValue,
    platform: Platform,
    identity: Identity,
    options: StoreOptions,
  ) {
    this.#storage = storage;
    this.#platform = platform;
    this.#options = options;
    this.identity = identity;
    const clock = options.clock ?? DEFAULT_CLOCK;
    const isClockAccepted = options.isClockAccepted === true;
    this.#queue = new CommitQueue(
      storage,
      () => ({ site: identity.site, nowMs: platform.now(), clock, isClockAccepted }),
      (txnId) => this.#announce(txnId),
    );
  }

  /** Opens a store on a storage that nobody else writes to; makes one where there is none. */
  static async open(
    storage: KeyValue,
    platform: Platform,
    options: StoreOptions = {},
  ): Promise<Store> {
    const identity = await openIdentity(storage, platform, options.format ?? CURRENT_FORMAT);
    return new Store(storage, platform, identity, options);
  }

  /**
   * Evaluates a request and makes its operations durable, all or none. `evaluate` is synchronous and
   * may run more than once; what it hands to the transaction belongs to the store from then on.
   * `requestId` is kept in the log.
   */
  transact<T>(evaluate: Evaluate<T>, requestId?: string): Promise<Committed<T>> {
    return this.#queue.submit(evaluate, requestId);
  }

  snapshot(): StoreSnapshot {
    return new StoreSnapshot(this.#storage.snapshot(), this.identity, this.#numbers);
  }

  /** Runs `work` on a snapshot that is closed afterwards. */
  read<T>(work: (snapshot: StoreSnapshot) => T): T {
    const snapshot = this.snapshot();
    try {
      return work(snapshot);
    } finally {
      snapshot.close();
    }
  }

  /** Applies an upload of another site exactly once. */
  async upload(upload: Upload): Promise<UploadAnswer> {
    checkEnvelope(upload);
    if (upload.site === this.identity.site) return { kind: "forked" };
    try {
      return await this.#take(upload, checkSteps(upload));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.#take(upload, error);
    }
  }

  /** Calls `listener` with each txnId that became durable. Returns the way to stop it. */
  onCommit(listener: (txnId: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets what retention allows, in bounded transactions. Returns how many it made for that. */
  async maintain(): Promise<number> {
    const retention = this.#options.retention ?? DEFAULT_RETENTION;
    await this.transact((transaction) =>
      transaction.apply(heartbeat(transaction.view, this.#platform.now())),
    );
    for (let made = 0; ; made++) {
      const { result } = await this.transact((transaction) => {
        const due = dueWork(transaction.view, retention, this.#platform.now());
        transaction.apply(due.operations);
        return due;
      });
      if (result.operations.length === 0) return made;
      if (!result.hasMore) return made + 1;
    }
  }

  /** Finishes what was accepted. The storage stays open: it belongs to whoever opened it. */
  close(): Promise<void> {
    return this.#queue.close();
  }

  /** Takes an upload by its number: with its checked steps, or as refused. */
  async #take(upload: Upload, content: readonly UploadStep[] | PeerError): Promise<UploadAnswer> {
    const refusal = content instanceof PeerError ? content.message : undefined;
    const { txnId, result } = await this.transact((transaction): UploadAnswer | UploadOutcome => {
      const known = answerFromRecord(transaction.view, this.#platform, upload);
      if (known !== undefined) return known;
      const last = lastTimeOf(transaction.view, upload.site);
      if (content instanceof PeerError) {
        transaction.markUpload(markOf(upload, last), refusal);
        return "refused";
      }
      const outcomes = applyUpload(transaction, upload.site, content);
      transaction.markUpload(markOf(upload, content.at(-1)?.time ?? last));
      return outcomes.includes("stale") ? "stale" : "applied";
    });
    if (typeof result === "object") return result;
    const { digest } = upload;
    const record: UploadRecord = { digest, txnId, outcome: result, reason: refusal ?? "" };
    return { kind: "taken", record, isRepeat: false };
  }

  #announce(txnId: number): void {
    // In turns of their own: a listener that fails is no matter of the store or of the others.
    for (const listener of this.#listeners) void Promise.resolve(txnId).then(listener);
  }
}

/** The content is at fault and stays so: the upload is answered once and for all. */
function isRefusal(error: unknown): error is PeerError {
  return (
    error instanceof PeerError &&
    (error.code.startsWith("operation.") ||
      error.code === "value.invalid" ||
      error.code === "id.invalid")
  );
}
