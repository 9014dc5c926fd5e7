/**
 * Applier: the state machine of a store: turns the operations of one transaction into records.
 * Nothing else changes a store.
 *
 * It writes to the overlay of the transaction and closes with the record for the change log. It
 * reads no clock, no random source and no setting: the same operations on the same state give the
 * same bytes on every node and at every replay (K20). Operations are trusted here: they were
 * checked where they came in.
 */

import {
  type AttachOperation,
  assert,
  type CatalogOperation,
  type DetachOperation,
  type DocumentOperation,
  documentId,
  type IndexOperation,
  isDocumentOperation,
  type LayerOperation,
  type LocalOperation,
  type MergeOperation,
  msOfTime,
  type Operation,
  type Site,
  type Stamp,
  type StateParts,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { collect, oldestTombstone } from "../crdt/collect.ts";
import { deltaOf } from "../crdt/edit.ts";
import { evictedStub, isStub } from "../crdt/evict.ts";
import { merge } from "../crdt/merge.ts";
import type { PlainWrite } from "../crdt/plain-state.ts";
import { resolveOperation } from "../crdt/resolve.ts";
import type { Shown } from "../crdt/show.ts";
import { isForgotten, sift } from "../crdt/stale.ts";
import { type DocumentState, EMPTY_STATE, eachStateStamp, isEmptyState } from "../crdt/state.ts";
import { encodeState, isSameState, stampsOf } from "../crdt/state-codec.ts";
import { plainOfParts, stateOfMerge, stateOfParts, versionedMeta } from "../crdt/state-parts.ts";
import { DOCUMENT_STAMPS_MAX, MAINTENANCE_BATCH } from "../limits.ts";
import { added } from "../list.ts";
import type { Steps } from "../steps.ts";
import { AttachmentWriter } from "./attachment-writer.ts";
import { isCreating, putCatalog } from "./catalog.ts";
import { type IndexOutcome, IndexWriter } from "./index-writer.ts";
import {
  changedKey,
  collectionKey,
  countKey,
  HEAD_KEY,
  heldKey,
  quarantineKey,
  quarantineRange,
  type TombstoneKey,
  tombstoneKey,
  transactionKey,
  transactionRange,
} from "./keys.ts";
import { logRecord } from "./log-record.ts";
import type { OpenDocument } from "./open-document.ts";
import { OpenDocuments } from "./open-documents.ts";
import type { Overlay } from "./overlay.ts";
import { loggedStep, type OwnWrites } from "./own-writes.ts";
import { isHeldAlone } from "./peer-records.ts";
import {
  copyOfHead,
  documentRecord,
  type Guard,
  type MutableHead,
  type Origin,
  readHead,
  type Step,
  type TransactionRecord,
  type UploadMark,
  type UploadOutcome,
} from "./records.ts";
import { forgetSites, recordUpload } from "./site-records.ts";
import { collectableTombstones } from "./tombstones.ts";

/** Result of one operation. `missing`: the document or index that it needs does not exist here. */
export type OperationOutcome = "applied" | "unchanged" | "stale" | "missing";

export class Applier {
  readonly #overlay: Overlay;
  readonly #txnId: number;
  readonly #site: Site;
  /** Collects the store's own writes for the upload; undefined in a store that uploads nothing. */
  readonly #own: OwnWrites | undefined;
  readonly #documents: OpenDocuments;
  #guards: Guard[] | undefined;
  /** Guards on collections that do not exist, each once; allocated on first use. */
  #unknown: Set<string> | undefined;
  #steps: Step[] | undefined;
  readonly #head: MutableHead;
  readonly #indexes: IndexWriter;
  readonly #attachments: AttachmentWriter;
  /** The collection looked up last: most transactions use only one. */
  #lastName: string | undefined;
  #lastNumber: number | undefined;
  #operations = 0;
  #quarantined = 0;
  /** Numbers of the collections of which shown documents were forgotten without a trace. */
  forgotten: Set<number> | undefined;
  #isChanged = false;
  #isBroken = false;
  /** Stamp count of a document over the limit; the caller may refuse the transaction. */
  outgrown: number | undefined;
  /** Whether each document is read with pauses of its own, because documents may be large. */
  hasLarge = false;

  constructor(overlay: Overlay, txnId: number, site: Site, own?: OwnWrites) {
    this.#overlay = overlay;
    this.#txnId = txnId;
    this.#site = site;
    this.#own = own;
    this.#documents = new OpenDocuments(overlay);
    this.#head = copyOfHead(readHead(overlay.get(HEAD_KEY)));
    this.#indexes = new IndexWriter(overlay, this.#head);
    this.#attachments = new AttachmentWriter(overlay);
    assert(txnId > this.#head.txnId, "a transaction id above all before it");
  }

  /** Approximate memory held, in bytes; 0 for a transaction on a single document. */
  get bytes(): number {
    return this.#documents.bytes;
  }

  /** Number of documents whose states are in memory. */
  get stateCount(): number {
    return this.#documents.stateCount;
  }

  /** The last time that the clock issued or saw, this transaction included. */
  get time(): number {
    return this.#head.time;
  }

  /**
   * Applies the operations of one statement or command under one stamp. A step of this store gets
   * the next free time at or after the proposed one; a step of another site keeps its own.
   */
  *step(step: Step): Steps<OperationOutcome[]> {
    const isOwn = step.site === undefined;
    const time = isOwn ? Math.max(step.time, this.#head.time + 1) : step.time;
    this.#sawTime(time);
    const stamp: Stamp = { time, site: step.site ?? this.#site };
    // Operations were checked before. If one fails all the same, the transaction must not finish.
    this.#isBroken = true;
    const outcomes: OperationOutcome[] = [];
    for (const operation of step.operations) {
      if (outcomes.length > 0) yield;
      if (this.hasLarge && isDocumentOperation(operation)) yield* this.#openLarge(operation);
      const outcome =
        operation.kind === "horizon"
          ? yield* this.#horizon(operation.time)
          : this.#operation(operation, stamp, !isOwn);
      if (outcome === "stale") this.#quarantine(operation, stamp);
      if (operation.kind !== "local") this.#operations++;
      this.#documents.countOperation(operation);
      outcomes.push(outcome);
    }
    // The time of the head: the step of another site may be old, but its effect here is new.
    if (this.#attachments.isTouched) yield* this.#attachments.settle(this.#head.time);
    this.#isBroken = false;
    const logged = loggedStep(time === step.time ? step : { ...step, time });
    if (logged !== undefined) this.#steps = added(this.#steps, logged);
    return outcomes;
  }

  /**
   * Records that the outcome of this transaction depends on the version of a document before it.
   * Returns the fields that the document shows now.
   */
  guard(collection: string, id: Value): Shown | undefined {
    const idKey = documentId(id).key;
    const number = this.#numberOf(collection);
    if (number === undefined) {
      this.#guardUnknown(collection, id, idKey);
      return undefined;
    }
    const document = this.#documents.open(number, idKey);
    // It may have been guarded before this transaction created its collection.
    if (!document.isGuarded && this.#unknown?.has(`${idKey}/${collection}`) !== true) {
      this.#guards = added(this.#guards, [collection, id, document.previous]);
    }
    document.isGuarded = true;
    return document.shown;
  }

  #guardUnknown(collection: string, id: Value, idKey: string): void {
    const name = `${idKey}/${collection}`;
    this.#unknown ??= new Set();
    if (this.#unknown.has(name)) return;
    this.#unknown.add(name);
    this.#guards = added(this.#guards, [collection, id, 0]);
  }

  /** Reads a document and its state, with pauses, before an operation writes to it. */
  *#openLarge({ collection, id }: DocumentOperation): Steps<void> {
    const number = this.#numberOf(collection);
    if (number === undefined) return;
    yield;
    const document = this.#documents.open(number, documentId(id).key);
    yield;
    document.readState();
    yield;
  }

  /** Writes the transaction to the log. Undefined when nothing changed: then it takes no id. */
  *finish(origin: Origin): Steps<TransactionRecord | undefined> {
    assert(!this.#isBroken, "no operation that failed while it was applied");
    if (!this.#isChanged && origin.upload === undefined) return undefined;
    if (this.hasLarge) yield;
    const record = yield* logRecord({
      origin,
      steps: this.#steps,
      guards: this.#guards,
      documents: this.#documents.values(),
    });
    this.#overlay.put(transactionKey(this.#txnId), record);
    if (origin.upload !== undefined) this.#recordUpload(origin.upload, origin);
    this.#head.txnId = this.#txnId;
    this.#head.logCount++;
    this.#head.logBytes += record.size;
    this.#overlay.put(HEAD_KEY, this.#head);
    return record;
  }

  #recordUpload(upload: UploadMark, { at, refusal }: Origin): void {
    const applied: UploadOutcome = this.#quarantined > 0 ? "stale" : "applied";
    const outcome: UploadOutcome = refusal === undefined ? applied : "refused";
    // The later of both clocks: a wall clock that is behind must not make the site expire at once.
    const atMs = Math.max(Math.floor(at), msOfTime(this.#head.time));
    const taken = { txnId: this.#txnId, outcome, reason: refusal ?? "" };
    recordUpload(this.#overlay, upload, taken, atMs);
  }

  #operation(
    operation: Exclude<Operation, { kind: "horizon" }>,
    stamp: Stamp,
    isForeign: boolean,
  ): OperationOutcome {
    switch (operation.kind) {
      case "insert":
      case "initial":
      case "update":
      case "delete":
      case "evict":
      case "merge":
      case "layer":
        return this.#documentOperation(operation, stamp, isForeign);
      case "local":
        return this.#local(operation);
      case "catalog":
        return this.#catalog(operation);
      case "create_index":
      case "build_index":
      case "drop_index":
      case "clear_index":
        return this.#index(operation);
      case "attach":
        return this.#attach(operation);
      case "detach":
        return this.#detach(operation);
      case "trim":
        return this.#trim(operation.upTo);
      case "forget_sites":
        return this.#forgetSites(operation.sites);
      default:
        return unreachable(operation);
    }
  }

  #documentOperation(
    operation: DocumentOperation,
    stamp: Stamp,
    isForeign: boolean,
  ): OperationOutcome {
    const number = isCreating(operation)
      ? this.#makeCollection(operation.collection)
      : this.#numberOf(operation.collection);
    if (number === undefined) return "missing";
    const document = this.#documents.open(number, documentId(operation.id).key);
    if (operation.kind === "evict") {
      this.#own?.addEvicted(operation);
      return this.#evict(document);
    }
    if (operation.kind === "merge") return this.#merge(document, operation);
    if (operation.kind === "layer") return this.#layer(document, operation);
    const plain = isForeign ? undefined : document.plainWrite(operation, stamp, this.#txnId);
    if (plain !== undefined) {
      // Its effect does not depend on the view of its writer, so there is nothing to resolve.
      this.#own?.add(stamp.time, operation);
      return this.#savePlain(document, plain, stamp);
    }
    const own = isForeign ? undefined : this.#own;
    const resolved = own && resolveOperation(document.state, operation);
    // A stub does not make the first insert of another site start clean: that site saw nothing
    // here. Its INITIAL lies below the writes that it did not see, whichever came first.
    const isFirst = isForeign && (isStub(document.state) || operation.kind === "initial");
    const delta = deltaOf(isFirst ? EMPTY_STATE : document.state, operation, stamp);
    if (delta === undefined) return isStub(document.state) ? "missing" : "unchanged";
    const outcome = this.#mergeDelta(document, delta, isForeign ? this.#head.horizon : 0);
    if (resolved !== undefined && outcome === "applied") own?.add(stamp.time, resolved);
    return outcome;
  }

  #layer(document: OpenDocument, { view, held }: LayerOperation): OperationOutcome {
    const { collection, idKey } = document;
    const isViewMoved = view !== undefined && this.#replace(document, view);
    const isHeldMoved = held !== undefined && this.#putLocal(heldKey(collection, idKey), held);
    return isViewMoved || isHeldMoved ? "applied" : "unchanged";
  }

  /** Replaces the state of a document. False when it is the same. */
  #replace(document: OpenDocument, view: StateParts | null): boolean {
    const plain = view === null ? undefined : plainOfParts(view);
    if (view !== null && plain !== undefined && document.isPlain) {
      this.#sawTime(Math.max(plain.alive.time, plain.stamp.time));
      if (document.hasParts(view)) return false;
      const meta = versionedMeta(view[2], this.#txnId);
      this.#savePlain(document, { fields: plain.fields, meta }, plain.stamp);
      return true;
    }
    const state = view === null ? EMPTY_STATE : stateOfParts(view);
    eachStateStamp(state, (stamp) => this.#sawTime(stamp.time));
    if (isSameState(state, document.state)) return false;
    if (isEmptyState(state)) this.#forget(document);
    else this.#save(document, state);
    return true;
  }

  #local({ key, value }: LocalOperation): OperationOutcome {
    assert(key.startsWith("l") || key.startsWith("p"), "a key of the peer's own");
    return this.#putLocal(key, value) ? "applied" : "unchanged";
  }

  #putLocal(key: string, value: Value): boolean {
    if (value === null && !this.#overlay.has(key)) return false;
    if (value === null) this.#overlay.remove(key);
    else this.#overlay.put(key, value);
    this.#isChanged = true;
    return true;
  }

  #merge(document: OpenDocument, operation: MergeOperation): OperationOutcome {
    const { state, staleUpTo = Number.POSITIVE_INFINITY } = operation;
    const horizon = Math.min(staleUpTo, this.#head.horizon);
    if (!(state instanceof Uint8Array)) {
      if (document.hasParts(state)) return "unchanged";
      const plain = document.isHeld ? undefined : plainOfParts(state);
      // The first state of its document, and not late: its parts become the records as they are.
      if (plain !== undefined && Math.min(plain.alive.time, plain.stamp.time) > horizon) {
        this.#sawTime(Math.max(plain.alive.time, plain.stamp.time));
        const meta = versionedMeta(state[2], this.#txnId);
        return this.#savePlain(document, { fields: plain.fields, meta }, plain.stamp);
      }
    }
    const delta = stateOfMerge(state);
    eachStateStamp(delta, (stamp) => this.#sawTime(stamp.time));
    if (isForgotten(delta, document.state, this.#head.horizon)) return "unchanged";
    return this.#mergeDelta(document, delta, horizon);
  }

  /** Writes of another site at or below `horizon` may be stale; 0 for the store's own. */
  #mergeDelta(document: OpenDocument, delta: DocumentState, horizon: number): OperationOutcome {
    const held = isStub(document.state) ? undefined : document.state;
    const sifted = sift(delta, held, horizon);
    const merged = merge(document.state, sifted.delta);
    const isSame = merged === document.state;
    if (!isSame) this.#save(document, merged);
    if (sifted.isStale) return "stale";
    return isSame ? "unchanged" : "applied";
  }

  #evict(document: OpenDocument): OperationOutcome {
    if (!document.isHeld) return "missing";
    const stub = evictedStub(document.state, this.#site);
    if (isSameState(stub, document.state)) return "unchanged";
    if (isEmptyState(stub)) this.#forget(document);
    else this.#save(document, stub);
    return "applied";
  }

  #numberOf(collection: string): number | undefined {
    if (collection === this.#lastName) return this.#lastNumber;
    const number = this.#overlay.get(collectionKey(collection)) as number | undefined;
    if (number !== undefined) {
      this.#lastName = collection;
      this.#lastNumber = number;
    }
    return number;
  }

  #makeCollection(collection: string): number {
    const known = this.#numberOf(collection);
    if (known !== undefined) return known;
    const number = this.#head.collections + 1;
    this.#head.collections = number;
    this.#overlay.put(collectionKey(collection), number);
    return number;
  }

  #save(document: OpenDocument, state: DocumentState): void {
    const { shown, meta, stamps } = encodeState(state, this.#txnId);
    if (stamps > DOCUMENT_STAMPS_MAX && stamps > stampsOf(document.state)) this.outgrown = stamps;
    this.#putRecords(document, shown, meta);
    this.#attachments.move(document, state);
    this.#moveTombstone(document, oldestTombstone(state));
    document.become(state, shown);
  }

  /** A plain document has no attachment tokens and no floors, except a delete that ends it. */
  #savePlain(document: OpenDocument, plain: PlainWrite, stamp: Stamp): OperationOutcome {
    const { fields, meta } = plain;
    const shown = fields === undefined ? undefined : { fields, types: undefined };
    this.#putRecords(document, shown, meta);
    if (shown === undefined) {
      this.#overlay.put(tombstoneKey(stamp.time, document.collection, document.idKey), true);
    }
    document.becomePlain(shown, plain);
    return "applied";
  }

  #putRecords(document: OpenDocument, shown: Shown | undefined, meta: Uint8Array): void {
    this.#overlay.put(document.metaKey, meta);
    if (shown !== undefined) {
      this.#overlay.put(document.documentKey, documentRecord(shown));
    } else if (document.shown !== undefined) {
      this.#overlay.remove(document.documentKey);
    }
    this.#count(
      document.collection,
      Number(shown !== undefined) - Number(document.shown !== undefined),
    );
    this.#indexes.move(document, shown);
    this.#moveChanged(document);
    this.#documents.countShown(document, shown, meta);
  }

  /** Removes all records of a document; only the log still names it. */
  #forget(document: OpenDocument): void {
    const { collection, idKey } = document;
    this.#overlay.remove(document.metaKey);
    if (document.shown !== undefined) {
      this.#overlay.remove(document.documentKey);
      this.#count(collection, -1);
      this.forgotten ??= new Set();
      this.forgotten.add(collection);
    }
    this.#indexes.move(document, undefined);
    this.#attachments.move(document, EMPTY_STATE);
    this.#moveTombstone(document, undefined);
    this.#moveChanged(document);
    this.#overlay.remove(changedKey(collection, this.#txnId, idKey));
    document.become(EMPTY_STATE, undefined);
  }

  /** Moves the entry of a document in the index of changes to this transaction. */
  #moveChanged(document: OpenDocument): void {
    const { collection, idKey, previous } = document;
    if (document.operation < 0) {
      document.operation = this.#operations;
      if (previous > 0) this.#overlay.remove(changedKey(collection, previous, idKey));
    }
    this.#overlay.put(changedKey(collection, this.#txnId, idKey), true);
    this.#isChanged = true;
  }

  #moveTombstone(document: OpenDocument, tombstone: number | undefined): void {
    const before = oldestTombstone(document.state);
    if (tombstone === before) return;
    const { collection, idKey } = document;
    if (before !== undefined) this.#overlay.remove(tombstoneKey(before, collection, idKey));
    if (tombstone !== undefined)
      this.#overlay.put(tombstoneKey(tombstone, collection, idKey), true);
  }

  #count(collection: number, change: number): void {
    if (change === 0) return;
    const key = countKey(collection);
    this.#overlay.put(key, ((this.#overlay.get(key) as number | undefined) ?? 0) + change);
  }

  #catalog(operation: CatalogOperation): OperationOutcome {
    if (!putCatalog(this.#overlay, operation)) return "unchanged";
    this.#isChanged = true;
    return "applied";
  }

  #index(operation: IndexOperation): OperationOutcome {
    const outcome = this.#indexOutcome(operation);
    if (outcome === "applied") this.#isChanged = true;
    return outcome;
  }

  #indexOutcome(operation: IndexOperation): IndexOutcome {
    if (operation.kind === "clear_index") return this.#indexes.clear(operation);
    if (operation.kind === "create_index") {
      return this.#indexes.create(this.#makeCollection(operation.collection), operation);
    }
    const number = this.#numberOf(operation.collection);
    if (number === undefined) return "missing";
    const { kind } = operation;
    return kind === "build_index"
      ? this.#indexes.build(number, operation)
      : this.#indexes.drop(number, operation);
  }

  #attach(operation: AttachOperation): OperationOutcome {
    const isKnown = this.#attachments.isKnown(operation.id);
    if (!this.#attachments.attach(operation)) return "unchanged";
    if (!isKnown) this.#head.attachments = (this.#head.attachments ?? 0) + 1;
    this.#isChanged = true;
    return "applied";
  }

  #detach({ id }: DetachOperation): OperationOutcome {
    if (!this.#attachments.isKnown(id)) return "missing";
    if (this.#attachments.isReferenced(id)) return "unchanged";
    this.#attachments.detach(id);
    this.#head.attachments = (this.#head.attachments ?? 0) - 1;
    this.#isChanged = true;
    return "applied";
  }

  /** Collects a bounded number of floors; the caller repeats the operation until none is left. */
  *#horizon(time: number): Steps<OperationOutcome> {
    const tombstones: TombstoneKey[] = [];
    const { floor: logStart } = this.#head;
    const found = collectableTombstones(this.#overlay, time, logStart, MAINTENANCE_BATCH);
    for (const tombstone of found) {
      tombstones.push(tombstone);
      yield;
    }
    for (const tombstone of tombstones) {
      this.#collectTombstone(tombstone, time);
      yield;
    }
    if (tombstones.length === 0 && time <= this.#head.horizon) return "unchanged";
    this.#head.horizon = Math.max(time, this.#head.horizon);
    this.#isChanged = true;
    return "applied";
  }

  #collectTombstone(tombstone: TombstoneKey, time: number): void {
    const { collection, idKey } = tombstone;
    const document = this.#documents.open(collection, idKey);
    const state = collect(document.state, time);
    this.#attachments.move(document, state);
    this.#moveTombstone(document, oldestTombstone(state));
    // The shown fields are the same, so the document keeps its version: this is no change to send.
    if (isEmptyState(state)) {
      this.#overlay.remove(document.metaKey);
      this.#overlay.remove(changedKey(collection, document.previous, idKey));
      const held = heldKey(collection, idKey);
      if (isHeldAlone(this.#overlay.get(held))) this.#overlay.remove(held);
    } else {
      this.#overlay.put(document.metaKey, encodeState(state, document.previous).meta);
    }
    document.become(state, document.shown);
  }

  #trim(upTo: number): OperationOutcome {
    const { floor: logStart } = this.#head;
    if (upTo <= logStart) return "unchanged";
    let removed = 0;
    const range = transactionRange(logStart, upTo);
    // Reads the sizes alone: a record may hold a million operations.
    for (const { key, value } of this.#overlay.entries(range, ["size"])) {
      this.#overlay.remove(key);
      this.#head.logCount--;
      this.#head.logBytes -= (value as unknown as TransactionRecord).size;
      assert(++removed <= MAINTENANCE_BATCH, "a bounded trim");
    }
    for (const key of this.#overlay.keys(quarantineRange(upTo))) this.#overlay.remove(key);
    this.#head.floor = upTo;
    this.#isChanged = true;
    return "applied";
  }

  #forgetSites(sites: readonly Site[]): OperationOutcome {
    if (!forgetSites(this.#overlay, sites)) return "unchanged";
    this.#isChanged = true;
    return "applied";
  }

  #quarantine(operation: Operation, stamp: Stamp): void {
    const record = { time: stamp.time, site: stamp.site, operation: operation as unknown as Value };
    this.#overlay.put(quarantineKey(this.#txnId, this.#quarantined++), record);
    this.#isChanged = true;
  }

  #sawTime(time: number): void {
    if (time > this.#head.time) this.#head.time = time;
  }
}
