/**
 * Upload outcomes: builds the outcomes of uploads for `committed` (S28). An outcome has the
 * documents that the upload wrote and that no live stream of the session brings at the same time.
 */

import { type DocumentEntry, documentId, type Outcome } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import { encodedSize } from "../../query/mutate/document-size.ts";
import type { PermissionChecker } from "../../query/permission/permission-checker.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import { goneEntry, metaOf, wholeEntry } from "../change/document-change.ts";
import type { Matched } from "../change/matching.ts";
import type { OutgoingChanges } from "../change/outgoing-changes.ts";
import type { StreamOutcome, WrittenDocument } from "../stream/session-streams.ts";
import type { ServedSession } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";

/** Documents beyond these bytes are sent as `drop`: a message must stay within its limit. */
const DOCUMENTS_BYTES_MAX = 12 * 1024 * 1024;

/** Documents whose names are measured, and documents that are read, between two pauses. */
const DOCUMENTS_PER_PAUSE = 256;
const LOOKS_PER_PAUSE = 16;

/** Approximate bytes of an entry beside its content. */
const ENTRY_BYTES = 32;

export interface SizedOutcome {
  readonly outcome: Outcome;
  readonly bytes: number;
}

/** The state that outcomes are built from. */
export interface OutcomeRound {
  readonly snapshot: StoreSnapshot;
  /** Position of the live streams before the round. */
  readonly since: number;
  readonly matched: Matched;
}

/** Builds the outcomes of a session that the snapshot includes, in order. */
export function* readOutcomes(
  session: ServedSession,
  round: OutcomeRound,
  context: StreamContext,
): Steps<SizedOutcome[]> {
  const reader = new OutcomeReader(session, round, context);
  const { txnId } = round.snapshot;
  const read: SizedOutcome[] = [];
  let bytes = 0;
  for (const outcome of session.outcomes) {
    // Outcomes that are too much for this round wait for the next one.
    if (outcome.txn > txnId || bytes > context.limits.roundBytes) break;
    const each = yield* reader.read(outcome);
    bytes += each.bytes;
    read.push(each);
  }
  return read;
}

class OutcomeReader {
  readonly #session: ServedSession;
  readonly #round: OutcomeRound;
  readonly #context: StreamContext;
  readonly #checker: PermissionChecker | undefined;

  constructor(session: ServedSession, round: OutcomeRound, context: StreamContext) {
    this.#session = session;
    this.#round = round;
    this.#context = context;
    this.#checker = context.checkerOf(session.port.authority);
  }

  *read(given: StreamOutcome): Steps<SizedOutcome> {
    const documents: (readonly [string, DocumentEntry])[] = [];
    let bytes = 0;
    for (const [i, written] of given.documents.entries()) {
      bytes += nameSize(written);
      if (i % DOCUMENTS_PER_PAUSE === DOCUMENTS_PER_PAUSE - 1) yield;
    }
    for (const [i, written] of given.documents.entries()) {
      // A document without an entry costs a read as well.
      if (i % LOOKS_PER_PAUSE === LOOKS_PER_PAUSE - 1) yield;
      const { collection } = written;
      const { id, key } = documentId(written.id);
      const after = this.#round.snapshot.getByKey(collection, key);
      if (this.#isBrought(written, key) || this.#isHeld(given, written, after)) continue;
      const entry = this.#entry(given, collection, { id, key, after });
      const size = stateSize(entry);
      const isRoom = bytes + size <= DOCUMENTS_BYTES_MAX;
      if (!isRoom && this.#isFollowed(collection, after)) continue;
      if (isRoom) bytes += size;
      documents.push([collection, isRoom ? entry : ["drop", id]]);
      yield;
    }
    const { site, number, kind, txn, reason } = given;
    return { outcome: { site, number, kind, txn, reason, documents }, bytes };
  }

  /** Whether the frames of this round bring the document. */
  #isBrought({ collection }: WrittenDocument, key: string): boolean {
    const { live, tooMuch } = this.#round.matched;
    for (const { group } of this.#session.live()) {
      const changes: OutgoingChanges | undefined =
        group.collection === collection ? live.get(group) : undefined;
      if (changes?.has(key) === true && !tooMuch.has(group)) return true;
    }
    return false;
  }

  /** Whether frames of an earlier round brought it, because the outcome is late. */
  #isHeld(
    { txn }: StreamOutcome,
    { collection }: WrittenDocument,
    after: StoredDocument | undefined,
  ): boolean {
    if (after === undefined || txn > this.#round.since) return false;
    const { index } = this.#context.groups;
    for (const { group } of this.#session.live()) {
      if (group.collection !== collection || this.#round.matched.tooMuch.has(group)) continue;
      if (isTrue(() => index.matches(group.entry, after))) return true;
    }
    return false;
  }

  /** Whether a stream brings the document, live or not: the outcome must not drop it then. */
  #isFollowed(collection: string, after: StoredDocument | undefined): boolean {
    if (after === undefined) return false;
    const { index } = this.#context.groups;
    for (const { group } of this.#session.streams.values()) {
      if (group.collection !== collection) continue;
      if (isTrue(() => index.matches(group.entry, after))) return true;
    }
    return false;
  }

  /** A session that may not read everything learns nothing of a deletion by another site. */
  #entry(
    { site }: StreamOutcome,
    collection: string,
    {
      id,
      key,
      after,
    }: { id: StoredDocument["id"]; key: string; after: StoredDocument | undefined },
  ): DocumentEntry {
    const meta = metaOf(this.#round.snapshot, collection, key);
    const rule = this.#checker?.authority.readRule(collection);
    const isWhole = rule === undefined || rule.isWhole;
    if (after === undefined) return goneEntry(id, meta, (dead) => isWhole || dead === site);
    const mayRead = isWhole || isTrue(() => this.#checker?.mayRead(collection, after) === true);
    return mayRead ? wholeEntry("put", after, meta) : ["drop", id];
  }
}

/** Bytes of the collection and id of a document, which each entry has. */
function nameSize({ collection, id }: WrittenDocument): number {
  return encodedSize(collection) + encodedSize(id) + ENTRY_BYTES;
}

/** Bytes of the state in an entry. */
function stateSize(entry: DocumentEntry): number {
  if (entry[0] !== "put") return 0;
  const [fields, types, meta] = entry[3];
  return encodedSize(fields) + encodedSize(types) + meta.length;
}

/** Returns false if the check throws. */
function isTrue(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}
