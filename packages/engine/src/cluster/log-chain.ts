/**
 * LogChain: follows the log of a cluster entry by entry, and checks that all of them are one chain.
 *
 * Unfinished parts of a flush are kept in memory. So a node that starts again goes on from the
 * last position at which there were none.
 */

import { PeerError, unreachable } from "@bigpeer/protocol";
import { GROUP_BYTES_MAX, TRANSACTION_BYTES_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import type { Steps } from "../steps.ts";
import {
  decodeEntry,
  decodeTransaction,
  type EntryContent,
  FIRST_DIGEST,
  isSameDigest,
  type SharedTransaction,
  transactionsInParts,
} from "./log-entry.ts";

/** A group takes transactions until it has reached its size, so the last may be one of any size. */
export const PARTS_BYTES_MAX: number = GROUP_BYTES_MAX + TRANSACTION_BYTES_MAX;

/** A place in the log: an entry, by its number and its digest. */
export interface LogPosition {
  readonly sequence: number;
  readonly digest: Uint8Array;
  readonly epoch: number;
  /** Who wrote it. */
  readonly writer: string;
}

/** Before the first entry. */
export const LOG_START: LogPosition = { sequence: 0, digest: FIRST_DIGEST, epoch: 0, writer: "" };

/** What an entry brings to a store. */
export interface TakenEntry {
  readonly transactions: readonly SharedTransaction[];
  /** The digest of what they write, if the entry has it. */
  readonly state?: Uint8Array;
  /** Set by the first entry of a log. */
  readonly history?: Extract<EntryContent, { kind: "history" }>;
}

type Part = Extract<EntryContent, { kind: "part" }>;

export class LogChain {
  readonly #platform: Pick<Platform, "sha256">;
  readonly #newestFormat: number | undefined;
  #last: LogPosition;
  #complete: LogPosition;
  #parts: Part[] = [];

  /** `newestFormat` as in decodeEntry. */
  constructor(
    platform: Pick<Platform, "sha256">,
    from: LogPosition = LOG_START,
    newestFormat?: number,
  ) {
    this.#platform = platform;
    this.#newestFormat = newestFormat;
    this.#last = from;
    this.#complete = from;
  }

  /** The last entry that was taken. */
  get last(): LogPosition {
    return this.#last;
  }

  /** The last entry that did not leave a flush unfinished: where to go on after a start. */
  get complete(): LogPosition {
    return this.#complete;
  }

  /**
   * Takes the next entry. Throws `store.corrupt`, and takes nothing, if it does not continue this
   * chain: then the log is another one, or has lost entries. Throws `store.format_newer` for an entry
   * that only a newer version reads.
   */
  *take(sequence: number, bytes: Uint8Array): Steps<TakenEntry> {
    const { sequence: before, digest, epoch: epochBefore } = this.#last;
    const { epoch, writer, previous, content } = decodeEntry(bytes, this.#newestFormat);
    if (sequence <= before) throw broken(sequence, `it comes after entry ${before}`);
    if (!isSameDigest(previous, digest)) {
      throw broken(sequence, `it does not continue entry ${before} of this store`);
    }
    if (epoch < epochBefore) {
      throw broken(sequence, `its epoch ${epoch} is over since epoch ${epochBefore}`);
    }
    if (epoch === epochBefore && writer !== this.#last.writer) {
      throw broken(sequence, `epoch ${epoch} has another writer`);
    }
    // A new epoch voids what the writer before did not finish.
    const pending = epoch === epochBefore ? this.#parts : [];
    const taken = yield* takenOf(content, pending, sequence);
    this.#last = { sequence, digest: this.#platform.sha256(bytes), epoch, writer };
    this.#parts = taken.pending;
    if (taken.pending.length === 0) this.#complete = this.#last;
    return taken.entry;
  }
}

interface Taking {
  readonly entry: TakenEntry;
  readonly pending: Part[];
}

const NOTHING: TakenEntry = { transactions: [] };

function* takenOf(content: EntryContent, pending: Part[], sequence: number): Steps<Taking> {
  switch (content.kind) {
    case "history":
      return { entry: { transactions: [], history: content }, pending: [] };
    case "transactions":
      // Only a writer that gave up a flush leaves parts, and it begins a new epoch then.
      if (pending.length > 0) throw broken(sequence, "the parts before it are not complete");
      return { entry: yield* entryOf(content.transactions, content.state), pending };
    case "part": {
      const { number, count } = content;
      const isNext = number === pending.length + 1 && (pending[0]?.count ?? count) === count;
      if (!isNext) throw broken(sequence, `its part ${number} of ${count} is not the next one`);
      const parts = [...pending, content];
      if (sizeOf(parts) > PARTS_BYTES_MAX) {
        throw broken(sequence, `its parts have more than ${PARTS_BYTES_MAX} bytes`);
      }
      if (number < count) return { entry: NOTHING, pending: parts };
      return { entry: yield* entryOf(yield* transactionsInParts(joined(parts))), pending: [] };
    }
    default:
      return unreachable(content);
  }
}

function* entryOf(encoded: readonly Uint8Array[], state?: Uint8Array): Steps<TakenEntry> {
  const transactions: SharedTransaction[] = [];
  for (const bytes of encoded) transactions.push(yield* decodeTransaction(bytes));
  return { transactions, ...(state && { state }) };
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function joined(parts: readonly Part[]): Uint8Array {
  const whole = new Uint8Array(sizeOf(parts));
  let at = 0;
  for (const { bytes } of parts) {
    whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}

function broken(sequence: number, reason: string): PeerError {
  const message = `expected the log of the cluster to continue at entry ${sequence}: ${reason}`;
  return new PeerError("store.corrupt", message);
}
