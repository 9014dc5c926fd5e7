/**
 * Journal: appends entries to segment files. An entry is durable when `append` resolves.
 *
 * One append at a time. Positions are consecutive. When a segment is full, the next one is made, and
 * then the last entry of the full segment states that it exists. After a failed write it is unknown
 * what the disk has of the entry. So that segment is not used again, and the next one begins at the
 * position of the failed entry, which makes that entry void.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import { isFullError } from "../disk.ts";
import type { JournalLimits } from "./journal-limits.ts";
import type { SegmentFile, SegmentFiles } from "./segment-files.ts";
import {
  ENTRY_HEAD_SIZE,
  encodeHeader,
  entrySize,
  HEADER_SIZE,
  type SegmentHeader,
  seedOf,
  writeEntryHead,
} from "./segment-format.ts";

/** Fraction of a segment after which the space for the next one is prepared. */
const PREPARE_AT = 1 / 2;

const CONTINUED_SIZE = entrySize(0);

interface Segment {
  readonly file: SegmentFile;
  readonly header: SegmentHeader;
  readonly seed: number;
  /** Where the next entry begins. */
  at: number;
  /** Position of its last entry that is not void; undefined while it is the last segment. */
  last: number | undefined;
  /** Whether nothing more is written to it. */
  isFinished: boolean;
  isPrepared: boolean;
}

export interface JournalStart {
  readonly journalId: Uint8Array;
  /** The first entry comes after it. */
  readonly position: number;
  readonly limits: JournalLimits;
}

export class Journal {
  readonly #files: SegmentFiles;
  readonly #journalId: Uint8Array;
  /** All that are not released, in order. */
  readonly #segments: Segment[] = [];
  /** Files that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  readonly #sizeLeast: number;
  readonly #sizeMax: number;
  #segmentSize: number;
  #position: number;

  private constructor(files: SegmentFiles, { journalId, position, limits }: JournalStart) {
    this.#files = files;
    this.#journalId = journalId;
    this.#position = position;
    this.#sizeLeast = limits.segmentBytesMin;
    this.#sizeMax = limits.segmentBytesMax;
    this.#segmentSize = limits.segmentBytesMin / 2;
  }

  /** Makes the first segment. */
  static async begin(files: SegmentFiles, start: JournalStart): Promise<Journal> {
    const journal = new Journal(files, start);
    await journal.#next(0);
    return journal;
  }

  get journalId(): Uint8Array {
    return this.#journalId;
  }

  /** Of the last durable entry. */
  get position(): number {
    return this.#position;
  }

  /** The first segment that has entries after `position`, or will have them. */
  segmentAfter(position: number): number {
    const found = this.#segments.find(({ last }) => last === undefined || last > position);
    return found?.header.number ?? 0;
  }

  /**
   * Appends an entry, whose payload lies behind the space for its head. Returns its position.
   * Rejects with PeerError `store.full` or `store.write_failed`; then it is never replayed.
   */
  async append(entry: Buffer, payloadSize: number): Promise<number> {
    assert(entry.length === entrySize(payloadSize), "an entry of the size of its payload");
    const segment = this.#segmentWith(entry.length) ?? (await this.#nextFor(entry.length));
    const position = this.#position + 1;
    writeEntryHead(entry, payloadSize, { position, kind: "writes", seed: segment.seed });
    try {
      await segment.file.write(entry, segment.at);
    } catch (cause) {
      this.#finish(segment);
      // Makes the failed entry void at once if the disk allows it, else with the next append.
      await this.#next(0).catch(() => {});
      throw writeError(cause);
    }
    segment.at += entry.length;
    this.#position = position;
    this.#prepare(segment);
    return position;
  }

  /**
   * Makes an entry that failed void, if it is not yet. Rejects as append. Before it resolves, the
   * tree must not get anything that is later than that entry.
   */
  async repair(): Promise<void> {
    if (this.#segments.at(-1)?.isFinished === true) await this.#next(0);
  }

  /**
   * Gives up the segments before `number`, which a durable mark names as the first that is needed:
   * later segments may be needed no more either, but the mark must name one that exists.
   */
  async recycle(number: number): Promise<void> {
    for (;;) {
      const [oldest] = this.#segments;
      if (oldest === undefined || oldest.header.number >= number || !oldest.isFinished) return;
      this.#segments.shift();
      await this.#files.recycle(oldest.header.number);
    }
  }

  /** Closes the files, and leaves them where they are. */
  async close(): Promise<void> {
    for (const segment of this.#segments) this.#finish(segment);
    await Promise.all(this.#closing);
  }

  /** The last segment if it has space for an entry of `size` bytes. */
  #segmentWith(size: number): Segment | undefined {
    const last = this.#segments.at(-1);
    if (last === undefined || last.isFinished) return undefined;
    return last.at + size + CONTINUED_SIZE <= last.file.size ? last : undefined;
  }

  /** Makes a segment with space for an entry of `size` bytes. */
  async #nextFor(size: number): Promise<Segment> {
    const current = this.#segments.at(-1);
    if (current === undefined || current.isFinished) return this.#next(size);
    const next = await this.#next(size);
    await this.#continue(current);
    this.#finish(current);
    return next;
  }

  /** Makes the next segment, with space for an entry of `size` bytes. */
  async #next(size: number): Promise<Segment> {
    const before = this.#segments.at(-1);
    const number = (before?.header.number ?? 0) + 1;
    const header = { journalId: this.#journalId, number, first: this.#position + 1 };
    const space = await this.#prepareFor(HEADER_SIZE + size + CONTINUED_SIZE);
    const file = await this.#create(header, space);
    if (before !== undefined) before.last = this.#position;
    const next: Segment = {
      file,
      header,
      seed: seedOf(header),
      at: HEADER_SIZE,
      last: undefined,
      isFinished: false,
      isPrepared: false,
    };
    this.#segments.push(next);
    return next;
  }

  /**
   * Prepares the space of the next segment: twice that of the last one, or as little as possible if
   * the disk is full. Returns its size. If it fails, nothing has changed.
   */
  async #prepareFor(sizeMin: number): Promise<number> {
    const larger = Math.min(this.#segmentSize * 2, this.#sizeMax);
    const [wanted, least] = [Math.max(larger, sizeMin), Math.max(this.#sizeLeast, sizeMin)];
    try {
      await this.#files.prepare(wanted);
      this.#segmentSize = larger;
      return wanted;
    } catch (error) {
      if (!(error instanceof PeerError) || error.code !== "store.full") throw error;
      await this.#files.prepare(least);
      return least;
    }
  }

  async #create(header: SegmentHeader, size: number): Promise<SegmentFile> {
    try {
      return await this.#files.create(header.number, size, encodeHeader(header));
    } catch (error) {
      // The segment may exist all the same, and would make void what the last one gets from here on.
      const last = this.#segments.at(-1);
      if (last !== undefined) this.#finish(last);
      throw error;
    }
  }

  /** Says in the old segment that the next one exists, so that its loss is found. */
  async #continue({ file, seed, at }: Segment): Promise<void> {
    const entry = Buffer.alloc(CONTINUED_SIZE);
    writeEntryHead(entry, 0, { position: this.#position + 1, kind: "continued", seed });
    // Everything in the old segment is synced. A disk that fails here fails the next append too.
    await file.write(entry, at).catch(() => {});
  }

  #finish(segment: Segment): void {
    if (segment.isFinished) return;
    segment.isFinished = true;
    const closing = segment.file.close().catch(() => {});
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #prepare(segment: Segment): void {
    if (segment.isPrepared || segment.at < segment.file.size * PREPARE_AT) return;
    segment.isPrepared = true;
    const size = Math.min(this.#segmentSize * 2, this.#sizeMax);
    // If it fails, the next segment fails, and says why.
    this.#files.prepare(size).catch(() => {});
  }
}

/** The bytes of an entry with space for a payload of this size. */
export function newEntry(payloadSize: number): Buffer {
  return Buffer.allocUnsafeSlow(entrySize(payloadSize));
}

/** Where the payload of an entry begins. */
export const PAYLOAD_START: number = ENTRY_HEAD_SIZE;

function writeError(cause: unknown): PeerError {
  if (isFullError(cause)) {
    const message = "disk full: the write was not committed; free space and retry";
    return new PeerError("store.full", message, { cause });
  }
  return new PeerError("store.write_failed", "failed to write to the journal", { cause });
}
