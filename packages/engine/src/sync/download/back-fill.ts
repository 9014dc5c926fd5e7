/**
 * Back-fill: reads the documents of a filter in pieces, for a fill or a comparison (S13 to S15).
 *
 * A piece of a fill has documents, a piece of a comparison their versions. Pieces are in the order
 * of ids, and their ranges cover all ids without a gap. If the condition names ids, or an index
 * finds few, only those are read. A fill for a link also contains deletions (S51).
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
import type { Steps } from "../../query/frame/steps.ts";
import { metered } from "../../query/live/live-run.ts";
import { chooseFor } from "../../query/run/choose.ts";
import { ID_OFFSET, metaBetween } from "../../store/keys.ts";
import { approximateSize, type MetaRecord, readMetaRecord } from "../../store/records.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import { metaOf, wholeEntry } from "../change/document-change.ts";
import { isAlive, tombstoneEntry } from "../change/link-change.ts";
import { compareKeys } from "../log/change-window.ts";
import type { NamedKeys, Piece, ScanPosition } from "../stream/scan.ts";
import { FIRST_KEY } from "../stream/sent-ranges.ts";
import type { Stream, StreamGroup } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";

type Line = DocumentEntry | readonly [id: Value, version: number];

/** Approximate bytes of a list element beside its document. */
const LINE_BYTES = 24;

/** Reads the next piece. Throws if the evaluation of the condition fails. */
export function* readPiece(
  scan: ScanPosition,
  { group, oldestSent }: Stream,
  snapshot: StoreSnapshot,
  context: StreamContext,
): Steps<Piece> {
  const { limits, groups } = context;
  const named = yield* namedKeys(scan, group, snapshot, context);
  const lines: Line[] = [];
  let looks = 0;
  let bytes = 0;
  let through: string | undefined;
  let lastKey: string | undefined;
  let isCut = false;
  for (const [idKey, document, known] of candidates(scan, group, snapshot, named)) {
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
  if (isSent) context.made.encoded++;
  // The range ends at an id that matched: the peer must not learn of any other id (S14).
  const sentThrough = isCut ? lastKey : undefined;
  const asOf = Math.min(oldestSent, snapshot.txnId);
  const range = { kind: scan.kind, after: scan.sentThrough, through: sentThrough, asOf };
  const frame = isSent ? frameOf(range, group, lines) : undefined;
  return { frame, txn: snapshot.txnId, through: end, sentThrough, asOf, named };
}

/** Frame of a range without matches. It ends at an id that the peer is about to receive. */
export function emptyPiece(scan: ScanPosition, group: StreamGroup, through: string): Uint8Array {
  const { kind, sentThrough: after, asOf } = scan;
  return frameOf({ kind, after, through, asOf }, group, []);
}

interface FrameRange extends Pick<ScanPosition, "kind" | "asOf"> {
  /** The range begins after this key. */
  readonly after: string;
  /** Key of its last id; undefined for the last range. */
  readonly through: string | undefined;
}

function frameOf(
  { kind, after, through, asOf }: FrameRange,
  { filter }: StreamGroup,
  lines: readonly Line[],
): Uint8Array {
  const range: IdRange = {
    ...(after !== FIRST_KEY && { after: idOfKey(after) }),
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
  return encodeMessage({ t: "documents", filter, entries, range, asOf });
}

/** A link also gets metadata: a document that is not visible may be a deleted one. */
type Candidate = readonly [
  idKey: string,
  document: StoredDocument | undefined,
  meta?: MetaRecord | undefined,
];

function candidates(
  { through }: ScanPosition,
  { collection, follower }: StreamGroup,
  snapshot: StoreSnapshot,
  named: NamedKeys | null,
): Iterable<Candidate> {
  if (follower !== undefined) return withTombstones(snapshot, collection, through, named?.keys);
  return named === null
    ? scanned(snapshot, collection, through)
    : lookedUp(snapshot, collection, keysBehind(named.keys, through));
}

/** All documents, or the named ones, and all tombstones, in the order of ids. */
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
      // Documents and metadata have the same order, and each visible document has metadata.
      else if (names === undefined) yield [idKey, all.next().value ?? undefined, meta];
      else if (names.has(idKey)) yield [idKey, snapshot.getByKey(collection, idKey), meta];
      // Skipped but counted, so that a piece ends after a bounded number of ids.
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

/** Keys that the condition or an index names in the snapshot; null if all documents are read. */
function* namedKeys(
  { named }: ScanPosition,
  group: StreamGroup,
  snapshot: StoreSnapshot,
  context: StreamContext,
): Steps<NamedKeys | null> {
  const { txnId } = snapshot;
  if (named === null || named?.txn === txnId) return named;
  const keys = yield* findNamed(group, snapshot, context);
  return keys === undefined ? null : { txn: txnId, keys };
}

/**
 * Sorted keys of all documents that match, and perhaps of some more. Undefined if they are too many
 * or too hard to find: then the caller scans the whole collection, piece by piece.
 */
function* findNamed(
  { prepared }: StreamGroup,
  snapshot: StoreSnapshot,
  { limits, runs }: StreamContext,
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
