/**
 * Delivery: sends the changes of one webhook or sink to its receiver, in order, each at least once.
 *
 *   read a batch ──> write its end ──> send ──> delivered ──> the next batch
 *                                       │ ▲
 *                                       ▼ │ back-off
 *                                     failed ──too often──> dead letter ──> the next batch
 *
 * The position moves only beyond batches that were delivered or are dead letters. After a crash the
 * batch in progress is read and sent again, with the same id. Some failures stop the delivery until
 * an operator resumes it: the reason is in the journal.
 */

import { createHash } from "node:crypto";
import { type ChangeReader, ChangesGone, type ChangesRequest } from "@bigpeer/engine/changes";
import { PeerError } from "@bigpeer/protocol";
import { DEAD_LETTERS_MAX } from "../limits/limits.ts";
import { describeError } from "../observability/log.ts";
import type { Destination } from "../registry/destination.ts";
import { waitAfter } from "./back-off.ts";
import { type Batch, BatchReader, type Sleep } from "./batch-reader.ts";
import {
  beginOf,
  type DeliveryJournal,
  type DeliveryRecord,
  type StopReason,
  txnIdOf,
} from "./delivery-journal.ts";
import type { FailedSend, Message, Sender } from "./sender.ts";

/** Time, chance and the log, which tests replace. */
export interface DeliveryHost {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly sleep: Sleep;
  /** From 0 to below 1. */
  readonly chance: () => number;
  readonly attemptsMax: number;
  readonly report: (event: DeliveryEvent) => void;
}

export interface DeliveryParts {
  readonly destination: Destination;
  readonly open: (request: ChangesRequest) => ChangeReader;
  readonly journal: DeliveryJournal;
  readonly sender: Sender;
  readonly host: DeliveryHost;
}

export type DeliveryEvent =
  | { readonly kind: "failed"; readonly attempts: number; readonly message: string }
  | { readonly kind: "recovered" }
  | { readonly kind: "buried"; readonly attempts: number; readonly message: string }
  | { readonly kind: "stopped"; readonly reason: StopReason; readonly message: string }
  | { readonly kind: "fault"; readonly message: string };

export interface DeliveryFault {
  readonly message: string;
  readonly status: number | undefined;
  readonly atMs: number;
}

/** What a running delivery knows about itself. */
export interface DeliveryProgress {
  /** `live`: everything was delivered; `retrying`: waits for the next attempt. */
  readonly state: "starting" | "live" | "delivering" | "retrying";
  /** Everything up to here was delivered, or is a dead letter. */
  readonly cursor: string | undefined;
  /** Attempts at the batch in progress that failed. */
  readonly attempts: number;
  readonly nextMs: number | undefined;
  readonly lastError: DeliveryFault | undefined;
  readonly lastDeliveryMs: number | undefined;
  /** When the first change was made that is not delivered; undefined if there is none. */
  readonly waitingSinceMs: number | undefined;
}

export interface DeliveryTotals {
  readonly changes: number;
  readonly deliveries: number;
  readonly failures: number;
  readonly deadLetters: number;
}

interface GivenUp {
  readonly kind: "given up";
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly message: string;
}

type SendResult = { readonly kind: "delivered" | "stopped" } | GivenUp;

/** How long a position waits to be written: a crash then repeats what was delivered meanwhile. */
const WRITE_MS = 1_000;

/** How long one read waits for changes. */
const WAIT_MS = 30_000;

/** How often the position is written while no change is for this delivery. */
const PASSED_MS = 600_000;

/** When a delivery starts again after an error of this server. */
const FAULT_MS = 5_000;

/** The store is closed, or another node evaluates it: this delivery is over here. */
const ENDING_CODES = new Set(["store.closed", "cluster.elsewhere"]);

/** Ends the delivery for a reason that an operator must see. */
class Stopped extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #ending = new AbortController();
  readonly #done: Promise<void>;
  /** Says which changes a batch has, so that a changed filter forms another one. */
  readonly #selection: string;
  #record: DeliveryRecord;
  /** Delivered up to here; the record may be behind. */
  #cursor: string;
  #isWritten = true;
  #writtenMs: number;
  #writesSeen: number;
  #state: DeliveryProgress["state"] = "starting";
  #attempts = 0;
  #nextMs: number | undefined;
  #lastError: DeliveryFault | undefined;
  #lastDeliveryMs: number | undefined;
  #waitingSinceMs: number | undefined;
  readonly #totals = { changes: 0, deliveries: 0, failures: 0, deadLetters: 0 };
  #isEnded = false;

  /** Starts at once. */
  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    const { destination, journal, host } = parts;
    this.#selection = selectionOf(destination);
    this.#record = beginOf(destination, journal.record(destination.id));
    this.#cursor = this.#record.cursor;
    this.#writtenMs = host.now();
    this.#writesSeen = journal.writes;
    this.#done = this.#keepRunning().finally(() => {
      this.#isEnded = true;
    });
  }

  /** Whether it does nothing any more. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  get stopped(): DeliveryRecord["stopped"] {
    return this.#record.stopped;
  }

  get totals(): DeliveryTotals {
    return this.#totals;
  }

  get progress(): DeliveryProgress {
    return {
      state: this.#state,
      cursor: this.#cursor,
      attempts: this.#attempts,
      nextMs: this.#nextMs,
      lastError: this.#lastError,
      lastDeliveryMs: this.#lastDeliveryMs,
      waitingSinceMs: this.#waitingSinceMs,
    };
  }

  /** Sends nothing more. Resolves when the position is written; the store must still be open. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#done;
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted && this.#record.stopped === undefined) {
      try {
        await this.#run();
      } catch (error) {
        if (await this.#ends(error)) break;
        await this.#wait(FAULT_MS);
      }
    }
    await this.#writeLast();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { destination, open, host } = this.#parts;
    const { collection, query, events } = destination;
    const since = this.#cursor;
    const reader = open({ collection, since, ...(query !== undefined && { query }) });
    try {
      const batches = new BatchReader(reader, { events, sleep: host.sleep });
      while (!signal.aborted) await this.#step(batches);
    } finally {
      reader.close();
    }
  }

  async #step(batches: BatchReader): Promise<void> {
    const { signal } = this.#ending;
    const { sending } = this.#record;
    const to = sending?.of === this.#selection ? sending.to : undefined;
    const waitMs = this.#isWritten ? WAIT_MS : WRITE_MS;
    const batch = await batches.next({ waitMs, signal, to });
    if (batch.changes.length > 0) await this.#deliver(batch, to !== undefined);
    else await this.#passOver(batch);
  }

  /** No change up to here is for this delivery. */
  async #passOver({ cursor, isCurrent }: Batch): Promise<void> {
    const { journal, host } = this.#parts;
    if (isCurrent) this.#state = "live";
    this.#cursor = cursor;
    const { start, cursor: written } = this.#record;
    // A batch that was being sent and is not found any more.
    if (this.#record.sending !== undefined) this.#record = { start, cursor: written };
    if (!this.#isWritten) return this.#write();
    const moved = txnIdOf(cursor) - txnIdOf(written);
    // Positions of deliveries are transactions, too: these alone must not cause further ones.
    const hasOthers = moved > journal.writes - this.#writesSeen;
    if (hasOthers && host.now() - this.#writtenMs >= PASSED_MS) await this.#write();
  }

  async #deliver(batch: Batch, isReplay: boolean): Promise<void> {
    const { changes, cursor } = batch;
    const { destination, sender } = this.#parts;
    const [first, last] = [changes[0], changes.at(-1)];
    if (first === undefined || last === undefined) return;
    this.#state = "delivering";
    this.#waitingSinceMs = Date.parse(first.change.at);
    if (!isReplay) {
      const sending = { to: last.cursor, of: this.#selection };
      await this.#put({ start: this.#record.start, cursor: this.#cursor, sending });
    }
    const id = messageIdOf(destination.id, first.cursor, last.cursor);
    const message = { id, payload: sender.compose(changes) };
    const result = await this.#send(message);
    if (result.kind === "stopped") return;
    if (result.kind === "given up") await this.#bury(result, message, batch);
    else this.#noteDelivered(changes.length);
    this.#cursor = cursor;
    this.#attempts = 0;
    this.#waitingSinceMs = undefined;
  }

  /** Keeps a delivery that was given up as a dead letter. */
  async #bury(
    { attempts, message: error }: GivenUp,
    { id: messageId, payload }: Message,
    { changes, cursor }: Batch,
  ): Promise<void> {
    const { destination, journal, host } = this.#parts;
    const record = { start: this.#record.start, cursor };
    const count = changes.length;
    const letter = { atMs: host.now(), attempts, error, messageId, payload, changes: count };
    if (!(await journal.bury(destination.id, record, letter, DEAD_LETTERS_MAX))) {
      throw new Stopped("dead_letters_full", `there are ${DEAD_LETTERS_MAX} dead letters`);
    }
    this.#totals.deadLetters++;
    host.report({ kind: "buried", attempts, message: error });
    this.#noteWritten(record);
  }

  /** The position is written later: with the next batch, or after a while. */
  #noteDelivered(changes: number): void {
    const { host } = this.#parts;
    this.#totals.changes += changes;
    this.#totals.deliveries++;
    this.#lastDeliveryMs = host.now();
    if (this.#attempts > 0) host.report({ kind: "recovered" });
    const { start, cursor } = this.#record;
    this.#record = { start, cursor };
    this.#isWritten = false;
  }

  /** Sends until it is delivered, given up, or the delivery is stopped. */
  async #send(message: Message): Promise<SendResult> {
    const { sender, host } = this.#parts;
    const { signal } = this.#ending;
    for (let attempts = 1; ; attempts++) {
      this.#state = "delivering";
      const outcome = await sender.send(message, signal);
      if (outcome.kind === "delivered") return outcome;
      if (signal.aborted) return { kind: "stopped" };
      const { message: reason } = outcome;
      this.#attempts = attempts;
      this.#totals.failures++;
      const status = outcome.kind === "failed" ? outcome.status : 410;
      this.#lastError = { message: reason, status, atMs: host.now() };
      host.report({ kind: "failed", attempts, message: reason });
      if (outcome.kind === "gone") throw new Stopped("gone", reason);
      const waitMs = this.#waitAfter(attempts, outcome);
      if (waitMs === undefined) return { kind: "given up", attempts, message: reason };
      await this.#wait(waitMs);
      if (signal.aborted) return { kind: "stopped" };
    }
  }

  #waitAfter(attempts: number, { isRefused = false, askedMs }: FailedSend): number | undefined {
    const { attemptsMax, chance } = this.#parts.host;
    return waitAfter({ attempts, attemptsMax, isRefused, askedMs, chance: chance() });
  }

  async #wait(ms: number): Promise<void> {
    const { host } = this.#parts;
    this.#state = "retrying";
    this.#nextMs = host.now() + ms;
    await host.sleep(ms, this.#ending.signal);
    this.#nextMs = undefined;
  }

  /** Whether the delivery is over, at least on this node. */
  async #ends(error: unknown): Promise<boolean> {
    const { host } = this.#parts;
    const stop = stopOf(error);
    if (stop !== undefined) {
      const { reason, message } = stop;
      host.report({ kind: "stopped", reason, message });
      const { start } = this.#record;
      const position = this.#isWritten ? this.#record : { start, cursor: this.#cursor };
      this.#record = { ...position, stopped: { reason, atMs: host.now() } };
      await this.#put(this.#record).catch((fault: unknown) => this.#fault(fault));
      return true;
    }
    const isOver = error instanceof PeerError && ENDING_CODES.has(error.code);
    if (!isOver) this.#fault(error);
    return isOver;
  }

  #fault(error: unknown): void {
    const { host } = this.#parts;
    const message = error instanceof Error ? error.message : String(error);
    this.#lastError = { message, status: undefined, atMs: host.now() };
    host.report({ kind: "fault", message: describeError(error) });
  }

  #write(): Promise<void> {
    const { start } = this.#record;
    return this.#put({ start, cursor: this.#cursor });
  }

  async #put(record: DeliveryRecord): Promise<void> {
    const { journal, destination } = this.#parts;
    await journal.write(destination.id, record);
    this.#noteWritten(record);
  }

  #noteWritten(record: DeliveryRecord): void {
    const { journal, host } = this.#parts;
    this.#record = record;
    this.#isWritten = true;
    this.#writtenMs = host.now();
    this.#writesSeen = journal.writes;
  }

  /** What was delivered is repeated if this fails. */
  async #writeLast(): Promise<void> {
    if (this.#isWritten || this.#record.stopped !== undefined) return;
    await this.#write().catch((error: unknown) => {
      const isOver = error instanceof PeerError && ENDING_CODES.has(error.code);
      if (!isOver) this.#fault(error);
    });
  }
}

/** The same for the same changes, on every node and at every attempt. */
function messageIdOf(destination: string, first: string, last: string): string {
  const hash = createHash("sha256").update(`${destination}\n${first}\n${last}`);
  return `msg_${hash.digest("base64url").slice(0, 27)}`;
}

function selectionOf({ collection, query, events }: Destination): string {
  const text = JSON.stringify([collection, query ?? null, events ?? null]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

function stopOf(error: unknown): Stopped | undefined {
  if (error instanceof Stopped) return error;
  if (!(error instanceof ChangesGone)) return undefined;
  const reason = error.goneReason === "floor" ? "log_trimmed" : "history_changed";
  return new Stopped(reason, error.message);
}
