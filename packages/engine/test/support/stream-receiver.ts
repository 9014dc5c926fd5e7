/**
 * A receiver of streams: what a peer does with the messages of the data plane, by the rules S13 to S18
 * and nothing else. It holds the documents of each subscription apart, and reads as slowly as a test
 * wants.
 */

import {
  compareText,
  type DocumentEntry,
  type Documents,
  decodeServerMessage,
  documentId,
  encodeMessage,
  type IdRange,
  type Outcome,
  type PeerError,
  type ServerMessage,
  type StreamMode,
  type SyncCursor,
  type Value,
  type Versions,
  type WholeState,
} from "@bigpeer/protocol";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { decodeState, stateOfBytes } from "../../src/crdt/state-codec.ts";
import type { Authority } from "../../src/query/permission/authority.ts";
import { filterKeyOf } from "../../src/sync/stream/filter.ts";
import type { SessionStreams, StreamSession } from "../../src/sync/stream/session-streams.ts";
import type { Streams } from "../../src/sync/streams.ts";

export interface HeldDocument {
  readonly id: Value;
  readonly version: number;
  readonly state: DocumentState;
}

/** A subscription of a receiver, which outlives its connections. */
export class Subscription {
  readonly query: string;
  readonly args: { readonly [name: string]: Value };
  readonly held: Map<string, HeldDocument> = new Map();
  /** Ids that it was ever told that they match. */
  readonly reported: Set<string> = new Set();
  cursor: SyncCursor | undefined;
  /** The cursor is one on the way through a fill (S57). */
  isFilling = false;
  mode: StreamMode | undefined;
  isLive = false;
  /** The cursor that it came back with. */
  since = 0;
  /** Entries of the transaction that is not committed yet. */
  pending: DocumentEntry[] = [];

  constructor(query: string, args: { readonly [name: string]: Value } = {}) {
    this.query = query;
    this.args = args;
  }

  /** The fields of what it holds by id. */
  get fields(): { readonly [id: string]: Value } {
    const keys = [...this.held.keys()].toSorted(compareText);
    const all = keys.map((key) => {
      const { id, state } = this.held.get(key) as HeldDocument;
      return [id as string, show(state)?.fields as Value];
    });
    return Object.fromEntries(all);
  }
}

/** What a test wants to hear of. */
export interface ReceiverWatch {
  /** Before an entry is applied. */
  readonly onEntry?: (subscription: Subscription, entry: DocumentEntry) => void;
  /** A subscription is whole up to a transaction. */
  readonly onWhole?: (subscription: Subscription, txn: number) => void;
  /** A delta does not start from what is held. */
  readonly onMisfit?: (subscription: Subscription, entry: DocumentEntry) => void;
}

interface Answer {
  readonly key: string;
  readonly subscription: Subscription;
}

export class Receiver implements StreamSession {
  readonly #streams: Streams;
  readonly #history: string;
  readonly #watch: ReceiverWatch;
  readonly #byFilter = new Map<string, Subscription>();
  readonly #answers: Answer[] = [];
  #session: SessionStreams | undefined;
  #inbox: Uint8Array[] = [];
  authority: Authority | undefined;
  /** Whether it takes what comes at once; else only when `take` is called. */
  isFast = true;
  readonly messages: ServerMessage[] = [];
  readonly outcomes: Outcome[] = [];
  readonly failures: PeerError[] = [];
  committed = 0;
  /** What went wrong while it took a frame: whoever sends is not to hear of it. */
  fault: unknown;

  constructor(
    { streams, history }: { readonly streams: Streams; readonly history: string },
    authority?: Authority,
    watch: ReceiverWatch = {},
  ) {
    this.#streams = streams;
    this.#history = history;
    this.authority = authority;
    this.#watch = watch;
  }

  get session(): SessionStreams {
    return (this.#session ??= this.#streams.open(this));
  }

  get queuedBytes(): number {
    return this.#inbox.reduce((sum, { length }) => sum + length, 0);
  }

  get queuedFrames(): number {
    return this.#inbox.length;
  }

  send(bytes: Uint8Array): void {
    this.#inbox.push(bytes);
    if (!this.isFast) return;
    try {
      this.take();
    } catch (error) {
      this.fault ??= error;
    }
  }

  /** Takes so many of the frames that wait. */
  take(count: number = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count; i++) {
      const bytes = this.#inbox.shift();
      if (bytes === undefined) return;
      this.#apply(decodeServerMessage(bytes));
      if (this.#inbox.length === 0 && !this.isFast) this.#session?.drained();
    }
  }

  onFailed(_filterKey: string, error: PeerError): void {
    this.failures.push(error);
  }

  subscribe(subscription: Subscription): void {
    const prepared = this.#streams.prepare(subscription.query, subscription.args, this.authority);
    const { filter, collection } = prepared;
    subscription.isLive = false;
    subscription.since = subscription.cursor?.txn ?? 0;
    const mode = this.session.follow(prepared, subscription.cursor);
    subscription.mode = mode;
    // What is on its way before this answer is of a stream that is over.
    const id = this.#answers.push({ key: prepared.filterKey, subscription }) - 1;
    this.send(encodeMessage({ t: "subscribed", id, filter, collection, mode }));
  }

  unsubscribe(subscription: Subscription): void {
    const { query, args } = subscription;
    const { filterKey } = this.#streams.prepare(query, args, this.authority);
    this.session.unfollow(filterKey);
    this.#byFilter.delete(filterKey);
    subscription.isLive = false;
  }

  /** The connection is lost: what was on its way is gone. */
  disconnect(): void {
    this.#session?.close();
    this.#session = undefined;
    this.#inbox = [];
    for (const subscription of this.#byFilter.values()) {
      subscription.isLive = false;
      subscription.pending = [];
    }
    this.#byFilter.clear();
  }

  /** The messages of a kind that came so far. */
  ofKind<K extends ServerMessage["t"]>(kind: K): Extract<ServerMessage, { readonly t: K }>[] {
    return this.messages.filter(
      (message): message is Extract<ServerMessage, { readonly t: K }> => message.t === kind,
    );
  }

  #apply(message: ServerMessage): void {
    this.messages.push(message);
    switch (message.t) {
      case "subscribed": {
        const answer = this.#answers[message.id];
        if (answer === undefined) throw new Error("an answer to nothing");
        const { key, subscription } = answer;
        // From the first piece on the cursor tells nothing of what is held, until `complete`; but of
        // a fill that was cut this may be the rest.
        if (message.mode === "fill" && !subscription.isFilling) subscription.cursor = undefined;
        if (message.mode === "compare") tear(subscription);
        this.#byFilter.set(key, subscription);
        subscription.isLive = false;
        subscription.pending = [];
        return;
      }
      case "documents":
        return this.#documents(message);
      case "versions":
        return this.#versions(message);
      case "complete": {
        const subscription = this.#of(message.filter);
        if (subscription === undefined) return;
        subscription.isLive = true;
        return this.#reach(subscription, message.filter, message.txn);
      }
      case "behind":
        for (const filter of message.filters) {
          const subscription = this.#of(filter);
          if (subscription === undefined) continue;
          if (subscription.pending.length > 0) throw new Error("a transaction was cut");
          subscription.isLive = false;
        }
        return;
      case "committed":
        this.outcomes.push(...message.outcomes);
        return this.#commit(message.txn);
      default:
        throw new Error(`an unexpected message: ${message.t}`);
    }
  }

  #of(filter: Uint8Array): Subscription | undefined {
    return this.#byFilter.get(filterKeyOf(filter));
  }

  #reach(subscription: Subscription, filter: Uint8Array, txn: number): void {
    if (subscription.cursor !== undefined && txn < subscription.cursor.txn) {
      throw new Error(`a cursor went back from ${subscription.cursor.txn} to ${txn}`);
    }
    subscription.cursor = { history: this.#history, filter, txn };
    subscription.isFilling = false;
    this.#watch.onWhole?.(subscription, txn);
  }

  #documents({ filter, entries, range, asOf: txn, committed }: Documents): void {
    const subscription = this.#of(filter);
    if (subscription !== undefined) {
      if (range !== undefined) letGo(subscription, range, idsOf(entries));
      if (subscription.isLive) subscription.pending.push(...entries);
      else for (const entry of entries) this.#entry(subscription, entry, filter);
      if (range !== undefined && txn !== undefined) {
        const { through: after } = range;
        const place = { history: this.#history, filter, txn };
        subscription.cursor = after === undefined ? place : { ...place, after };
        subscription.isFilling = true;
      }
    }
    if (committed !== undefined) this.#commit(committed);
  }

  #commit(txn: number): void {
    this.committed = txn;
    for (const [key, subscription] of this.#byFilter) {
      if (!subscription.isLive) continue;
      const filter = subscription.cursor?.filter ?? new Uint8Array(0);
      for (const entry of subscription.pending) this.#entry(subscription, entry, filter);
      subscription.pending = [];
      if (filterKeyOf(filter) === key) this.#reach(subscription, filter, txn);
    }
  }

  #versions({ filter, list, range }: Versions): void {
    const subscription = this.#of(filter);
    const isLast = range.through === undefined;
    if (subscription === undefined) {
      // Each comparison is answered, whoever follows by now (S13).
      if (isLast) this.session.want(filterKeyOf(filter), [], isLast);
      return;
    }
    tear(subscription);
    letGo(subscription, range, new Set(list.map(([id]) => documentId(id).key)));
    const wanted: Value[] = [];
    for (const [id, version] of list) {
      const { key } = documentId(id);
      subscription.reported.add(key);
      if (subscription.held.get(key)?.version !== version) wanted.push(id);
    }
    if (wanted.length > 0 || isLast) this.session.want(filterKeyOf(filter), wanted, isLast);
  }

  #entry(subscription: Subscription, entry: DocumentEntry, filter: Uint8Array): void {
    this.#watch.onEntry?.(subscription, entry);
    const [kind, id] = entry;
    const { key } = documentId(id);
    const { held, reported } = subscription;
    switch (kind) {
      case "put": {
        reported.add(key);
        const [, , version, whole] = entry;
        if ((held.get(key)?.version ?? 0) < version) {
          held.set(key, { id, version, state: stateOf(whole) });
        }
        return;
      }
      case "delta": {
        const [, , version, from, bytes] = entry;
        const before = held.get(key);
        if (before !== undefined && before.version >= version) return;
        if (before?.version !== from) {
          this.#watch.onMisfit?.(subscription, entry);
          return this.session.want(filterKeyOf(filter), [id], false);
        }
        held.set(key, { id, version, state: merge(before.state, stateOfBytes(bytes)) });
        return;
      }
      default:
        held.delete(key);
    }
  }
}

/** Parts of several states are held: it has to be compared. */
function tear(subscription: Subscription): void {
  const { cursor } = subscription;
  subscription.isFilling = false;
  if (cursor === undefined) return;
  const { history, txn } = cursor;
  subscription.cursor = { history, filter: new Uint8Array(16), txn };
}

function idsOf(entries: readonly DocumentEntry[]): ReadonlySet<string> {
  return new Set(entries.map(([, id]) => documentId(id).key));
}

/** What was held in a range and is not in it any more. */
function letGo(subscription: Subscription, range: IdRange, kept: ReadonlySet<string>): void {
  const after = range.after === undefined ? "" : documentId(range.after).key;
  const through = range.through === undefined ? undefined : documentId(range.through).key;
  for (const key of Array.from(subscription.held.keys())) {
    const isInside = key > after && (through === undefined || key <= through);
    if (isInside && !kept.has(key)) subscription.held.delete(key);
  }
}

export function stateOf([fields, types, meta]: WholeState): DocumentState {
  if (fields === null) return EMPTY_STATE;
  return decodeState({ fields, types: types ?? undefined }, meta);
}
