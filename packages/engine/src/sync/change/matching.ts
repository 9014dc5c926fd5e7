/**
 * Matching: evaluates changes against each filter and collects the entries for each stream.
 *
 * For live streams, a change is evaluated once per filter against the state at the last round. For
 * a stream that catches up, it is compared with the state that the stream was sent. Nothing is sent
 * about a document that matched neither then nor now (S19). For a stream that returned with a
 * cursor, "then" is any time since the cursor.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { Match, MatchEntry } from "../../query/live/match-index.ts";
import { imageBefore } from "../../store/change-log.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { ChangeWindow, WindowChange, WindowDocument } from "../log/change-window.ts";
import type { Stream, StreamGroup } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";
import { DocumentChange } from "./document-change.ts";
import { isEcho, isFrom } from "./link-change.ts";
import { OutgoingChanges } from "./outgoing-changes.ts";

/** Changes for a stream that catches up. */
export interface StreamChanges {
  readonly stream: Stream;
  readonly outgoing: OutgoingChanges;
  /** Undefined if the changes are complete; else the key of the last id that they cover. */
  cut: string | undefined;
}

export interface Matching {
  readonly snapshot: StoreSnapshot;
  readonly window: ChangeWindow;
  /** Position of the live streams; undefined if they take no part. */
  readonly since: number | undefined;
  /** Streams that catch up. */
  readonly streams: readonly Stream[];
}

export interface Matched {
  /** Streams whose session has overdrawn its rate limiter. */
  readonly exhausted: ReadonlySet<Stream>;
  readonly live: ReadonlyMap<StreamGroup, OutgoingChanges>;
  /** Live groups with more changes than may be sent as one (S23). */
  readonly tooMuch: ReadonlySet<StreamGroup>;
  readonly streams: readonly StreamChanges[];
  /** Groups whose filter could not be evaluated. */
  readonly failed: ReadonlyMap<StreamGroup, unknown>;
}

export function* matchWindow(matching: Matching, context: StreamContext): Steps<Matched> {
  const matcher = new Matcher(matching, context);
  yield* matcher.all();
  return matcher;
}

/** Changes of one document that are processed between two pauses. */
const CHANGES_PER_PAUSE = 64;

/** Evaluations between two pauses. */
const LOOKS_PER_PAUSE = 16;

class Matcher implements Matched {
  readonly #matching: Matching;
  readonly #context: StreamContext;
  readonly #byGroup = new Map<StreamGroup, StreamChanges[]>();
  readonly streams: StreamChanges[] = [];
  readonly live = new Map<StreamGroup, OutgoingChanges>();
  readonly tooMuch = new Set<StreamGroup>();
  readonly failed = new Map<StreamGroup, unknown>();
  readonly exhausted = new Set<Stream>();
  /** Bytes of all encoded entries. */
  #bytes = 0;
  #looks = 0;

  constructor(matching: Matching, context: StreamContext) {
    this.#matching = matching;
    this.#context = context;
    for (const stream of matching.streams) {
      const each: StreamChanges = { stream, outgoing: new OutgoingChanges(), cut: undefined };
      this.streams.push(each);
      const others = this.#byGroup.get(stream.group);
      if (others === undefined) this.#byGroup.set(stream.group, [each]);
      else others.push(each);
    }
  }

  *all(): Steps<void> {
    const { documents } = this.#matching.window;
    for (const [i, document] of documents.entries()) {
      yield* this.#document(document);
      yield;
      if (this.#bytes > this.#context.limits.heldBytes && this.#matching.since === undefined) {
        this.#stop(document, documents[i + 1]);
        return;
      }
    }
  }

  /** The memory limit is reached: the streams continue with the next catch-up. */
  #stop(last: WindowDocument, next: WindowDocument | undefined): void {
    if (next === undefined) return;
    for (const each of this.streams) {
      const { collection } = each.stream.group;
      if (each.cut !== undefined || collection < last.collection) continue;
      const { sweep } = each.stream;
      each.cut = collection === last.collection && last.idKey > sweep ? last.idKey : sweep;
    }
  }

  *#document(document: WindowDocument): Steps<void> {
    const { snapshot } = this.#matching;
    const { collection, id, idKey, changes } = document;
    const after = snapshot.getByKey(collection, idKey);
    const encoded = new DocumentChange(snapshot, document, after);
    if (this.#matching.since !== undefined && encoded.isLarge)
      yield* this.#context.stamps.learn(document);
    let fields: ValueObject | undefined = after?.fields;
    let last = after;
    for (const [i, change] of changes.entries()) {
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
      fields = imageBefore(change.before, fields);
      const before = fields && { id, fields, types: undefined };
      last ??= before;
      const span = { change, older: changes[i + 1] };
      if (this.#isStart(span))
        yield* this.#evaluate({ document, encoded, before, after, last, span });
    }
    if (after === undefined) this.#addToLinks(document, encoded);
    this.#bytes += encoded.bytes;
  }

  /** Whether a stream may be right before a change: it has the older one and lacks this one. */
  #isStart(span: Span): boolean {
    const { since } = this.#matching;
    return this.streams.length > 0 || (since !== undefined && isIn(span, since));
  }

  *#evaluate(streamChange: StreamChange): Steps<void> {
    const { document, before, after, span } = streamChange;
    const { index } = this.#context.groups;
    const { since } = this.#matching;
    const isLive = since !== undefined && isIn(span, since);
    const change = { collection: document.collection, before, after };
    for (const entry of index.touched(change)) {
      const group = entry.owner;
      const isForLive = isLive && group.liveCount > 0;
      const streams = this.#startingIn(group, document, span);
      if (!isForLive && streams.length === 0) continue;
      if (++this.#looks % LOOKS_PER_PAUSE === 0) yield;
      if (this.failed.has(group)) continue;
      if (this.#isExhausted(group)) continue;
      const { work } = index;
      const match = index.matchOf(entry, change);
      if (index.work - work > this.#context.limits.freeWork) {
        charge(group, index.work - work);
        yield;
      }
      if (match !== undefined) this.#take(streamChange, match, streams, isForLive);
    }
  }

  /** Whether all sessions of the group are over their limit. Collects the streams of those. */
  #isExhausted(group: StreamGroup): boolean {
    let isExhausted = true;
    for (const stream of group.streams) {
      if (stream.session.rateLimiter.isExhausted) this.exhausted.add(stream);
      else isExhausted = false;
      if (!isExhausted && this.exhausted.size === 0) return false;
    }
    return isExhausted;
  }

  #startingIn(group: StreamGroup, { idKey }: WindowDocument, span: Span): readonly StreamChanges[] {
    const streams = this.#byGroup.get(group);
    if (streams === undefined) return NONE_STARTING;
    return streams.filter(({ stream, outgoing, cut }) => {
      if (cut !== undefined || idKey <= stream.sweep) return false;
      const sentTxn = stream.sentTxn(idKey);
      if (sentTxn === undefined) return false;
      // The peer may hold any state since the cursor: one entry for the document is enough.
      if (stream.isUncertainOf(idKey))
        return sentTxn < span.change.txnId && !outgoing.endsWith(idKey);
      return isIn(span, sentTxn);
    });
  }

  #take(
    streamChange: StreamChange,
    match: Match<StreamGroup>,
    streams: readonly StreamChanges[],
    isForLive: boolean,
  ): void {
    const group = match.entry.owner;
    try {
      if (match.kind === "failed") throw match.error;
      if (group.follower !== undefined) {
        return this.#takeLink(group, { ...streamChange, kind: match.kind }, streams, isForLive);
      }
      if (isForLive) {
        const delta = match.kind === "stay" ? this.#delta(streamChange) : undefined;
        this.#addLive(
          group,
          streamChange,
          delta ?? this.#entry(streamChange, match.entry, match.kind),
        );
      }
      for (const each of streams)
        this.#addTo(
          each,
          streamChange.document,
          this.#entry(streamChange, match.entry, match.kind),
        );
    } catch (error) {
      this.failed.set(group, error);
    }
  }

  /** Adds whole states, except changes that came from the follower (S51, S53). */
  #takeLink(
    group: StreamGroup,
    { document, encoded, after, kind }: StreamChange & { readonly kind: MatchKind },
    streams: readonly StreamChanges[],
    isForLive: boolean,
  ): void {
    // Deletions are added for all documents, whether they matched or not.
    if (after === undefined) return;
    const { groups } = this.#context;
    const hasChanges = (since: number): boolean =>
      !isEcho(group, document, { after, since }, groups);
    const whole = (): Uint8Array => (kind === "leave" ? encoded.left() : encoded.put());
    if (isForLive && hasChanges(this.#matching.since ?? 0)) {
      this.#addLive(group, { document, encoded }, whole());
    }
    for (const each of streams) {
      if (hasChanges(each.stream.sentTxn(document.idKey) ?? 0))
        this.#addTo(each, document, whole());
    }
  }

  /** Adds the deletion of a document to all links that follow its collection (S51). */
  #addToLinks(document: WindowDocument, encoded: DocumentChange): void {
    const { collection, idKey, changes } = document;
    const { since } = this.#matching;
    const newest = changes[0]?.txnId ?? 0;
    for (const group of this.#context.groups.linksOf(collection)) {
      const tombstone = encoded.tombstone();
      if (tombstone === undefined) return;
      const hasChanges = (sentTxn: number | undefined): boolean =>
        sentTxn !== undefined && sentTxn < newest && !isFrom(group.follower, document, sentTxn);
      if (group.liveCount > 0 && hasChanges(since))
        this.#addLive(group, { document, encoded }, tombstone);
      for (const each of this.#byGroup.get(group) ?? NONE_STARTING) {
        const { stream, cut } = each;
        if (cut !== undefined || idKey <= stream.sweep || !hasChanges(stream.sentTxn(idKey)))
          continue;
        this.#addTo(each, document, tombstone);
      }
    }
  }

  #addLive(
    group: StreamGroup,
    streamChange: Pick<StreamChange, "document" | "encoded">,
    entry: Uint8Array,
  ): void {
    if (this.tooMuch.has(group)) return;
    let outgoing = this.live.get(group);
    if (outgoing === undefined) {
      outgoing = new OutgoingChanges();
      this.live.set(group, outgoing);
    }
    const { limits } = this.#context;
    outgoing.add(streamChange.document.idKey, entry);
    const held = this.#bytes + streamChange.encoded.bytes;
    if (outgoing.bytes <= limits.roundBytes && held <= limits.heldBytes) return;
    this.tooMuch.add(group);
    outgoing.clear();
  }

  /** Adds an entry, and cuts the changes where they exceed the size of one piece. */
  #addTo(each: StreamChanges, { idKey }: WindowDocument, entry: Uint8Array): void {
    each.outgoing.add(idKey, entry);
    if (each.outgoing.bytes > this.#context.limits.catchUpBytes) each.cut = idKey;
  }

  #entry(streamChange: StreamChange, entry: MatchEntry<StreamGroup>, kind: MatchKind): Uint8Array {
    const { encoded, after, last, document } = streamChange;
    if (kind !== "leave") return encoded.put();
    const isReadable =
      last === undefined || (entry.checker?.mayRead(document.collection, last) ?? true);
    if (!isReadable) return encoded.drop();
    return after === undefined ? encoded.gone(document.isEvicted) : encoded.left();
  }

  #delta({ document, encoded, span }: StreamChange): Uint8Array | undefined {
    const { since = 0, snapshot } = this.#matching;
    const { stamps } = this.#context;
    return encoded.delta({
      from: span.change.previous,
      stamps: () => stamps.since(document, since, snapshot.head.horizon),
    });
  }
}

type MatchKind = Exclude<Match<StreamGroup>["kind"], "failed">;

/** A change of a document, and the one before it. */
interface Span {
  readonly change: WindowChange;
  readonly older: WindowChange | undefined;
}

interface StreamChange {
  readonly document: WindowDocument;
  readonly encoded: DocumentChange;
  /** Visible state before the change of `span`. */
  readonly before: StoredDocument | undefined;
  readonly after: StoredDocument | undefined;
  /** Last visible state: now, or before the deletion. If it is hidden, so is the deletion (S17). */
  readonly last: StoredDocument | undefined;
  readonly span: Span;
}

/** Charges sessions for an expensive condition, in equal parts. Links are free of charge. */
function charge({ streams, follower }: StreamGroup, work: number): void {
  if (follower !== undefined) return;
  for (const { session } of streams) session.rateLimiter.spend(work / streams.size);
}

const NONE_STARTING: readonly StreamChanges[] = [];

/** Whether the change is the first one that a stream at this transaction lacks. */
function isIn({ change, older }: Span, txn: number): boolean {
  return txn < change.txnId && (older === undefined || txn >= older.txnId);
}
