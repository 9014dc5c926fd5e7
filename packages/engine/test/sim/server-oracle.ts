/**
 * The oracle of the server: what its documents must be, from the operations that it has accepted, by
 * the model. What peers uploaded is taken from the wire as they sent it, not from the server's log.
 *
 * It reads the log of the durable disk after each sync, so it knows each transaction as soon as
 * anybody may, and what each document showed at each version.
 */

import {
  type CatalogOperation,
  type DocumentOperation,
  isDocumentOperation,
  type MergeOperation,
  type Operation,
  type Site,
  type ValueObject,
} from "@bigpeer/protocol";
import { isStub } from "../../src/crdt/evict.ts";
import { stateOfMerge } from "../../src/crdt/state-parts.ts";
import {
  HEAD_KEY,
  IDENTITY_KEY,
  transactionRange,
  txnIdOfKey,
  uploadKey,
} from "../../src/store/keys.ts";
import type { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import {
  type Identity,
  readHead,
  type TransactionRecord,
  type UploadOutcome,
  type UploadRecord,
} from "../../src/store/records.ts";
import { View } from "../../src/store/view.ts";
import { describeDoc, describeState, valueText } from "../support/dump.ts";
import { emptyDoc, type ModelDoc, mergeDocs, operationDelta, showDoc } from "../support/model.ts";
import {
  forget,
  hasFloorUpTo,
  hasTimeUpTo,
  hasTombstone,
  isCovered,
  modelOf,
} from "./model-horizon.ts";
import type { Scheduler } from "./scheduler.ts";
import { digestText, type SentUploads, tagsIn } from "./sent-uploads.ts";

export interface OracleDocument {
  readonly doc: ModelDoc;
  /** The transaction that changed it last. */
  readonly version: number;
}

export interface AppliedUpload {
  readonly txn: number;
  readonly kind: UploadOutcome;
  readonly tags: readonly string[];
}

/** Who keeps more of what the oracle finds: of links, which tell other stores. */
export interface OracleBook {
  /** A life of the store begins, with these documents. */
  begin(history: string, txn: number, documents: ReadonlyMap<string, OracleDocument>): void;
  /** An operation is applied. `isCertain` is false where not all of it may have an effect. */
  operation(operation: DocumentOperation, site: Site, isCertain: boolean): void;
  /** A state from another store is merged. */
  merge(place: string, incoming: ModelDoc, via: string | undefined): void;
  /** A document is another, or less of it is held. */
  put(place: string, document: OracleDocument, txn: number, via: string | undefined): void;
  /** Something of a document is held no more, though nobody has ended it. */
  lose(place: string, doc: ModelDoc): void;
  catalog(operation: CatalogOperation): void;
  /** All that is durable was read. */
  looked(txn: number, horizon: number): void;
  checkpoint(): unknown;
  restore(checkpoint: unknown): void;
}

/** All that a backup must be able to come back to. */
export interface Checkpoint {
  readonly book?: unknown;
  readonly documents: ReadonlyMap<string, OracleDocument>;
  readonly uploads: ReadonlyMap<string, AppliedUpload>;
  readonly ownTags: ReadonlySet<string>;
  readonly txn: number;
}

export interface Version {
  readonly txn: number;
  readonly fields: ValueObject | undefined;
}

export function placeOf(collection: string, id: unknown): string {
  return `${collection}/${JSON.stringify(id)}`;
}

export function uploadName(site: Site, number: number): string {
  return `${site}/${number}`;
}

export class ServerOracle {
  readonly #scheduler: Scheduler;
  readonly #sent: SentUploads;
  #documents = new Map<string, OracleDocument>();
  #uploads = new Map<string, AppliedUpload>();
  /** The names of what was written to the server directly. */
  #ownTags = new Set<string>();
  /** Refused uploads of sites that the server has forgotten. */
  readonly forgotten = new Set<string>();
  /** What each document has shown, over all lives of the server. */
  readonly #versions = new Map<string, Version[]>();
  #txn = 0;
  #logStart = 0;
  /** The site of the server itself. */
  #site: Site = "";
  /**
   * Documents that are taken over from the server at the end of this look, and the history of the
   * store that all which was done to them came from.
   */
  readonly #adopted = new Map<string, string | undefined>();
  /** What those of them can be at most that came from other stores. */
  readonly #most = new Map<string, ModelDoc>();
  readonly #book: OracleBook | undefined;
  #history = "";
  #horizon = 0;
  /** The history of the store that the transaction which is read now came from. */
  #via: string | undefined;

  constructor(scheduler: Scheduler, sent: SentUploads, book?: OracleBook) {
    this.#scheduler = scheduler;
    this.#sent = sent;
    this.#book = book;
  }

  /** The last durable transaction. */
  get txn(): number {
    return this.#txn;
  }

  get documents(): ReadonlyMap<string, OracleDocument> {
    return this.#documents;
  }

  get uploads(): ReadonlyMap<string, AppliedUpload> {
    return this.#uploads;
  }

  get ownTags(): ReadonlySet<string> {
    return this.#ownTags;
  }

  versionsOf(place: string): readonly Version[] {
    return this.#versions.get(place) ?? [];
  }

  /** What a document showed at a version; undefined when there was no such version. */
  at(place: string, txn: number): Version | undefined {
    return this.versionsOf(place).findLast((version) => version.txn === txn);
  }

  checkpoint(): Checkpoint {
    return {
      documents: new Map(this.#documents),
      uploads: new Map(this.#uploads),
      ownTags: new Set(this.#ownTags),
      txn: this.#txn,
      book: this.#book?.checkpoint(),
    };
  }

  /** The server begins a new life with what it had then; its ids go on from `txn`. */
  restore(checkpoint: Checkpoint, disk: MemoryDisk, isClockBehind = false): void {
    this.#documents = new Map(checkpoint.documents);
    this.#uploads = new Map(checkpoint.uploads);
    this.#ownTags = new Set(checkpoint.ownTags);
    this.#book?.restore(checkpoint.book);
    const { txnId, floor, horizon } = readHead(disk.state.get(HEAD_KEY));
    this.#logStart = floor;
    this.#horizon = horizon;
    // With a clock that was set back, only the history tells the lives apart.
    if (txnId <= this.#txn && !isClockBehind) {
      this.#scheduler.fail("txnIds increase", `restored at ${txnId}, was at ${this.#txn} before`);
    }
    this.#txn = txnId;
  }

  /** Reads what became durable since the last look. */
  catchUp(disk: MemoryDisk): void {
    const snapshot = new MemoryKeyValue(disk).snapshot();
    const view = new View(snapshot);
    const { txnId } = view.head;
    if (txnId < this.#txn) {
      this.#scheduler.fail("txnIds increase", `the server is at ${txnId}, was at ${this.#txn}`);
      return;
    }
    const identity = snapshot.get(IDENTITY_KEY) as Identity;
    if (identity.historyId !== this.#history) {
      this.#history = identity.historyId;
      this.#book?.begin(this.#history, this.#txn, this.#documents);
    }
    if (txnId === this.#txn) return;
    for (const { key, value } of snapshot.entries(transactionRange(this.#txn, txnId))) {
      const txn = txnIdOfKey(key);
      this.#take(txn, value as unknown as TransactionRecord, identity.site, snapshot);
      this.#txn = txn;
    }
    if (this.#txn !== txnId) {
      this.#scheduler.fail("the log is whole", `it ends at ${this.#txn}, the head at ${txnId}`);
    }
    this.#adopt(view);
    this.#book?.looked(txnId, this.#horizon);
  }

  #take(txn: number, record: TransactionRecord, site: Site, reader: MemoryReader): void {
    const { upload } = record;
    this.#via = record.via;
    if (upload === undefined) {
      this.#site = site;
      for (const tag of tagsIn(record.steps)) this.#ownTags.add(tag);
      for (const step of record.steps)
        this.#step(txn, step.time, step.site ?? site, step.operations);
      return;
    }
    const name = uploadName(upload.site, upload.number);
    if (this.#uploads.has(name)) this.#scheduler.fail("uploads have their effect once", name);
    const sent = this.#sent.find(upload.site, upload.number, upload.digest);
    if (sent === undefined) {
      const found = `${name} ${digestText(upload.digest)}`;
      this.#scheduler.fail("the server applies what was sent", found);
      return;
    }
    const outcome = reader.get(uploadKey(upload.site, upload.number)) as UploadRecord | undefined;
    const kind = outcome?.outcome ?? (record.refusal === undefined ? "applied" : "refused");
    this.#uploads.set(name, { txn, kind, tags: sent.tags });
    if (kind === "refused") return;
    for (const step of sent.steps) {
      this.#step(txn, step.time, upload.site, step.operations);
      if (kind === "stale") this.#adoptAll(step.operations);
    }
  }

  #step(txn: number, time: number, site: Site, operations: readonly Operation[]): void {
    for (const operation of operations) {
      if (operation.kind === "trim") this.#logStart = operation.upTo;
      else if (operation.kind === "forget_sites") this.#forgetSites(operation.sites);
      else if (operation.kind === "catalog") this.#book?.catalog(operation);
      else if (operation.kind === "horizon") this.#forget(operation.time, txn);
      else if (operation.kind === "merge") this.#merge(txn, operation);
      else if (isDocumentOperation(operation)) this.#operation(txn, operation, [time, site]);
    }
  }

  /** K64: nothing of them had an effect, so a peer may send it again. */
  #forgetSites(sites: readonly Site[]): void {
    for (const [name, { kind }] of this.#uploads) {
      if (!sites.includes(name.split("/")[0] ?? "")) continue;
      if (kind !== "refused") this.#scheduler.fail("[K64] what was applied is remembered", name);
      this.#uploads.delete(name);
      this.forgotten.add(name);
    }
  }

  #operation(txn: number, operation: DocumentOperation, [time, site]: [number, Site]): void {
    const place = placeOf(operation.collection, operation.id);
    const before = this.#documents.get(place) ?? { doc: emptyDoc(), version: 0 };
    this.#book?.operation(operation, site, true);
    this.#most.delete(place);
    if (operation.kind === "evict" || operation.kind === "merge" || operation.kind === "layer") {
      this.#book?.lose(place, before.doc);
      this.#takeOver(place);
      return;
    }
    if (this.#adopted.has(place)) return this.#takeOver(place);
    const { doc } = before;
    // What was evicted leaves a stub, of which another site had seen nothing. And its INITIAL lies
    // below all that it had not seen.
    const isStubHere = doc.alive[0] < 0 && doc.dead[0] < 0;
    const isUnseen = site !== this.#site && (isStubHere || operation.kind === "initial");
    const view = isUnseen ? emptyDoc() : doc;
    const stamp = [time, Number.parseInt(site, 16)] as const;
    const delta = operationDelta(view, operation, stamp);
    if (delta === undefined) return;
    const merged = mergeDocs(doc, delta);
    if (describeDoc(merged) === describeDoc(doc)) return;
    this.#put(place, merged, txn);
  }

  /** What another store has of a document (S52). */
  #merge(txn: number, operation: MergeOperation): void {
    const place = placeOf(operation.collection, operation.id);
    const { doc } = this.#documents.get(place) ?? { doc: emptyDoc() };
    const incoming = modelOf(stateOfMerge(operation.state));
    this.#book?.merge(place, incoming, this.#via);
    const merged = mergeDocs(doc, incoming);
    const late = Math.min(operation.staleUpTo ?? Number.POSITIVE_INFINITY, this.#horizon);
    if (hasTimeUpTo(incoming, late) || hasFloorUpTo(incoming, this.#horizon)) {
      // What comes too late, and what was forgotten here, the model does not follow.
      if (!this.#adopted.has(place)) this.#most.set(place, doc);
      this.#takeOver(place);
    }
    if (this.#adopted.has(place)) {
      this.#takeOver(place);
      const most = this.#most.get(place);
      if (most !== undefined) this.#most.set(place, mergeDocs(most, incoming));
      else this.#book?.lose(place, incoming);
    } else if (describeDoc(merged) === describeDoc(doc)) {
      this.#scheduler.fail("[S52] what changes nothing makes no transaction", `${txn}: ${place}`);
    } else this.#put(place, merged, txn);
  }

  #put(place: string, doc: ModelDoc, version: number): void {
    this.#documents.set(place, { doc, version });
    this.#book?.put(place, { doc, version }, version, this.#via);
    const versions = this.#versions.get(place) ?? [];
    this.#versions.set(place, versions);
    if (versions.at(-1)?.txn === version) versions.pop();
    versions.push({ txn: version, fields: showDoc(doc) as ValueObject | undefined });
  }

  #adoptAll(operations: readonly Operation[]): void {
    for (const operation of operations) {
      if (!isDocumentOperation(operation)) continue;
      this.#book?.operation(operation, "", false);
      this.#takeOver(placeOf(operation.collection, operation.id));
    }
  }

  #takeOver(place: string): void {
    const isSame = !this.#adopted.has(place) || this.#adopted.get(place) === this.#via;
    this.#adopted.set(place, isSame ? this.#via : undefined);
  }

  /** EVICT and late writes leave what the model does not follow. */
  #adopt(view: View): void {
    for (const [place, via] of this.#adopted) {
      this.#via = via;
      const [collection, id] = splitPlace(place);
      const { state, version } = view.state(collection, id);
      if (version === 0) {
        this.#documents.delete(place);
        this.#note(place, this.#txn);
      } else {
        this.#put(place, modelOf(state), version);
      }
      this.#checkAdopted(place);
    }
    this.#adopted.clear();
    this.#most.clear();
  }

  /** Nothing is there that nobody wrote, and what is missing is known to be. */
  #checkAdopted(place: string): void {
    const most = this.#most.get(place);
    if (most === undefined) return;
    const { doc } = this.#documents.get(place) ?? { doc: emptyDoc() };
    if (!isCovered(doc, most, this.#horizon)) {
      const found = `${place}\n  found   ${describeDoc(doc)}\n  at most ${describeDoc(most)}`;
      this.#scheduler.fail("[S52] what is merged is what came", found);
    }
    if (!isCovered(most, doc, this.#horizon)) this.#book?.lose(place, most);
  }

  #note(place: string, txn: number): void {
    const versions = this.#versions.get(place) ?? [];
    this.#versions.set(place, versions);
    versions.push({ txn, fields: undefined });
    this.#book?.put(place, { doc: emptyDoc(), version: 0 }, txn, this.#via);
  }

  #forget(horizon: number, txn: number): void {
    this.#horizon = horizon;
    for (const [place, { doc, version }] of this.#documents) {
      if (version > this.#logStart || !hasTombstone(doc, horizon)) continue;
      const rest = forget(doc, horizon);
      if (describeDoc(rest) === describeDoc(emptyDoc())) this.#documents.delete(place);
      else this.#documents.set(place, { doc: rest, version });
      this.#book?.lose(place, doc);
      this.#book?.put(place, { doc: rest, version }, txn, undefined);
    }
  }

  /** Holds every document of the server against the model. */
  check(disk: MemoryDisk): void {
    const snapshot = new MemoryKeyValue(disk).snapshot();
    const view = new View(snapshot);
    const places = new Set(this.#documents.keys());
    for (const collection of view.collections()) {
      for (const { id } of view.changedSince(collection, 0)) places.add(placeOf(collection, id));
    }
    for (const place of places) {
      const [collection, id] = splitPlace(place);
      const { state, version } = view.state(collection, id);
      const expected = this.#documents.get(place);
      const found = `${version} ${describeState(state)}`;
      const wanted =
        expected === undefined
          ? `0 ${describeDoc(emptyDoc())}`
          : `${expected.version} ${describeDoc(expected.doc)}`;
      if (found !== wanted) {
        this.#scheduler.fail(
          "the server is what its operations make",
          `${place}\n  found    ${found}\n  expected ${wanted}`,
        );
      }
      const shown = valueText(view.get(collection, id)?.fields);
      const model = valueText(expected && showDoc(expected.doc));
      if (shown !== model) {
        this.#scheduler.fail("the server shows what it holds", `${place} ${shown}, not ${model}`);
      }
      if (isStub(state) && shown !== "MISSING") this.#scheduler.fail("a stub is hidden", place);
    }
  }
}

type MemoryReader = ReturnType<MemoryKeyValue["snapshot"]>;

export function splitPlace(place: string): [collection: string, id: string | number] {
  const slash = place.indexOf("/");
  return [place.slice(0, slash), JSON.parse(place.slice(slash + 1)) as string | number];
}
