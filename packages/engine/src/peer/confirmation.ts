/**
 * Confirmation: applies what a server sends to the confirmed layer of a peer.
 *
 * One batch is one local transaction: documents, releases, outcomes of uploads and positions of
 * subscriptions (S16, S35). If a delta does not fit, the peer requests the document whole (S18).
 */

import {
  type DocumentEntry,
  type IdRange,
  NONE,
  type Outcome,
  type Stamp,
  type StateParts,
  unreachable,
  type Value,
  type Versions,
} from "@bigpeer/protocol";
import { merge } from "../crdt/merge.ts";
import { EMPTY_STATE } from "../crdt/state.ts";
import { stateOfBytes } from "../crdt/state-codec.ts";
import { partsOf } from "../crdt/state-parts.ts";
import { type Bound, heldBetween, ID_OFFSET } from "../store/keys.ts";
import {
  COUNT_FACT,
  countFact,
  LIVE_FACT,
  liveFact,
  OWN_COVER,
  readHeld,
} from "../store/peer-records.ts";
import type { Transaction } from "../store/transaction.ts";
import { type LayeredDocument, Layers } from "./layers.ts";
import { endUpload, type RefusedUpload } from "./outcome.ts";
import type { AppliedBatch, ConfirmedBatch, ConfirmedPart } from "./peer-layers.ts";
import {
  changeRecord,
  ensureRecord,
  filledUpTo,
  holed,
  type KnownSubscription,
  mended,
  recordOf,
  type Subscriptions,
  torn,
  trusted,
} from "./subscriptions.ts";

/** Applies batches and comparisons of the server within one transaction. */
export class Confirmation {
  readonly #layers: Layers;
  readonly #subscriptions: Subscriptions;
  readonly #nowMs: number;
  readonly #serverMs: number;
  readonly #wants = new Map<string, Value[]>();

  /** `serverMs`: the server's clock, if it is known. */
  constructor(transaction: Transaction, subscriptions: Subscriptions, serverMs?: number) {
    this.#layers = new Layers(transaction);
    this.#subscriptions = subscriptions;
    this.#nowMs = transaction.nowMs;
    this.#serverMs = serverMs ?? transaction.nowMs;
  }

  apply(batch: ConfirmedBatch): AppliedBatch<RefusedUpload> {
    for (const part of batch.parts) this.#part(part);
    for (const [collection, entry] of batch.notices ?? []) this.#notice(collection, entry);
    const refused = batch.outcomes.flatMap((outcome) => this.#outcome(outcome) ?? []);
    this.#moveLive(batch.committed);
    if (batch.committed !== undefined) this.#trustLive();
    for (const { subscription, filter, txn } of batch.completed ?? []) {
      this.#complete(subscription, filter, txn);
    }
    this.#layers.flush();
    const wants = [...this.#wants].map(([subscription, ids]) => ({ subscription, ids }));
    return { wants, refused };
  }

  /** Returns listed ids that are not held in these versions; releases what is not listed (S13). */
  compare(subscription: string, { list, range }: Versions): Value[] {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return [];
    // However the stream began, it is a comparison from now on (S15).
    if (ensureRecord(this.#layers, known).isTorn !== true) {
      changeRecord(this.#layers, known, torn);
    }
    const wanted: Value[] = [];
    const listed = new Set<string>();
    for (const [id, version] of list) {
      const document = this.#layers.document(known.collection, id);
      listed.add(document.idKey);
      if (this.#holds(document, version)) document.cover(known.number);
      else wanted.push(document.id);
    }
    this.#sweep(known, range, listed);
    this.#layers.flush();
    return wanted;
  }

  #part({ subscription, entries, range, fill }: ConfirmedPart): void {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    ensureRecord(this.#layers, known);
    if (range === undefined) {
      for (const entry of entries) this.#entry(known, entry);
      return;
    }
    const { low, high } = boundsOf(range);
    this.#layers.expect(known.collection, low, high);
    const listed = new Set<string>();
    for (const entry of entries) listed.add(this.#entry(known, entry).idKey);
    this.#sweep(known, range, listed);
    const isFirst = range.after === undefined;
    changeRecord(this.#layers, known, (record) =>
      filledUpTo(isFirst ? mended(record) : record, fill),
    );
  }

  #entry(known: KnownSubscription, entry: DocumentEntry): LayeredDocument {
    const document = this.#layers.document(known.collection, entry[1]);
    this.#takeEntry(known, document, entry);
    return document;
  }

  #takeEntry(known: KnownSubscription, document: LayeredDocument, entry: DocumentEntry): void {
    const { number } = known;
    switch (entry[0]) {
      case "put":
      case "delta":
        if (this.#take(document, entry)) document.cover(number);
        else this.#want(known, document.id);
        return;
      case "left":
      case "deleted":
        // The peer does not hold the document, so there is nothing to update.
        if (document.held === undefined) return;
        this.#take(document, entry);
        return document.uncover((cover) => cover === number);
      case "drop":
        return this.#drop(document, number);
      default:
        return unreachable(entry);
    }
  }

  #notice(collection: string, entry: DocumentEntry): void {
    const document = this.#layers.document(collection, entry[1]);
    if (document.held === undefined) return;
    if (entry[0] === "drop") return this.#drop(document, OWN_COVER);
    if (this.#take(document, entry) || entry[0] !== "delta") return;
    // No subscription requests the whole document, so the held version does not advance.
    const before = this.#layers.confirmedState(document) ?? EMPTY_STATE;
    const known = partsOf(merge(before, stateOfBytes(entry[4])));
    this.#layers.confirm(document, known, document.held.version);
  }

  /**
   * The peer may no longer read the document. The server sends this to other live subscriptions
   * too, but not to inactive ones, so their covers are removed here.
   */
  #drop(document: LayeredDocument, number: number): void {
    if (document.held === undefined) return;
    const isGone = (cover: number): boolean =>
      cover === number || !this.#subscriptions.isActiveNumber(cover);
    document.uncover(isGone);
    if (document.held.covers.length === 0) document.forget();
  }

  /** Applies the state in an entry. False if a delta does not fit the held version. */
  #take(
    document: LayeredDocument,
    entry: Exclude<DocumentEntry, readonly ["drop", Value]>,
  ): boolean {
    const version = entry[2];
    if (this.#holds(document, version)) return true;
    switch (entry[0]) {
      case "put":
      case "left":
        this.#layers.confirm(document, entry[3], version);
        return true;
      case "delta": {
        if (document.held === undefined || !this.#isAt(document, entry[3])) return false;
        const before = this.#layers.confirmedState(document) ?? EMPTY_STATE;
        this.#layers.confirm(document, partsOf(merge(before, stateOfBytes(entry[4]))), version);
        return true;
      }
      case "deleted": {
        const dead = { time: entry[3], site: entry[4] };
        this.#layers.confirm(document, this.#tombstone(document, dead), version);
        return true;
      }
      default:
        return unreachable(entry);
    }
  }

  /** A tombstone without fields. It keeps the mark that the document was once seeded (D24). */
  #tombstone(document: LayeredDocument, dead: Stamp): StateParts {
    const seeded = this.#layers.confirmedState(document)?.seeded === true;
    return partsOf({ alive: NONE, dead, seeded, root: EMPTY_STATE.root });
  }

  /** Whether the peer holds this version or a later one (S18). */
  #holds({ held }: LayeredDocument, version: number): boolean {
    return held !== undefined && held.epoch === this.#layers.epoch && held.version >= version;
  }

  #isAt({ held }: LayeredDocument, version: number): boolean {
    return held?.epoch === this.#layers.epoch && held.version === version;
  }

  /** Requests a whole document. It may never arrive, so the subscription compares next (S18). */
  #want(known: KnownSubscription, id: Value): void {
    const ids = this.#wants.get(known.key) ?? [];
    this.#wants.set(known.key, ids);
    ids.push(id);
    changeRecord(this.#layers, known, holed);
  }

  /** Releases documents of a range that the subscription covers and that are not listed (S14). */
  #sweep(known: KnownSubscription, range: IdRange, listed: ReadonlySet<string>): void {
    const { collection, number } = known;
    const { view } = this.#layers;
    const collectionNumber = view.collectionNumber(collection);
    if (collectionNumber === undefined) return;
    const { low, high } = boundsOf(range);
    for (const { key, value } of view.reader.entries(heldBetween(collectionNumber, low, high))) {
      const idKey = key.slice(ID_OFFSET);
      if (listed.has(idKey) || !readHeld(value).covers.includes(number)) continue;
      this.#layers.documentByKey(collection, idKey).uncover((cover) => cover === number);
    }
  }

  #outcome(outcome: Outcome): RefusedUpload | undefined {
    for (const [collection, entry] of outcome.documents) {
      const document = this.#layers.document(collection, entry[1]);
      if (document.held === undefined) continue;
      if (entry[0] === "drop") document.forget();
      else this.#take(document, entry);
    }
    return endUpload(this.#layers, outcome, { nowMs: this.#nowMs, serverMs: this.#serverMs });
  }

  #moveLive(committed: number | undefined): void {
    const live = liveFact(this.#layers);
    const txn = Math.max(live.txn, committed ?? 0);
    const seen = Math.max(live.seen, this.#layers.seen);
    this.#layers.put(LIVE_FACT, { txn, seen, receivedAt: this.#nowMs });
  }

  /** Marks live ones as complete under new rights (S71): their filters did not change (S20). */
  #trustLive(): void {
    if (!this.#subscriptions.mayTrust) return;
    for (const known of this.#subscriptions.active()) {
      const record = recordOf(this.#layers, known.key);
      if (record?.isDoubtful !== true || record.liveFrom === undefined) continue;
      changeRecord(this.#layers, known, trusted);
    }
  }

  #complete(subscription: string, filter: Uint8Array, txn: number): void {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    const counts = countFact(this.#layers);
    const uses = counts.uses + 1;
    const liveFrom = liveFact(this.#layers).txn;
    changeRecord(this.#layers, known, (record) => {
      const { isTorn: _, fill: __, ...whole } = trusted(record);
      return { ...whole, filter, txn, liveFrom, used: uses };
    });
    this.#layers.put(COUNT_FACT, { ...countFact(this.#layers), uses });
  }
}

interface Bounds {
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
}

function boundsOf({ after, through }: IdRange): Bounds {
  return {
    low: after === undefined ? undefined : { value: after, isIncluded: false },
    high: through === undefined ? undefined : { value: through, isIncluded: true },
  };
}
