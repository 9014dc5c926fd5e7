/**
 * Back-fill: the documents of a filter, read from the first id to the last, in pieces (S13 to S15).
 *
 * For a fill a piece is the documents that match, for a comparison their versions. The pieces cover
 * all ids without a gap. Where the condition names ids, or an index finds few, only those are looked at.
 * A link is also told which documents were deleted (S51).
 */

import {
  type DocumentEntry,
  documentId,
  encodeMessage,
  type IdRange,
  idOfKey,
  PeerError,
  type Value,
} from "@bigpeer/protocol";
import type { Steps } from "../query/frame/steps.ts";
import { metered } from "../query/live/live-run.ts";
import { chooseFor } from "../query/run/choose.ts";
import { ID_OFFSET, metaBetween } from "../store/keys.ts";
import { approximateSize, type MetaRecord, readMetaRecord } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import type { StoredDocument } from "../store/view.ts";
import { compareKeys } from "./change-window.ts";
import { metaOf, wholeEntry } from "./document-news.ts";
import type { Group } from "./group.ts";
import { isAlive, tombstoneEntry } from "./link-news.ts";
import type { StreamHost } from "./stream-host.ts";
import { FIRST_KEY } from "./told.ts";

/** How far the reading is. */
export class Scan {
  readonly kind: "fill" | "compare";
  /** The key of the last id that was looked at. It may be one that the peer must not hear of. */
  through: string;
  /** The key of the last id that a range was sent up to: always one that the peer is told of. */
  sentThrough: string;
  /** The first transaction as of which something was told of the ids before. */
  toldSince: number = Number.POSITIVE_INFINITY;
  /** What the condition or an index names; null when all documents are looked at. */
  named: NamedKeys | null | undefined;

  /** `after`: the key of the last id of a fill that was cut, and that this one goes on with. */
  constructor(kind: "fill" | "compare", after: string = FIRST_KEY) {
    this.kind = kind;
    this.through = after;
    this.sentThrough = after;
  }
}

interface NamedKeys {
  /** The state that they were found in: in another one they may be others. */
  readonly txn: number;
  readonly keys: readonly string[];
}

export interface Piece {
  /** Undefined when there was nothing in it: then the next one covers its range as well. */
  readonly frame: Uint8Array | undefined;
  readonly txn: number;
  /** The key of the last id that was looked at; undefined for the last piece. */
  readonly through: string | undefined;
  /** The key of the last id that the frame names; undefined for the last piece. */
  readonly sentThrough: string | undefined;
}

type Line = DocumentEntry | readonly [id: Value, version: number];

/** About what a line takes beside the document. */
const LINE_BYTES = 24;

/** Reads the next piece. Throws what the evaluation of the condition does. */
export function* readPiece(
  scan: Scan,
  group: Group,
  snapshot: StoreSnapshot,
  host: StreamHost,
): Steps<Piece> {
  const { limits, groups } = host;
  const lines: Line[] = [];
  let looks = 0;
  let bytes = 0;
  let through: string | undefined;
  let lastKey: string | undefined;
  let isCut = false;
  for (const [idKey, document, known] of yield* candidates(scan, group, snapshot, host)) {
    through = idKey;
    const isGone = known !== undefined && document === undefined;
    const tombstone = isGone ? tombstoneEntry(idOfKey(idKey), known) : undefined;
    if (tombstone !== undefined) {
      lines.push(tombstone);
      bytes += LINE_BYTES;
      lastKey = idKey;
    } else if (document !== undefined && groups.index.matches(group.entry, document)) {
      const meta = known ?? metaOf(snapshot, group.collection, idKey);
      if (scan.kind === "fill") {
        lines.push(wholeEntry("put", document, meta));
        bytes += approximateSize(document.fields) + (meta?.bytes.length ?? 0);
      } else {
        lines.push([document.id, meta?.version ?? 0]);
      }
      bytes += LINE_BYTES;
      lastKey = idKey;
    }
    isCut =
      ++looks >= limits.pieceLooks ||
      (scan.kind === "fill" && lines.length >= limits.pieceDocuments) ||
      bytes >= limits.frameBytes;
    if (isCut) break;
    yield;
  }
  const end = isCut ? through : undefined;
  const isSent = lines.length > 0 || end === undefined;
  if (isSent) host.made.encoded++;
  // Not up to the last that was looked at: an id that does not match is nobody's business.
  const sentThrough = isCut ? lastKey : undefined;
  scan.toldSince = Math.min(scan.toldSince, snapshot.txnId);
  const frame = isSent ? frameOf(scan, group, lines, sentThrough) : undefined;
  return { frame, txn: snapshot.txnId, through: end, sentThrough };
}

/** A range in which nothing matched, up to an id that the peer is going to be told of. */
export function emptyPiece(scan: Scan, group: Group, through: string): Uint8Array {
  return frameOf(scan, group, [], through);
}

function frameOf(
  { kind, sentThrough, toldSince }: Scan,
  { filter }: Group,
  lines: readonly Line[],
  through: string | undefined,
): Uint8Array {
  const range: IdRange = {
    ...(sentThrough !== FIRST_KEY && { after: idOfKey(sentThrough) }),
    ...(through !== undefined && { through: idOfKey(through) }),
  };
  if (kind === "compare") {
    return encodeMessage({
      t: "versions",
      filter,
      list: lines as readonly [Value, number][],
      range,
    });
  }
  const entries = lines as readonly DocumentEntry[];
  return encodeMessage({ t: "documents", filter, entries, range, asOf: toldSince });
}

/** For a link with its metadata: there a document that does not show may be one that was deleted. */
type Candidate = readonly [
  idKey: string,
  document: StoredDocument | undefined,
  meta?: MetaRecord | undefined,
];

function* candidates(
  scan: Scan,
  group: Group,
  snapshot: StoreSnapshot,
  host: StreamHost,
): Steps<Iterable<Candidate>> {
  const { txnId } = snapshot;
  if (scan.named !== null && scan.named?.txn !== txnId) {
    const keys = yield* findNamed(group, snapshot, host);
    scan.named = keys === undefined ? null : { txn: txnId, keys };
  }
  const { named, through } = scan;
  if (group.follower !== undefined) {
    return withTombstones(snapshot, group.collection, through, named?.keys);
  }
  return named === null || named === undefined
    ? scanned(snapshot, group.collection, through)
    : lookedUp(snapshot, group.collection, keysBehind(named.keys, through));
}

/** All documents, or those that are named, and all that were deleted, in the order of ids. */
function* withTombstones(
  snapshot: StoreSnapshot,
  collection: string,
  after: string,
  named: readonly string[] | undefined,
): Iterable<Candidate> {
  const number = snapshot.collectionNumber(collection);
  if (number === undefined) return;
  const names = named && new Set(named);
  const low = after === FIRST_KEY ? undefined : { value: idOfKey(after), isIncluded: false };
  const all = snapshot.scan(collection, low && { low })[Symbol.iterator]();
  try {
    for (const { key, value } of snapshot.reader.entries(metaBetween(number, low, undefined))) {
      const idKey = key.slice(ID_OFFSET);
      const meta = readMetaRecord(value);
      if (!isAlive(meta)) yield [idKey, undefined, meta];
      // Both lie in the same order, and each document that shows has its metadata.
      else if (names === undefined) yield [idKey, all.next().value ?? undefined, meta];
      else if (names.has(idKey)) yield [idKey, snapshot.getByKey(collection, idKey), meta];
      // Passed over, but looked at: the piece has an end.
      else yield [idKey, undefined];
    }
  } finally {
    all.return?.();
  }
}

function* scanned(snapshot: StoreSnapshot, collection: string, after: string): Iterable<Candidate> {
  const range = after === FIRST_KEY ? {} : { after: idOfKey(after) };
  for (const document of snapshot.scan(collection, range)) {
    yield [documentId(document.id).key, document];
  }
}

function* lookedUp(
  snapshot: StoreSnapshot,
  collection: string,
  keys: readonly string[],
): Iterable<Candidate> {
  for (const key of keys) yield [key, snapshot.getByKey(collection, key)];
}

function keysBehind(keys: readonly string[], after: string): readonly string[] {
  if (after === FIRST_KEY) return keys;
  const from = keys.findIndex((key) => key > after);
  return from < 0 ? [] : keys.slice(from);
}

/**
 * The keys of all documents that match, and perhaps of some more, in their order. Undefined when they
 * are many or hard to find: then it is better to read everything, piece by piece.
 */
function* findNamed(
  { prepared }: Group,
  snapshot: StoreSnapshot,
  { limits, runs }: StreamHost,
): Steps<readonly string[] | undefined> {
  const { statement, args } = prepared;
  const { choice, text } = statement;
  const input = { text, args, authority: undefined, isStrict: false };
  const execution = runs.begin(snapshot, input);
  const { budget } = execution.run;
  try {
    const { access } = chooseFor(choice.source, choice.plan.wish, execution);
    if (access.kind === "scan" && access.bounds === undefined) return undefined;
    const window = { offset: 0, limit: limits.namedIds + 1 };
    const rows = yield* metered(choice.rows(execution, window), budget);
    if (rows.length > limits.namedIds) return undefined;
    const ids = rows.map(({ slots }) => (slots[choice.source.slot] as StoredDocument).id);
    return ids.map((id) => documentId(id).key).sort(compareKeys);
  } catch (error) {
    if (error instanceof PeerError && error.code.startsWith("query.")) return undefined;
    throw error;
  } finally {
    budget.end();
  }
}
