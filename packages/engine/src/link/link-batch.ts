/**
 * Link batch: merges documents of another store in one transaction of this one, with the cursors
 * that count them.
 *
 * Documents that change nothing are not logged, and a batch that changes nothing makes no
 * transaction (S52, S54). So a ring of linked stores comes to rest.
 */

import {
  type CatalogOperation,
  DEPTH_MAX,
  type DocumentEntry,
  getField,
  levelsOf,
  type MergeOperation,
  NONE,
  PeerError,
  type StateParts,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { attachmentIds } from "../crdt/attachments.ts";
import { EMPTY_STATE } from "../crdt/state.ts";
import {
  newestOfMerge,
  partsOf,
  plainOfParts,
  stateOfMerge,
  stateOfParts,
} from "../crdt/state-parts.ts";
import type { Steps } from "../steps.ts";
import type { OperationOutcome } from "../store/applier.ts";
import { metaBetween } from "../store/keys.ts";
import type { Transaction } from "../store/transaction.ts";
import type { FollowedQuery, LinkCursor } from "./followed-query.ts";

/** Documents of one stream, from one message. */
export interface Arrival {
  readonly queries: readonly FollowedQuery[];
  readonly collection: string;
  readonly merges: readonly MergeOperation[];
  /** All ids that had an entry. */
  readonly ids: readonly Value[];
  /** Whether they are a piece of a fill. */
  readonly isPiece: boolean;
  /** Bytes of the message. */
  readonly bytes: number;
}

/** A query is merged up to a transaction of the source. */
export interface Reached {
  readonly query: FollowedQuery;
  readonly txn: number;
  /** The query becomes complete with this. */
  readonly isWhole?: true;
  /** Requested documents come after this: the query is not complete yet. */
  readonly isDoubtful?: true;
}

/** Documents and positions that are applied together or not at all. */
export interface InboundBatch {
  /** Order of arrival, counted from 1. */
  readonly order: number;
  readonly arrivals: readonly Arrival[];
  readonly reached: readonly Reached[];
  readonly atMs: number;
}

export interface MergeCounts {
  documents: number;
  unchanged: number;
  stale: number;
}

export interface BatchResult extends MergeCounts {
  readonly cursors: readonly (readonly [FollowedQuery, LinkCursor])[];
  readonly changed: readonly MergeOperation[];
}

/** Merge operation for an entry of a stream; undefined if a link ignores the entry (S51). */
export function mergeOf(
  collection: string,
  entry: DocumentEntry,
  staleUpTo: number,
): MergeOperation | undefined {
  switch (entry[0]) {
    case "put":
    case "left":
      checkState(entry[3]);
      return { kind: "merge", collection, id: entry[1], state: entry[3], staleUpTo };
    case "deleted": {
      const dead = { time: entry[3], site: entry[4] };
      const state = partsOf({ ...EMPTY_STATE, alive: NONE, dead });
      return { kind: "merge", collection, id: entry[1], state, staleUpTo };
    }
    case "drop":
      return undefined;
    case "delta":
      throw new PeerError("sync.malformed", "expected whole states on a link, found a delta");
    default:
      return unreachable(entry);
  }
}

/**
 * Checks what no write makes and a merge does not check (S52). A field `_id` would show in place of
 * the id, and a state that is too deep could not be sent on. Throws PeerError `state.malformed`.
 */
function checkState(parts: StateParts): void {
  const [fields, , meta] = parts;
  if (fields !== null && levelsOf(fields) > DEPTH_MAX) {
    throw new PeerError("state.malformed", `expected at most ${DEPTH_MAX} levels of nesting`);
  }
  const isShown = fields !== null && getField(fields, ID_FIELD) !== undefined;
  // The metadata name hidden fields; the same bytes may mean something else there.
  if (!isShown && !(hasIdName(meta) && stateOfParts(parts).root.has(ID_FIELD))) return;
  throw new PeerError("state.malformed", `expected a state without a field ${ID_FIELD}`);
}

const ID_FIELD = "_id";

const [ID_FIRST, ID_SECOND, ID_THIRD] = [0x5f, 0x69, 0x64];

function hasIdName(meta: Uint8Array): boolean {
  for (let at = meta.indexOf(ID_FIRST); at >= 0; at = meta.indexOf(ID_FIRST, at + 1)) {
    if (meta[at + 1] === ID_SECOND && meta[at + 2] === ID_THIRD) return true;
  }
  return false;
}

/** Documents of one stream from which on a lookup of the whole range pays off. */
const EXPECTED_MIN = 64;

export interface BatchOptions {
  /** History of the source. */
  readonly source: string;
  /** After this batch all inbound batches before this one are merged. */
  readonly open: number;
  /** Documents of a fill after which its cursor is written even if nothing changed (S88). */
  readonly cursorDocuments: number;
}

/** Merges inbound batches and writes due cursors. Runs inside a transaction, perhaps again. */
export function* mergeBatch(
  transaction: Transaction,
  batches: readonly InboundBatch[],
  options: BatchOptions,
): Steps<BatchResult> {
  const merges = batches.flatMap(({ arrivals }) => arrivals.flatMap((each) => each.merges));
  transaction.markVia(options.source);
  for (const { arrivals } of batches) for (const each of arrivals) expectArrival(transaction, each);
  transaction.expectLarge();
  const outcomes = yield* transaction.applyInSteps(merges);
  const changed = merges.filter((_, i) => isChange(outcomes[i]));
  if (changed.length < merges.length) {
    // The log has only documents that changed.
    transaction.restart();
    yield* transaction.applyInSteps(changed);
  }
  const cursors = dueCursors(transaction, batches, changed.length > 0, options);
  yield* transaction.applyInSteps(cursors.map(({ operation }) => operation));
  return {
    documents: merges.length,
    unchanged: merges.length - changed.length,
    stale: outcomes.filter((outcome) => outcome === "stale").length,
    cursors: cursors.map(({ query, cursor }) => [query, cursor]),
    changed,
  };
}

/** Most documents of a fill are new: one lookup finds that for all of them. */
function expectArrival(transaction: Transaction, { collection, merges }: Arrival): void {
  const [first, last] = [merges[0], merges.at(-1)];
  const number = transaction.view.collectionNumber(collection);
  if (first === undefined || last === undefined || merges.length < EXPECTED_MIN) return;
  if (number === undefined) return;
  const low = { value: first.id, isIncluded: true };
  const high = { value: last.id, isIncluded: true };
  transaction.expect(metaBetween(number, low, high));
}

function isChange(outcome: OperationOutcome | undefined): boolean {
  return outcome === "applied" || outcome === "stale";
}

interface DueCursor {
  readonly query: FollowedQuery;
  readonly cursor: LinkCursor;
  readonly operation: CatalogOperation;
}

/** Cursors of merged documents, and cursors that would be too far behind otherwise (S54, S88). */
function dueCursors(
  transaction: Transaction,
  batches: readonly InboundBatch[],
  isChanged: boolean,
  { open, cursorDocuments }: BatchOptions,
): DueCursor[] {
  const { nowMs, view } = transaction;
  const touched = new Set<FollowedQuery>();
  const torn = new Set<FollowedQuery>();
  for (const { queries, isPiece } of batches.flatMap(({ arrivals }) => arrivals)) {
    for (const query of queries) {
      touched.add(query);
      if (isPiece && (isChanged || query.fill.documents >= cursorDocuments)) torn.add(query);
    }
  }
  const due = (query: FollowedQuery, cursor: LinkCursor | undefined): DueCursor[] => {
    const operation = cursor && query.operation(cursor, view);
    return cursor && operation ? [{ query, cursor, operation }] : [];
  };
  const whole = [...reachedBy(batches).values()].flatMap(({ query, txn, isWhole }) => {
    const isMerged = isChanged && touched.has(query);
    const hasChanges = isMerged || (isWhole === true && query.isDirty);
    const cursor = hasChanges || query.isDue(txn, nowMs) ? query.cursorAt(txn, nowMs) : undefined;
    return due(query, cursor);
  });
  for (const { query } of whole) torn.delete(query);
  return [...whole, ...[...torn].flatMap((query) => due(query, query.tornCursor(open)))];
}

/** Positions of the queries that are complete with these inbound batches. */
function reachedBy(batches: readonly InboundBatch[]): Map<FollowedQuery, Reached> {
  const passed = new Map<FollowedQuery, number>();
  const reached = new Map<FollowedQuery, Reached>();
  for (const each of batches.flatMap((inbound) => inbound.reached)) {
    const { query } = each;
    // A position that was found late may be of an earlier transaction.
    const txn = Math.max(each.txn, query.txn, passed.get(query) ?? 0);
    passed.set(query, txn);
    if (each.isDoubtful === true) continue;
    const isWhole = each.isWhole ?? reached.get(query)?.isWhole;
    reached.set(query, { query, txn, ...(isWhole && { isWhole }) });
  }
  return reached;
}

/** Newest time of a stamp in the documents; 0 if there is none. */
export function newestArrival({ merges }: Arrival): number {
  let newest = 0;
  for (const { state } of merges) newest = Math.max(newest, newestOfMerge(state));
  return newest;
}

/** Attachments that the documents refer to. */
export function attachmentsOf(merges: readonly MergeOperation[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { state } of merges) {
    if (!(state instanceof Uint8Array) && plainOfParts(state) !== undefined) continue;
    for (const id of attachmentIds(stateOfMerge(state))) ids.add(id);
  }
  return ids;
}
