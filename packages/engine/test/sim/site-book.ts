/**
 * The book of a site: all that its store has held, life by life and transaction by transaction, by the
 * model; and what it holds no more though nobody has ended it, because it was forgotten behind the
 * horizon, evicted, or came too late.
 *
 * Links tell other stores what a site has. From its book it is known what they may be told, and what
 * they must have when they say that they have it.
 */

import type {
  CatalogOperation,
  DocumentOperation,
  Site,
  Value,
  ValueObject,
} from "@bigpeer/protocol";
import { describeDoc } from "../support/dump.ts";
import { emptyDoc, type ModelDoc, mergeDocs, showDoc } from "../support/model.ts";
import type { Scheduler } from "./scheduler.ts";
import { tagsIn } from "./sent-uploads.ts";
import { type OracleBook, type OracleDocument, placeOf, splitPlace } from "./server-oracle.ts";
import { TALLY } from "./sim-rules.ts";

/** What a document was from a transaction on. */
export interface Entry {
  readonly txn: number;
  readonly version: number;
  readonly doc: ModelDoc;
  /** What shows; undefined for nothing. */
  readonly fields: ValueObject | undefined;
  /** The history of the store that it came from over a link. */
  readonly via: string | undefined;
  /** The increments of a tally that are in it. */
  readonly adds: ReadonlySet<string>;
}

/** One life of a store. */
export class Life {
  readonly history: string;
  readonly site: SiteBook;
  readonly #entries = new Map<string, Entry[]>();

  constructor(history: string, site: SiteBook) {
    this.history = history;
    this.site = site;
  }

  add(place: string, entry: Entry): void {
    const known = this.#entries.get(place);
    if (known === undefined) {
      this.#entries.set(place, [entry]);
      return;
    }
    // What the oracle had first thought of it never was.
    if (known.at(-1)?.txn === entry.txn) known.pop();
    known.push(entry);
  }

  *placesOf(collection: string): Iterable<string> {
    for (const place of this.#entries.keys()) {
      if (splitPlace(place)[0] === collection) yield place;
    }
  }

  entriesOf(place: string): readonly Entry[] {
    return this.#entries.get(place) ?? [];
  }

  /** What a document was at a transaction. */
  at(place: string, txn: number): Entry | undefined {
    return this.entriesOf(place).findLast((entry) => entry.txn <= txn);
  }

  /** All that a version has been: with time something of it is forgotten. */
  versions(place: string, version: number): readonly Entry[] {
    return this.entriesOf(place).filter((entry) => entry.version === version);
  }
}

/** What a store says that it has of another one (S54). */
export interface Claim {
  readonly source: string;
  readonly collection: string;
  readonly condition: string;
  readonly txn: number;
  /** Only up to and with this id: the rest of a fill has still to come. */
  readonly after?: Value;
}

export interface BookParts {
  readonly name: string;
  readonly scheduler: Scheduler;
  /** Claims that became durable, with all that was written up to the transaction. */
  readonly onClaims: (book: SiteBook, claims: readonly Claim[]) => void;
}

interface BookCheckpoint {
  readonly lost: ReadonlyMap<string, ModelDoc>;
  readonly adds: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Of increments of which it is not known whether they count. */
export const UNKNOWN_ADD = "?";

const NO_ADDS: ReadonlySet<string> = new Set();

export class SiteBook implements OracleBook {
  readonly name: string;
  readonly #parts: BookParts;
  readonly #lives = new Map<string, Life>();
  #life: Life | undefined;
  #lost = new Map<string, ModelDoc>();
  #adds = new Map<string, ReadonlySet<string>>();
  /** States that came over links, and the increments in them. */
  readonly #arrived = new Map<string, ReadonlySet<string>>();
  #claims: Claim[] = [];
  txn = 0;
  horizon = 0;
  /** Documents that were merged from other stores. */
  merges = 0;

  constructor(parts: BookParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  get life(): Life | undefined {
    return this.#life;
  }

  lifeOf(history: string): Life | undefined {
    return this.#lives.get(history);
  }

  /** What the store has, and what it had and knows no more. */
  everOf(place: string): ModelDoc {
    const doc = this.docOf(place);
    const lost = this.#lost.get(place);
    return lost === undefined ? doc : mergeDocs(doc, lost);
  }

  docOf(place: string): ModelDoc {
    return this.#life?.entriesOf(place).at(-1)?.doc ?? emptyDoc();
  }

  addsOf(place: string): ReadonlySet<string> {
    return this.#adds.get(place) ?? NO_ADDS;
  }

  /** A state has been sent here. */
  arrive(place: string, text: string, adds: ReadonlySet<string>): void {
    const key = `${place} ${text}`;
    const known = this.#arrived.get(key);
    this.#arrived.set(key, known === undefined ? adds : new Set([...known, ...adds]));
  }

  // Told by the oracle.

  begin(history: string, txn: number, documents: ReadonlyMap<string, OracleDocument>): void {
    this.#life = new Life(history, this);
    this.#lives.set(history, this.#life);
    this.txn = txn;
    for (const [place, document] of documents) this.put(place, document, txn, undefined);
  }

  operation(operation: DocumentOperation, site: Site, isCertain: boolean): void {
    if (operation.collection !== TALLY) return;
    const place = placeOf(TALLY, operation.id);
    const tags = tagsIn(operation as unknown as ValueObject).map((tag) => `${site} ${tag}`);
    this.#adds.set(place, new Set([...this.addsOf(place), ...(isCertain ? tags : [UNKNOWN_ADD])]));
  }

  merge(place: string, incoming: ModelDoc, via: string | undefined): void {
    this.merges++;
    const adds = this.#arrived.get(`${place} ${describeDoc(incoming)}`);
    if (adds === undefined || via === undefined) {
      const detail = `${this.name}: ${place} ${describeDoc(incoming)} via ${via}`;
      this.#parts.scheduler.fail("[S52] what is merged has come over a link", detail);
    }
    this.#adds.set(place, new Set([...this.addsOf(place), ...(adds ?? [])]));
  }

  put(place: string, { doc, version }: OracleDocument, txn: number, via: string | undefined): void {
    const fields = showDoc(doc) as ValueObject | undefined;
    this.#life?.add(place, { txn, version, doc, fields, via, adds: this.addsOf(place) });
  }

  lose(place: string, doc: ModelDoc): void {
    this.#lost.set(place, mergeDocs(this.#lost.get(place) ?? emptyDoc(), doc));
  }

  catalog({ section, name, value }: CatalogOperation): void {
    if (section !== "link" || typeof value !== "object" || value === null) return;
    const cursor = value as ValueObject;
    const { collection, condition, txn, after } = cursor as unknown as Claim;
    if (cursor["isTorn"] === true && after === undefined) return;
    const [source = ""] = name.split(" ");
    const part = cursor["isTorn"] === true && after !== undefined ? { after } : {};
    this.#claims.push({ source, collection, condition, txn, ...part });
  }

  looked(txn: number, horizon: number): void {
    this.txn = txn;
    this.horizon = horizon;
    const claims = this.#claims;
    this.#claims = [];
    if (claims.length > 0) this.#parts.onClaims(this, claims);
  }

  checkpoint(): BookCheckpoint {
    return { lost: new Map(this.#lost), adds: new Map(this.#adds) };
  }

  restore(checkpoint: unknown): void {
    const { lost, adds } = checkpoint as BookCheckpoint;
    this.#lost = new Map(lost);
    this.#adds = new Map(adds);
  }
}
