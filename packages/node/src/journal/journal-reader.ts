/**
 * Journal reader: reads what a journal has beyond its tree, and checks that both belong together
 * and that nothing is missing in between.
 *
 * Only the end of the last segment may be torn: there, the process was stopped during a write that
 * it had not acknowledged. Everything else that does not fit is damage, and is refused with its
 * place.
 */

import { PeerError } from "@bigpeer/protocol";
import type { JournalMark } from "./journal-mark.ts";
import type { SegmentFiles } from "./segment-files.ts";
import {
  decodeHeader,
  type Entry,
  HEADER_SIZE,
  type ScannedSegment,
  type SegmentHeader,
  scanSegment,
} from "./segment-format.ts";

export interface JournalContent {
  /** The entries that are not in the tree, in order. */
  readonly entries: readonly Entry[];
  /** Position of the last one, or that of the tree. */
  readonly last: number;
}

interface Segment {
  readonly number: number;
  readonly header: SegmentHeader;
  readonly scanned: ScannedSegment;
  /** Where it lies, for messages. */
  readonly place: string;
}

/** Throws PeerError `store.corrupt` when the journal is not the one that the tree needs. */
export function readJournal(files: SegmentFiles, mark: JournalMark | undefined): JournalContent {
  if (mark?.isOpen === true) return contentOf(neededSegments(files, mark), mark);
  refuseForeign(files, mark);
  return { entries: [], last: mark?.position ?? 0 };
}

/**
 * After a clean stop no segment is needed. Those of its last journal are left over; but those of
 * another store were put here by mistake, and what they have would be lost.
 */
function refuseForeign(files: SegmentFiles, mark: JournalMark | undefined): void {
  for (const number of files.list()) {
    const bytes = files.read(number);
    // A crash while a file is used again may leave it under its old name.
    const header = bytes && decodeHeader(bytes);
    if (bytes === undefined || header === undefined) continue;
    if (mark !== undefined && isSame(header.journalId, mark.journalId)) continue;
    // A segment without entries was made before a first write that did not come.
    if (scanSegment(bytes, header).entries.length > 0) throw foreign(files.describe(number));
  }
}

function neededSegments(files: SegmentFiles, mark: JournalMark): Segment[] {
  const numbers = files.list().filter((number) => number >= mark.segment);
  if (numbers[0] !== mark.segment) throw missing(files.describe(mark.segment));
  return numbers.map((number, i) => {
    if (number !== mark.segment + i) throw missing(files.describe(mark.segment + i));
    const segment = openSegment(files, number);
    if (!isSame(segment.header.journalId, mark.journalId)) throw foreign(segment.place);
    return segment;
  });
}

function contentOf(segments: readonly Segment[], mark: JournalMark): JournalContent {
  const entries: Entry[] = [];
  let last = (segments[0] as Segment).header.first - 1;
  if (last > mark.position) {
    const message = `expected entries from ${mark.position + 1} on, found them from ${last + 1} on`;
    throw damaged(`${(segments[0] as Segment).place}: ${message}`);
  }
  for (const [i, segment] of segments.entries()) {
    const { header, scanned, place } = segment;
    if (header.first !== last + 1) {
      throw damaged(
        `${place}: expected entries from ${last + 1} on, found them from ${header.first} on`,
      );
    }
    const next = segments[i + 1];
    // What a later segment begins with makes void what an earlier one has there (K83).
    for (const entry of scanned.entries) {
      if (next !== undefined && entry.position >= next.header.first) break;
      if (entry.kind === "continued") throw missing(`the segment after ${place}`);
      if (entry.position > mark.position) entries.push(entry);
      last = entry.position;
    }
    if (next === undefined) checkTail(segment);
    else if (last + 1 < next.header.first) throw damagedEntry(segment, last + 1);
  }
  if (last < mark.position) {
    const message = `expected entries up to ${mark.position}, found them up to ${last}`;
    throw damaged(`${(segments.at(-1) as Segment).place}: ${message}`);
  }
  return { entries, last };
}

/** A torn entry is the last one: a whole one behind it was acknowledged, and so was what precedes. */
function checkTail(segment: Segment): void {
  const { header, scanned } = segment;
  if (scanned.laterEntry === undefined) return;
  throw damagedEntry(segment, header.first + scanned.entries.length);
}

function openSegment(files: SegmentFiles, number: number): Segment {
  const place = files.describe(number);
  const bytes = files.read(number);
  if (bytes === undefined) throw missing(place);
  const header = decodeHeader(bytes.subarray(0, HEADER_SIZE));
  if (header?.number !== number) {
    throw damaged(`${place}: expected the header of segment ${number} at byte 0`);
  }
  return { number, header, scanned: scanSegment(bytes, header), place };
}

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function damagedEntry({ place, scanned }: Segment, position: number): PeerError {
  return damaged(`${place}: expected entry ${position} at byte ${scanned.end}`);
}

function damaged(where: string): PeerError {
  return new PeerError("store.corrupt", `the journal is damaged: ${where}`);
}

function missing(place: string): PeerError {
  const message =
    `expected ${place}, found none: the store was not stopped cleanly, ` +
    "and without its journal acknowledged writes would be lost; put the file back, or restore a backup";
  return new PeerError("store.corrupt", message);
}

function foreign(place: string): PeerError {
  const message =
    `expected the journal of this store, found that of another in ${place}; ` +
    "put the data file and the journal of one store together, or restore a backup";
  return new PeerError("store.corrupt", message);
}
