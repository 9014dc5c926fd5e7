/**
 * What a store must have of another one when it says that it follows a query up to a transaction: all
 * that the query selects there, as it was then or later; that documents of the collection were deleted
 * (S51); and of what stopped matching, how it was when it did.
 */

import { documentId, type Value, type ValueObject } from "@bigpeer/protocol";
import { statementOf } from "../../src/link/link-query.ts";
import { describeDoc } from "../support/dump.ts";
import { isDocShown, type ModelDoc, type ModelStamp } from "../support/model.ts";
import { isCovered, withoutFloors } from "./model-horizon.ts";
import type { Scheduler } from "./scheduler.ts";
import { splitPlace } from "./server-oracle.ts";
import type { Rule } from "./sim-rules.ts";
import type { Claim, Entry, Life, SiteBook } from "./site-book.ts";

/** The last claim by which a document matched. */
interface Followed {
  /** The transaction of the source that was claimed. */
  readonly txn: number;
  /** The transaction of the follower with which it was made. */
  readonly at: number;
  /** How often the query had been filled. */
  readonly fills: number;
}

/** A deletion that came, ended nothing, and was behind the horizon here: nothing of it is kept (D23). */
interface PassedOver {
  readonly dead: ModelStamp;
  /** How often the query had been filled from the beginning. */
  readonly starts: number;
}

/** Floors that came, and that the follower may have forgotten since: a counter begins below them (D23). */
interface SentFloors {
  readonly horizon: number;
  /** How often the query had been filled from the beginning. */
  readonly starts: number;
}

/** The last time that a query was filled from the beginning. */
interface Start {
  readonly count: number;
  /** The transaction of the source then. */
  readonly txn: number;
}

const NEVER_STARTED: Start = { count: 0, txn: 0 };

export interface ClaimParts {
  readonly scheduler: Scheduler;
  lifeOf(history: string): Life | undefined;
  /** What a condition means. */
  rule(condition: string): Rule;
}

export class LinkClaims {
  readonly #parts: ClaimParts;
  /** Of each query, by the document. */
  readonly #followed = new Map<string, Map<string, Followed>>();
  /**
   * Of each stream, the transaction of the source at each fill: a claim of an earlier one may come behind
   * it. Queries that say the same in other words share a stream.
   */
  readonly #fills = new Map<string, number[]>();
  readonly #passedOver = new Map<string, Map<string, PassedOver>>();
  readonly #sentFloors = new Map<string, Map<string, SentFloors>>();
  readonly #starts = new Map<string, Start>();
  count = 0;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** The source begins to fill what a statement selects. */
  noteFill(follower: string, source: Life, statement: string): void {
    const key = `${follower} ${source.history} ${statement}`;
    this.#fills.set(key, [...(this.#fills.get(key) ?? []), source.site.txn]);
  }

  /** How often a stream had been filled when it was at a transaction of the source. */
  #fillsAt(stream: string, txn: number): number {
    return (this.#fills.get(stream) ?? []).filter((begun) => begun <= txn).length;
  }

  /** It fills it from the first id on, and does not go on with a fill. */
  noteStart(follower: string, source: Life, statement: string): void {
    const key = `${follower} ${source.history} ${statement}`;
    const { count } = this.#starts.get(key) ?? NEVER_STARTED;
    this.#starts.set(key, { count: count + 1, txn: source.site.txn });
  }

  check(book: SiteBook, claims: readonly Claim[]): void {
    for (const claim of claims) {
      this.count++;
      const { source, collection, condition, txn, after } = claim;
      const life = this.#parts.lifeOf(source);
      if (life === undefined) {
        return this.#fail("[S54] a cursor is of a store that there is", `${book.name}: ${source}`);
      }
      const { test } = this.#parts.rule(condition);
      const where = `${book.name} of ${life.site.name} at ${txn}, ${collection}: ${condition}`;
      const between = `${book.life?.history ?? ""} ${source}`;
      const name = `${between} ${collection} ${condition}`;
      const stream = `${between} ${statementOf({ collection, condition })}`;
      this.#checkAll(book, life, { name, stream, collection, test, txn, where, after });
      if (after === undefined) this.#checkLeft(book, life, { ...claim, name, stream, test, where });
    }
  }

  /** All that is selected, and all deletions. */
  #checkAll(
    book: SiteBook,
    life: Life,
    query: {
      readonly name: string;
      readonly stream: string;
      readonly collection: string;
      readonly test: Rule["test"];
      readonly txn: number;
      readonly where: string;
      readonly after: Value | undefined;
    },
  ): void {
    const { name, stream, collection, test, txn, where, after } = query;
    const last = after === undefined ? undefined : documentId(after).key;
    for (const place of life.placesOf(collection)) {
      // A fill that is not whole says nothing of what is behind.
      if (last !== undefined && documentId(splitPlace(place)[1]).key > last) continue;
      const entry = life.at(place, txn);
      if (entry === undefined) continue;
      // What changed while it was filled is told when it goes on.
      if (last !== undefined && life.entriesOf(place).at(-1) !== entry) continue;
      const { doc, fields } = entry;
      if (fields !== undefined && test(fields)) {
        const rule = `[S54] who says that he has it has what matches: ${where}`;
        const unreported = this.#withoutSentFloors(book, place, doc, { name, stream, txn });
        this.#checkHas(book, place, unreported, rule);
      } else if (
        fields === undefined &&
        !this.#hasDeletion(book, place, doc, { name, stream, txn })
      ) {
        this.#fail(
          "[S51] each deletion of a followed collection comes",
          `${where} ${place}\n  has    ${describeDoc(book.everOf(place))}\n  source ${describeDoc(doc)}`,
        );
      }
    }
  }

  #checkHas(book: SiteBook, place: string, doc: ModelDoc, rule: string): void {
    // What was lost may have been ended since by what was forgotten as well.
    if (isCovered(doc, book.docOf(place), book.horizon)) return;
    const ever = book.everOf(place);
    if (isCovered(doc, ever, book.horizon)) return;
    // And what was written into it at the source since it was ended here went with it.
    if (wasEnded(book, place, doc)) return;
    const [invariant = "", ...detail] = rule.split(": ");
    this.#fail(
      invariant,
      `${detail.join(": ")} ${place}\n  has    ${describeDoc(ever)}\n  source ${describeDoc(doc)}`,
    );
  }

  /** What matched when the last claim was made, and does not any more, has come once more (S51). */
  #checkLeft(
    book: SiteBook,
    life: Life,
    claim: Claim & {
      readonly name: string;
      readonly stream: string;
      readonly test: Rule["test"];
      readonly where: string;
    },
  ): void {
    const { name, stream, collection, txn, test, where } = claim;
    const fills = this.#fillsAt(stream, txn);
    const places = this.#followed.get(name) ?? new Map<string, Followed>();
    this.#followed.set(name, places);
    for (const [place, known] of places) {
      const now = life.at(place, txn);
      if (now?.fields !== undefined && test(now.fields)) continue;
      places.delete(place);
      const left = leftAt(life.entriesOf(place), test, known.txn, txn);
      // What did not match here either is not asked for when the log is lost.
      const isUnasked = fills > known.fills && !matchedSince(book, place, known.at, test);
      if (left?.fields === undefined) {
        // It was deleted; what it is now, if anything, is another document. Who was away until that
        // was forgotten at the source, and finds the log cut, cannot hear of it. A fill tells of the
        // document that took its place only if that matches or is asked for.
        const isForgotten = fills > known.fills && isOlder(now?.doc.dead, left?.doc.dead);
        const isReplaced = isUnasked && now?.fields !== undefined;
        const isReported = left !== undefined && !isForgotten && !isReplaced;
        if (isReported && !this.#hasDeletion(book, place, left.doc, { name, stream, txn })) {
          this.#fail("[S51] each deletion of a followed collection comes", `${where} ${place}`);
        }
      } else if (!isUnasked && now?.fields !== undefined && isKept(left, now, life)) {
        // What was UNSET and forgotten at the source meanwhile is not told by a fill.
        const horizon = fills > known.fills ? life.site.horizon : 0;
        const doc = withoutFloors(left.doc, horizon);
        this.#checkHas(book, place, doc, `[S51] what left has come once more: ${where}`);
      }
    }
    for (const place of life.placesOf(collection)) {
      const fields = life.at(place, txn)?.fields;
      if (fields === undefined || !test(fields)) continue;
      // The same again says nothing new.
      if ((places.get(place)?.txn ?? -1) < txn) places.set(place, { txn, at: book.txn, fills });
    }
  }

  /** Whether what ended a document there has ended it here, or there was nothing left to end. */
  #hasDeletion(
    book: SiteBook,
    place: string,
    { dead, seeded }: ModelDoc,
    { name, stream, txn }: Pick<Claim, "txn"> & { readonly name: string; readonly stream: string },
  ): boolean {
    if (dead[0] < 0) return true;
    const ever = book.everOf(place);
    if (!isOlder(ever.dead, dead)) return true;
    const start = this.#starts.get(stream) ?? NEVER_STARTED;
    const places = this.#passedOver.get(name) ?? new Map<string, PassedOver>();
    this.#passedOver.set(name, places);
    const known = places.get(place);
    // Deletes that old are forgotten here, and not taken where they end nothing.
    const isEnded = !isDocShown(book.docOf(place)) || isOlder(dead, ever.alive);
    if (dead[0] <= book.horizon && isEnded && !seeded) {
      if (!isOlder(dead, known?.dead)) places.set(place, { dead, starts: start.count });
      return true;
    }
    // Another store may have brought the document since. This one has told that it was deleted, and
    // tells it again only when it fills the query from the beginning.
    if (known === undefined || isOlder(known.dead, dead)) return false;
    return known.starts === start.count || txn <= start.txn;
  }

  /**
   * What the follower must have of a document. Floors behind its horizon at an earlier claim have come;
   * they come again only when the source fills the query from the beginning.
   */
  #withoutSentFloors(
    book: SiteBook,
    place: string,
    doc: ModelDoc,
    { name, stream, txn }: Pick<Claim, "txn"> & { readonly name: string; readonly stream: string },
  ): ModelDoc {
    const start = this.#starts.get(stream) ?? NEVER_STARTED;
    const places = this.#sentFloors.get(name) ?? new Map<string, SentFloors>();
    this.#sentFloors.set(name, places);
    const known = places.get(place);
    const wasSent = known !== undefined && (known.starts === start.count || txn <= start.txn);
    const starts = wasSent ? known.starts : start.count;
    places.set(place, { horizon: book.horizon, starts });
    return wasSent ? withoutFloors(doc, known.horizon) : doc;
  }

  #fail(invariant: string, detail: string): void {
    this.#parts.scheduler.fail(invariant, detail);
  }
}

function isOlder(a: ModelStamp = [-1, 0], b: ModelStamp = [-1, 0]): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

/** Whether a document was ended here by what may be forgotten. */
function wasEnded({ life, horizon }: SiteBook, place: string, { alive }: ModelDoc): boolean {
  const deaths = life?.entriesOf(place).map((entry) => entry.doc.dead) ?? [];
  return deaths.some((dead) => dead[0] >= 0 && dead[0] <= horizon && !isOlder(dead, alive));
}

/** Whether the source still has what left: it was not evicted there (S51, `drop`). */
function isKept(left: Entry, now: Entry, { site }: Life): boolean {
  return isCovered(left.doc, now.doc, site.horizon);
}

/** The first state that did not match or was none, after the last that did. */
function leftAt(
  entries: readonly Entry[],
  test: (fields: ValueObject) => boolean,
  since: number,
  txn: number,
): Entry | undefined {
  const span = entries.filter((entry) => entry.txn > since && entry.txn <= txn);
  const last = span.findLastIndex(({ fields }) => fields !== undefined && test(fields));
  return span[last + 1];
}

/** Whether a document has matched here at all times since a transaction of the own store. */
function matchedSince(
  { life }: SiteBook,
  place: string,
  since: number,
  test: (fields: ValueObject) => boolean,
): boolean {
  const entries = life?.entriesOf(place) ?? [];
  const first = entries.findLastIndex(({ txn }) => txn <= since);
  const span = entries.slice(Math.max(0, first));
  return first >= 0 && span.every(({ fields }) => fields !== undefined && test(fields));
}
