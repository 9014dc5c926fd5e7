/**
 * Layers: both layers, confirmed and pending, of the documents that one transaction of a peer
 * touches.
 *
 * All changes of either layer go through this class. At the end it writes each touched document
 * once, with its view: pending writes over the confirmed state (S34). So a batch of the server, its
 * outcomes and all their effects are one local transaction (S35).
 */

import {
  compareBytes,
  documentId,
  idOfKey,
  type LayerOperation,
  type LocalOperation,
  type OnDocument,
  type StateParts,
  type Value,
} from "@bigpeer/protocol";
import { type DocumentState, EMPTY_STATE, isEmptyState } from "../crdt/state.ts";
import { stateToBytes } from "../crdt/state-codec.ts";
import { newestTime, partsOf, stateOfParts } from "../crdt/state-parts.ts";
import type { Key } from "../platform.ts";
import {
  type Bound,
  documentKey,
  heldBetween,
  heldKey,
  metaBetween,
  metaKey,
  PENDING,
  peerNumberOfKey,
  pendingKey,
  readTouchKey,
  sequenceKey,
  touchKey,
  touchRange,
} from "../store/keys.ts";
import {
  type Held,
  heldRecord,
  OWN_COVER,
  type PendingRecord,
  readHeld,
  type SequenceRecord,
  serverFact,
} from "../store/peer-records.ts";
import { readMetaRecord, shownOfRecord } from "../store/records.ts";
import type { Transaction } from "../store/transaction.ts";
import type { View } from "../store/view.ts";
import { type PendingWrite, pendingOver } from "./pending-view.ts";

interface LayeredPlace extends OnDocument {
  readonly idKey: string;
  readonly number: number | undefined;
}

/** A document with both layers, as one transaction sees it. */
export class LayeredDocument {
  readonly collection: string;
  readonly id: Value;
  readonly idKey: string;
  /** Number of the collection; undefined while the store does not know the collection. */
  readonly number: number | undefined;
  held: { -readonly [K in keyof Held]: Held[K] } | undefined;
  /** Whether the view must be computed again. */
  isMoved = false;
  isHeldMoved = false;
  /** The state that the server sent last; undefined while the stored one is unchanged. */
  confirmed: StateParts | null | undefined;
  /** Transactions that this one makes pending on the document. */
  begun: number[] | undefined;
  /** Pending transactions that the server applied, by an outcome in this transaction. */
  applied: number[] | undefined;
  /** Whether this transaction also removes refused or stale writes from the view. */
  isTakenBack = false;

  constructor(place: LayeredPlace, held: Held | undefined) {
    this.collection = place.collection;
    this.id = place.id;
    this.idKey = place.idKey;
    this.number = place.number;
    this.held = held;
  }

  get isPending(): boolean {
    return this.held?.confirmed !== undefined;
  }

  /** Whether a subscription covers the document; OWN_COVER stands for the peer's own writes. */
  isCovered(number: number): boolean {
    return this.held?.covers.includes(number) === true;
  }

  cover(number: number): void {
    if (this.held === undefined || this.isCovered(number)) return;
    // A document that a subscription covers is forgotten with its last subscription (S36).
    const { covers } = this.held;
    this.held.covers =
      covers.length === 0 ? [number] : [...covers.filter((known) => known !== OWN_COVER), number];
    this.isHeldMoved = true;
  }

  /** Voids the confirmed state: it goes with the pending writes, unless it is sent again. */
  doubt(): void {
    if (this.held === undefined) return;
    this.held.version = 0;
    this.held.covers = this.held.covers.filter((cover) => cover === OWN_COVER);
    this.isHeldMoved = true;
  }

  uncover(isGone: (number: number) => boolean): void {
    if (this.held === undefined) return;
    const covers = this.held.covers.filter((number) => !isGone(number));
    if (covers.length === this.held.covers.length) return;
    this.held.covers = covers;
    this.isHeldMoved = true;
    if (covers.length === 0) this.isMoved = true;
  }

  /** Sets the state that the server has; null for none. */
  confirm(state: StateParts | null, version: number, epoch: number): void {
    this.confirmed = state;
    this.held ??= { version, epoch, covers: [] };
    this.held.version = version;
    this.held.epoch = epoch;
    this.isMoved = true;
  }

  /** Removes the confirmed state and all covers. */
  forget(): void {
    if (this.held !== undefined) {
      this.held.version = 0;
      this.held.covers = [];
    }
    this.confirmed = null;
    this.isMoved = true;
  }
}

export class Layers {
  readonly #transaction: Transaction;
  readonly #view: View;
  readonly #collections = new Map<string, LayeredCollection>();
  readonly #pending = new Map<number, PendingWrites>();
  readonly #ended = new Set<number>();
  readonly #local = new Map<Key, Value>();
  readonly epoch: number;
  /** The newest time in all states that were confirmed here. */
  seen = 0;

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
    this.#view = transaction.view;
    this.epoch = serverFact(this.#view.reader).epoch;
  }

  get view(): View {
    return this.#view;
  }

  document(collection: string, id: Value): LayeredDocument {
    const known = documentId(id);
    return this.#documentOf(collection, known.id, known.key);
  }

  documentByKey(collection: string, idKey: string): LayeredDocument {
    return this.#documentOf(collection, idOfKey(idKey), idKey);
  }

  #documentOf(collection: string, id: Value, idKey: string): LayeredDocument {
    const { number, documents } = this.#collection(collection);
    let document = documents.get(idKey);
    if (document === undefined) {
      const record =
        number === undefined ? undefined : this.#view.reader.get(heldKey(number, idKey));
      const held = record === undefined ? undefined : readHeld(record);
      document = new LayeredDocument({ collection, id, idKey, number }, held);
      documents.set(idKey, document);
    }
    return document;
  }

  #collection(name: string): LayeredCollection {
    let known = this.#collections.get(name);
    if (known === undefined) {
      known = { number: this.#view.collectionNumber(name), documents: new Map() };
      this.#collections.set(name, known);
    }
    return known;
  }

  /**
   * Announces that most documents of this range are written next. If the range is still empty, as
   * in a first fill, one check finds that for all of them.
   */
  expect(collection: string, low: Bound | undefined, high: Bound | undefined): void {
    const { number } = this.#collection(collection);
    if (number === undefined) return;
    this.#transaction.expect(heldBetween(number, low, high));
    this.#transaction.expect(metaBetween(number, low, high));
  }

  /** Sets the confirmed state of a document, at a version. */
  confirm(document: LayeredDocument, state: StateParts | null, version: number): void {
    if (state !== null) this.seen = Math.max(this.seen, newestTime(state));
    document.confirm(state, version, this.epoch);
  }

  /** The state that the server sent last; undefined if it sent none. */
  confirmedState(document: LayeredDocument): DocumentState | undefined {
    const parts = this.#confirmedParts(document);
    return parts === null ? undefined : stateOfParts(parts);
  }

  /** A record as it is after this transaction. */
  get(key: Key): Value | undefined {
    const own = this.#local.get(key);
    return own === undefined ? this.#view.reader.get(key) : (own ?? undefined);
  }

  /** Puts a local record of the peer, or removes it (null). */
  put(key: Key, value: Value): void {
    this.#local.set(key, value);
  }

  /** A pending transaction; undefined if it has an outcome. */
  pending(number: number): PendingRecord | undefined {
    return this.#ended.has(number) ? undefined : this.#writes(number)?.record;
  }

  /** The numbers of all transactions without an outcome, in order. */
  *pendingNumbers(): Iterable<number> {
    const known = [...this.#pending.keys()].sort((a, b) => a - b);
    let next = 0;
    // Merges two sorted sequences: few records are loaded here, and the store may hold many.
    for (const key of this.#view.reader.keys(PENDING)) {
      const number = peerNumberOfKey(key);
      for (; (known[next] ?? number) < number; next++) yield known[next] as number;
      if (known[next] === number) next++;
      yield number;
    }
    yield* known.slice(next);
  }

  /** Changes the metadata of a pending transaction, such as its number, but not its writes. */
  markPending(number: number, record: PendingRecord): void {
    const before = this.pending(number)?.seal;
    if (before !== undefined) this.#leavePlace(before, number);
    this.#pending.set(number, new PendingWrites(record));
    this.#ended.delete(number);
    this.put(pendingKey(number), record as unknown as Value);
    const { seal: sequence } = record;
    this.put(sequenceKey(sequence.chain, sequence.number), number);
  }

  /** Ends a pending transaction that has its outcome: its writes leave the pending layer. */
  end(number: number, isApplied: boolean): void {
    const writes = this.#writes(number);
    if (writes === undefined) return;
    this.#ended.add(number);
    this.put(pendingKey(number), null);
    this.#leavePlace(writes.record.seal, number);
    for (const document of this.#touched(writes)) {
      if (document.number === undefined) continue;
      this.put(touchKey(document.number, document.idKey, number), null);
      if (!isApplied) document.isTakenBack = true;
      else {
        document.applied ??= [];
        document.applied.push(number);
      }
    }
  }

  /** Frees a sequence number, unless renumbering has already given it to another transaction. */
  #leavePlace({ chain, number: place }: SequenceRecord, number: number): void {
    const key = sequenceKey(chain, place);
    if (this.get(key) === number) this.put(key, null);
  }

  /** Makes a transaction pending, again or in another form. */
  putPending(number: number, record: PendingRecord): void {
    this.markPending(number, record);
    for (const document of this.#touched(new PendingWrites(record))) {
      if (document.number === undefined) continue;
      this.put(touchKey(document.number, document.idKey, number), true);
      document.begun ??= [];
      document.begun.push(number);
      this.#beginPending(document);
    }
  }

  /** Writes all changes as operations of the transaction. */
  flush(): void {
    const operations: (LayerOperation | LocalOperation)[] = [];
    for (const { documents } of this.#collections.values()) {
      for (const document of documents.values()) {
        const operation = this.#settled(document);
        if (operation !== undefined) operations.push(operation);
      }
    }
    for (const [key, value] of this.#local) operations.push(localOperation(key, value));
    this.#transaction.applyLayers(operations);
  }

  /** Keeps the confirmed state aside, because the view differs from it from now on. */
  #beginPending(document: LayeredDocument): void {
    if (document.isPending) return;
    const confirmed = this.#confirmedParts(document);
    document.held = pendingHeld(document.held, this.epoch, confirmed);
    document.isHeldMoved = true;
  }

  *#touched(writes: PendingWrites): Iterable<LayeredDocument> {
    for (const { collection, id } of writes.documents()) {
      const document = this.document(collection, id);
      document.isMoved = true;
      yield document;
    }
  }

  #settled(document: LayeredDocument): LayerOperation | undefined {
    const { isMoved, isHeldMoved, collection, id } = document;
    if (!isMoved && !isHeldMoved) return undefined;
    const { held } = document;
    const kind = "layer";
    if (!isMoved) return { kind, collection, id, held: held ? heldRecord(held) : null };
    const confirmed = this.#confirmedParts(document);
    if (held !== undefined && this.#isForeseen(document, confirmed)) {
      return { kind, collection, id, held: heldRecord({ ...held, confirmed }) };
    }
    const writes = this.#pendingWrites(document);
    if (held !== undefined && writes.length > 0) {
      const state = confirmed === null ? EMPTY_STATE : stateOfParts(confirmed);
      const view = pendingOver(state, writes);
      const record = heldRecord({ ...held, confirmed });
      return { kind, collection, id, view: viewOf(view), held: record };
    }
    // The tombstone of a deleted document stays until `forgetDeleted` removes it.
    const isUncovered = held?.covers.length === 0 && confirmed?.[0] !== null;
    if (held === undefined || held.version === 0 || isUncovered || confirmed === null) {
      return { kind, collection, id, view: null, held: null };
    }
    return { kind, collection, id, view: confirmed, held: [held.version, held.epoch, held.covers] };
  }

  /**
   * Whether the server applied the first pending writes as the view already shows, and no one else
   * wrote. Then the remaining pending writes, possibly very many, need not be applied again.
   */
  #isForeseen(document: LayeredDocument, confirmed: StateParts | null): boolean {
    const { applied, begun, held, isTakenBack } = document;
    if (applied === undefined || begun !== undefined || isTakenBack) return false;
    if (confirmed === null || held?.confirmed === undefined || !this.#areFirst(document))
      return false;
    const { collection, id } = document;
    const writes = applied.flatMap((number) => this.#writes(number)?.of(collection, id) ?? []);
    const before = held.confirmed === null ? EMPTY_STATE : stateOfParts(held.confirmed);
    const foreseen = stateToBytes(pendingOver(before, writes));
    return compareBytes(foreseen, stateToBytes(stateOfParts(confirmed))) === 0;
  }

  /** Whether the applied transactions came before all other pending ones, and others remain. */
  #areFirst({ number, idKey, applied }: LayeredDocument): boolean {
    if (number === undefined) return false;
    const left = new Set(applied);
    for (const key of this.#view.reader.keys(touchRange(number, idKey))) {
      if (!left.delete(readTouchKey(key).number)) return left.size === 0;
    }
    return false;
  }

  #confirmedParts(document: LayeredDocument): StateParts | null {
    if (document.confirmed !== undefined) return document.confirmed;
    document.confirmed = document.held?.confirmed ?? this.#storedParts(document);
    return document.confirmed;
  }

  /** The state in the store: the confirmed state while nothing is pending. */
  #storedParts({ number, idKey, held }: LayeredDocument): StateParts | null {
    if (number === undefined || held?.confirmed === null) return null;
    return storedParts(this.#view, number, idKey);
  }

  #pendingWrites(document: LayeredDocument): PendingWrite[] {
    const { collection, id, idKey, number, isPending, begun } = document;
    if (number === undefined || !isPending) return [];
    const numbers = new Set<number>(begun);
    for (const key of this.#view.reader.keys(touchRange(number, idKey))) {
      numbers.add(readTouchKey(key).number);
    }
    const ordered = [...numbers].filter((known) => !this.#ended.has(known)).sort((a, b) => a - b);
    return ordered.flatMap((known) => this.#writes(known)?.of(collection, id) ?? []);
  }

  #writes(number: number): PendingWrites | undefined {
    let writes = this.#pending.get(number);
    if (writes === undefined) {
      const record = this.#view.reader.get(pendingKey(number));
      if (record === undefined) return undefined;
      writes = new PendingWrites(record as unknown as PendingRecord);
      this.#pending.set(number, writes);
    }
    return writes;
  }
}

/** The documents of a collection that one transaction has read, by id key. */
interface LayeredCollection {
  /** Undefined while the store does not know the collection. */
  readonly number: number | undefined;
  readonly documents: Map<string, LayeredDocument>;
}

interface WrittenDocument {
  readonly place: OnDocument;
  readonly writes: PendingWrite[];
}

/** The writes of a pending transaction, by document. */
class PendingWrites {
  readonly record: PendingRecord;
  #byDocument: Map<string, WrittenDocument> | undefined;

  constructor(record: PendingRecord) {
    this.record = record;
  }

  *documents(): Iterable<OnDocument> {
    for (const { place } of this.#index().values()) yield place;
  }

  of(collection: string, id: Value): readonly PendingWrite[] {
    return this.#index().get(nameOf(collection, id))?.writes ?? [];
  }

  #index(): Map<string, WrittenDocument> {
    if (this.#byDocument !== undefined) return this.#byDocument;
    this.#byDocument = new Map();
    const { steps, site } = this.record;
    for (const { time, operations } of steps) {
      const stamp = { time, site };
      for (const operation of operations) {
        const { collection, id } = operation;
        const name = nameOf(collection, id);
        const known = this.#byDocument.get(name) ?? { place: { collection, id }, writes: [] };
        this.#byDocument.set(name, known);
        known.writes.push({ stamp, operation });
      }
    }
    return this.#byDocument;
  }
}

function nameOf(collection: string, id: Value): string {
  return `${documentId(id).key}/${collection}`;
}

function viewOf(state: DocumentState): StateParts | null {
  return isEmptyState(state) ? null : partsOf(state);
}

/** The held record of a document from its first pending write on. */
export function pendingHeld(
  held: Held | undefined,
  epoch: number,
  confirmed: StateParts | null,
): Held {
  if (held === undefined) return { version: 0, epoch, covers: [OWN_COVER], confirmed };
  // Only deleted documents are held without a cover.
  const covers = held.covers.length === 0 ? [OWN_COVER] : held.covers;
  return { ...held, covers, confirmed };
}

export function localOperation(key: Key, value: Value): LocalOperation {
  return { kind: "local", key, value };
}

/** The stored state of a document, in its parts; null if there is none. */
export function storedParts(view: View, number: number, idKey: string): StateParts | null {
  const record = view.reader.get(metaKey(number, idKey));
  if (record === undefined) return null;
  const { bytes, offset } = readMetaRecord(record);
  const document = view.reader.get(documentKey(number, idKey));
  const shown = document === undefined ? undefined : shownOfRecord(document);
  return [shown?.fields ?? null, shown?.types ?? null, bytes.slice(offset)];
}
