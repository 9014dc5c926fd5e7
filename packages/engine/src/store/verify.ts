/**
 * Verify: consistency check that reads every key of a store and reports damage.
 *
 * It trusts no record: each is decoded with its own codec, and redundant data is compared:
 * documents and metadata, counts, the index of changes, indexes, tombstones, attachments, the log
 * and its totals. It changes nothing.
 */

import {
  canonicalBytes,
  compareBytes,
  type DocumentOperation,
  documentId,
  type Edit,
  equalValues,
  getField,
  idOfKey,
  isDocumentOperation,
  isObject,
  isRootSet,
  latest,
  NONE,
  stringifyJson,
  type Value,
  type ValueObject,
  ZERO,
} from "@bigpeer/protocol";
import { oldestTombstone } from "../crdt/collect.ts";
import { normalize } from "../crdt/merge.ts";
import { type DocumentState, eachStateStamp } from "../crdt/state.ts";
import { decodeState, encodeState, stateToBytes } from "../crdt/state-codec.ts";
import type { Key, KeyEntry, Reader } from "../platform.ts";
import { AttachmentCheck } from "./attachment-check.ts";
import { operationOfChange } from "./change-log.ts";
import { FORMAT_VERSION } from "./identity.ts";
import { IndexCheck } from "./index-check.ts";
import {
  catalogKey,
  changedKey,
  collectionOfKey,
  countKey,
  documentKey,
  HEAD_KEY,
  ID_OFFSET,
  IDENTITY_KEY,
  metaKey,
  printKey,
  readChangedKey,
  readTombstoneKey,
  siteKey,
  siteOfKey,
  siteOfUnappliedKey,
  tombstoneKey,
  transactionKey,
  txnIdOfKey,
  unappliedKey,
  uploadKey,
  uploadNumberOfKey,
} from "./keys.ts";
import { PeerCheck } from "./peer-check.ts";
import {
  type Change,
  documentRecord,
  type Head,
  type Identity,
  readMetaRecord,
  type SiteRecord,
  shownOfRecord,
  type TransactionRecord,
  type UploadRecord,
} from "./records.ts";
import { answerProblems } from "./remembered-answer.ts";
import { siteRecordOf } from "./site-records.ts";
import { View } from "./view.ts";

export interface Problem {
  readonly key: string;
  readonly message: string;
}

export interface VerifyReport {
  readonly keys: number;
  readonly documents: number;
  readonly transactions: number;
  /** The first problems found, at most PROBLEMS_MAX. */
  readonly problems: readonly Problem[];
}

const PROBLEMS_MAX = 1000;

/** `tick` is called from time to time with the key that the walk has reached. */
export function verify(reader: Reader, tick: (key: string) => void = () => {}): VerifyReport {
  return new Verifier(reader).run(tick);
}

const KEYS_PER_TICK = 1000;

interface DocumentKey {
  readonly collection: number;
  readonly idKey: string;
}

class Verifier {
  readonly #reader: Reader;
  readonly #view: View;
  readonly #problems: Problem[] = [];
  readonly #shownCounts = new Map<number, number>();
  readonly #collections = new Set<number>();
  readonly #counted = new Set<number>();
  #head: Head | undefined;
  #indexes: IndexCheck | undefined;
  readonly #attachments: AttachmentCheck;
  readonly #peer: PeerCheck;
  #documents = 0;
  #transactions = 0;
  #logBytes = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#view = new View(reader);
    this.#attachments = new AttachmentCheck(this.#view, (key, message) =>
      this.#report(key, message),
    );
    this.#peer = new PeerCheck(this.#view, (key, message) => this.#report(key, message));
  }

  run(tick: (key: string) => void): VerifyReport {
    this.#guarded(HEAD_KEY, () => this.#checkHead());
    this.#guarded(HEAD_KEY, () => {
      this.#indexes = new IndexCheck(this.#reader, this.#head?.indexes, (key, message) =>
        this.#report(key, message),
      );
    });
    let keys = 0;
    for (const { key, value } of this.#entries()) {
      if (keys % KEYS_PER_TICK === 0) tick(printKey(key));
      keys++;
      this.#guarded(key, () => this.#checkEntry(key, value));
    }
    this.#guarded(HEAD_KEY, () => this.#checkTotals());
    this.#guarded(HEAD_KEY, () => {
      for (const { section, name, message } of answerProblems(this.#view)) {
        this.#report(catalogKey(section, name), message);
      }
    });
    return {
      keys,
      documents: this.#documents,
      transactions: this.#transactions,
      problems: this.#problems,
    };
  }

  /** Every entry. An unreadable one is reported, and the walk continues after it. */
  *#entries(): Generator<KeyEntry, void> {
    let from: Key | undefined = "\x00";
    while (from !== undefined) {
      try {
        for (const entry of this.#reader.entries({ from, to: "\xff" })) {
          from = `${entry.key}\x00`;
          yield entry;
        }
        return;
      } catch (error) {
        const damaged = this.#firstKey(from);
        this.#report(damaged ?? from, reasonOf(error));
        from = damaged && `${damaged}\x00`;
      }
    }
  }

  /** Undefined where even the key is unreadable. */
  #firstKey(from: Key): Key | undefined {
    try {
      for (const key of this.#reader.keys({ from, to: "\xff" })) return key;
    } catch {
      return undefined;
    }
    return undefined;
  }

  #checkHead(): void {
    const head = this.#reader.get(HEAD_KEY);
    const identity = this.#reader.get(IDENTITY_KEY) as Identity | undefined;
    if (isObject(head)) this.#head = head as unknown as Head;
    else this.#report(HEAD_KEY, "expected the head of the store");
    if (!isObject(identity)) this.#report(IDENTITY_KEY, "expected the identity of the store");
    else if (!(identity.format >= 1 && identity.format <= FORMAT_VERSION)) {
      this.#report(IDENTITY_KEY, `expected format ${FORMAT_VERSION}, found ${identity.format}`);
    }
  }

  /** An unreadable record is one problem, not the end of the walk. */
  #guarded(key: Key, check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#report(key, reasonOf(error));
    }
  }

  #checkEntry(key: Key, value: Value): void {
    switch (key.charAt(0)) {
      case "d":
        return this.#checkDocument(key, value);
      case "g":
        return this.#checkTombstone(key);
      case "k":
        this.#collections.add(value as number);
        return;
      case "m":
        return this.#checkMeta(key, value);
      case "t":
        return this.#checkTransaction(key, value as unknown as TransactionRecord);
      case "v":
        return this.#checkChanged(key);
      case "n":
        this.#counted.add(collectionOfKey(key));
        return;
      case "u":
        return this.#checkSite(key, value as SiteRecord);
      case "w":
        return this.#checkUpload(key, value as UploadRecord);
      case "e":
        return this.#checkUnapplied(key);
      case "x":
        return this.#indexes?.checkEntry(key, value);
      case "y":
        return this.#indexes?.checkDropped(key, value);
      case "b":
        return this.#attachments.checkRecord(key, value);
      case "o":
        return this.#attachments.checkOrphan(key, value);
      case "r":
        return this.#attachments.checkReference(key, value);
      case "l":
        return this.#peer.checkHeld(key, value);
      case "p":
        return this.#peer.checkLocal(key, value);
      case "a":
      case "c":
      case "h":
      case "i":
      case "s":
        return;
      default:
        return this.#report(key, "expected a key of the storage format");
    }
  }

  #checkDocument(key: Key, value: Value): void {
    this.#documents++;
    const collection = collectionOfKey(key);
    this.#shownCounts.set(collection, (this.#shownCounts.get(collection) ?? 0) + 1);
    idOfKey(key.slice(ID_OFFSET));
    const { fields } = shownOfRecord(value);
    if (isObject(fields)) this.#indexes?.checkDocument(key, fields);
    else this.#report(key, "expected the fields of a document");
    if (!this.#reader.has(metaKey(collection, key.slice(ID_OFFSET)))) {
      this.#report(key, "expected metadata beside the document");
    }
  }

  #checkMeta(key: Key, value: Value): void {
    const place: DocumentKey = { collection: collectionOfKey(key), idKey: key.slice(ID_OFFSET) };
    const { version, bytes, offset } = readMetaRecord(value);
    const record = this.#reader.get(documentKey(place.collection, place.idKey));
    const shown = record === undefined ? undefined : shownOfRecord(record);
    const state = decodeState(shown, bytes, offset);
    const again = encodeState(state, version);
    if (compareBytes(again.meta, bytes) !== 0)
      this.#report(key, "expected metadata in canonical form");
    if (compareBytes(stateToBytes(normalize(state)), stateToBytes(state)) !== 0) {
      this.#report(key, "expected a state in normal form");
    }
    this.#checkShown(key, again.shown && documentRecord(again.shown), record);
    if (!this.#reader.has(changedKey(place.collection, version, place.idKey))) {
      this.#report(key, `expected an entry for its last change ${version}`);
    }
    const tombstone = oldestTombstone(state);
    if (
      tombstone !== undefined &&
      !this.#reader.has(tombstoneKey(tombstone, place.collection, place.idKey))
    ) {
      this.#report(key, "expected an entry for its oldest floor");
    }
    this.#attachments.checkState(key, state, place.collection, place.idKey);
    this.#checkVersion(key, version);
  }

  #checkShown(key: Key, expected: Value | undefined, found: Value | undefined): void {
    const want = expected === undefined ? "nothing" : stringifyJson(expected);
    const have = found === undefined ? "nothing" : stringifyJson(found);
    if (expected === undefined ? found !== undefined : !isSameRecord(expected, found)) {
      this.#report(key, `expected the document ${want}, found ${have}`);
    }
  }

  #checkVersion(key: Key, version: number): void {
    const head = this.#head;
    if (head === undefined) return;
    if (version > head.txnId) this.#report(key, `expected a version up to ${head.txnId}`);
    if (version > head.floor && !this.#reader.has(transactionKey(version))) {
      this.#report(key, `expected transaction ${version} in the log`);
    }
  }

  #checkChanged(key: Key): void {
    const collection = collectionOfKey(key);
    const { txnId, idKey } = readChangedKey(key);
    const record = this.#reader.get(metaKey(collection, idKey));
    const version = record === undefined ? undefined : readMetaRecord(record).version;
    if (version !== txnId) this.#report(key, `expected a document of version ${txnId}`);
  }

  #checkTombstone(key: Key): void {
    const { time, collection, idKey } = readTombstoneKey(key);
    const isHeld = this.#reader.has(metaKey(collection, idKey));
    const state = isHeld ? this.#view.stateByKey(collection, idKey).state : undefined;
    if (state === undefined || oldestTombstone(state) !== time) {
      this.#report(key, "expected a document with this floor");
    }
  }

  #checkTransaction(key: Key, record: TransactionRecord): void {
    this.#transactions++;
    this.#logBytes += record.size;
    const txnId = txnIdOfKey(key);
    const head = this.#head;
    if (head !== undefined && (txnId <= head.floor || txnId > head.txnId)) {
      this.#report(key, `expected a transaction above ${head.floor} and up to ${head.txnId}`);
    }
    const { via } = record;
    if (via !== undefined && (typeof via !== "string" || via === "")) {
      this.#report(key, "expected the history of the store that it came from");
    }
    if (record.by !== undefined && !isWriter(record.by)) {
      this.#report(key, "expected the names of the writer of a transaction");
    }
    const writes = ownWrites(record);
    for (const change of record.changes) {
      const { collection, id } = operationOfChange(record, change);
      if (change[1] >= txnId) {
        this.#report(key, "expected a previous version below the transaction");
      }
      const { state, version } = this.#view.state(collection, id);
      if (version !== txnId) continue;
      const written = writes.get(documentName(collection, id));
      const shown = this.#view.get(collection, id)?.fields;
      if (!isWhatWasWritten(written, change, shown)) {
        this.#report(key, `expected its document ${stringifyJson(id)} to show what it wrote`);
      }
      if (!isStampedBy(written, state, head?.horizon ?? 0)) {
        this.#report(key, `expected its document ${stringifyJson(id)} to bear its stamp`);
      }
    }
  }

  #checkSite(key: Key, site: SiteRecord): void {
    const last = this.#reader.get(uploadKey(siteOfKey(key), site.number)) as
      | UploadRecord
      | undefined;
    if (
      last === undefined ||
      last.txnId !== site.txnId ||
      !isSameRecord(last.digest, site.digest)
    ) {
      this.#report(key, `expected upload ${site.number} of the site beside it`);
    }
    const { unappliedAt } = site;
    if (unappliedAt === undefined) return;
    if (last?.outcome !== "refused") this.#report(key, "expected no applied upload of the site");
    if (!this.#reader.has(unappliedKey(unappliedAt, siteOfKey(key)))) {
      this.#report(key, "expected the site among those without an applied upload");
    }
  }

  #checkUnapplied(key: Key): void {
    const site = siteOfUnappliedKey(key);
    const { unappliedAt } = siteRecordOf(this.#reader, site) ?? {};
    if (unappliedAt !== undefined && unappliedKey(unappliedAt, site) === key) return;
    this.#report(key, "expected a site without an applied upload");
  }

  #checkUpload(key: Key, upload: UploadRecord): void {
    const site = this.#reader.get(siteKey(siteOfKey(key))) as SiteRecord | undefined;
    if (site === undefined || site.number < uploadNumberOfKey(key)) {
      this.#report(key, "expected a site that has sent it");
    }
    this.#checkVersion(key, upload.txnId);
  }

  #checkTotals(): void {
    const head = this.#head;
    if (head !== undefined && head.logCount !== this.#transactions) {
      this.#report(HEAD_KEY, `expected ${this.#transactions} transactions, found ${head.logCount}`);
    }
    if (head !== undefined && head.logBytes !== this.#logBytes) {
      this.#report(HEAD_KEY, `expected ${this.#logBytes} bytes of log, found ${head.logBytes}`);
    }
    if (head !== undefined) {
      this.#attachments.checkTotal(head);
      this.#indexes?.checkTotal(head);
    }
    this.#peer.checkTotals();
    const beside = [...(this.#indexes?.collections() ?? []), ...this.#peer.collections()];
    const seen = [...this.#collections, ...this.#shownCounts.keys(), ...this.#counted, ...beside];
    for (const collection of new Set(seen)) {
      const counted = this.#shownCounts.get(collection) ?? 0;
      const kept = (this.#reader.get(countKey(collection)) as number | undefined) ?? 0;
      if (counted !== kept) {
        this.#report(countKey(collection), `expected a count of ${counted}, found ${kept}`);
      }
      if (!this.#collections.has(collection)) {
        this.#report(countKey(collection), "expected a name for the collection");
      }
    }
  }

  #report(key: Key, message: string): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push({ key: printKey(key), message });
  }
}

/** The storage gives the reason for an unreadable record as the cause of its error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function isSameRecord(a: Value, b: Value | undefined): boolean {
  return b !== undefined && compareBytes(canonicalBytes(a), canonicalBytes(b)) === 0;
}

/** The writes of one transaction to one document. */
interface OwnWrites {
  readonly operations: DocumentOperation[];
  readonly times: number[];
  /** Whether another site or a merge wrote to the document too. */
  isShared: boolean;
}

/** Operations that bring writes from elsewhere. */
const ELSEWHERE: ReadonlySet<string> = new Set(["merge", "layer"]);

function documentName(collection: string, id: Value): string {
  return `${collection.length} ${collection}${documentId(id).key}`;
}

function ownWrites(record: TransactionRecord): Map<string, OwnWrites> {
  const writes = new Map<string, OwnWrites>();
  for (const step of record.steps) {
    for (const operation of step.operations) {
      if (!isDocumentOperation(operation)) continue;
      const name = documentName(operation.collection, operation.id);
      const own = writes.get(name) ?? { operations: [], times: [], isShared: false };
      writes.set(name, own);
      const isOwn = step.site === undefined && !ELSEWHERE.has(operation.kind);
      if (!isOwn) own.isShared = true;
      own.operations.push(operation);
      own.times.push(operation.kind === "initial" ? ZERO.time : step.time);
    }
  }
  return writes;
}

/** Whether a document shows what its last write in the log set. */
function isWhatWasWritten(
  written: OwnWrites | undefined,
  change: Change,
  shown: ValueObject | undefined,
): boolean {
  const last = written?.isShared === true ? undefined : written?.operations.at(-1);
  switch (last?.kind) {
    case "insert": {
      const isFirst = written?.operations.length === 1 && change[2] === null;
      return !isFirst || equalValues(shown, last.fields);
    }
    case "update":
      return last.edits.every((edit) => isWhatWasSet(edit, shown));
    case "delete":
    case "evict":
      return shown === undefined;
    default:
      return true;
  }
}

/** The clock is ahead of all that it has seen, so the newest stamp is that of the last write. */
function isStampedBy(
  written: OwnWrites | undefined,
  state: DocumentState,
  horizon: number,
): boolean {
  // Behind the horizon the stamp of a delete or UNSET may be collected.
  if (written === undefined || written.isShared) return true;
  if (written.times.every((time) => time <= horizon)) return true;
  if (written.operations.some((operation) => operation.kind === "evict")) return true;
  let newest = NONE;
  eachStateStamp(state, (stamp) => {
    newest = latest(newest, stamp);
  });
  return written.times.includes(newest.time);
}

function isWhatWasSet(edit: Edit, shown: ValueObject | undefined): boolean {
  // A document that does not show took no edit; a map merges with the existing one.
  if (edit.kind !== "set" || shown === undefined) return true;
  if (isRootSet(edit)) {
    const { value: fields } = edit;
    const isShown = (name: string): boolean =>
      isObject(fields[name]) || equalValues(fields[name], getField(shown, name));
    return Object.keys(fields).every(isShown);
  }
  if (isObject(edit.value)) return true;
  let value: Value | undefined = shown;
  for (const name of edit.path) value = isObject(value) ? getField(value, name) : undefined;
  return equalValues(value, edit.value);
}

const WRITER_NAMES: ReadonlySet<string> = new Set(["credential", "provider", "user", "peer"]);

function isWriter(by: unknown): boolean {
  if (typeof by !== "object" || by === null) return false;
  const names = Object.entries(by);
  return names.every(([name, text]) => WRITER_NAMES.has(name) && typeof text === "string");
}
