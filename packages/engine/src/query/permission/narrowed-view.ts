/**
 * NarrowedView: the documents that a caller may read, and nothing of the others.
 *
 * It is the one barrier between a narrowed caller and the store. Whatever runs on it, operators,
 * joins, aggregates, counts, warnings, system collections, sees only what passed. Each document is
 * judged as it shows, before an expression of the caller sees it, and each judgement counts against
 * the budget of the statement.
 *
 * An index tells values of documents without reading them. So the document of each entry is fetched
 * and judged as `scan` does it, also where the index alone could answer. And how long a lookup takes
 * tells how many documents lie in a range, whoever may read them: an index is walked only in the
 * ranges that the rule itself names, where it leads to no hidden document (P21).
 */

import { assert, getField, type MutableObject, setField, type Value } from "@bigpeer/protocol";
import { EMPTY_STATE } from "../../crdt/state.ts";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../store/index-entry.ts";
import type { Needed, ScanRange, StoredDocument, VersionedState, View } from "../../store/view.ts";
import type { DocumentView, Found, KnownValues } from "../frame/document-view.ts";
import { Pace } from "../frame/pace.ts";
import type { Judge } from "./judge.ts";
import { allowedRanges, keyedTuples, knownValuesOf } from "./rule-key.ts";

const NEVER_HELD: VersionedState = { state: EMPTY_STATE, version: 0 };

/** Numbers of collections begin at 1. Whoever has no number cannot read around this view with it. */
const NO_NUMBER = 0;

export class NarrowedView implements DocumentView {
  readonly #view: View;
  readonly #judge: Judge;

  constructor(view: View, judge: Judge) {
    this.#view = view;
    this.#judge = judge;
  }

  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined {
    return this.#readable(collection, this.#view.get(collection, id), needed);
  }

  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined {
    return this.#readable(collection, this.#view.getByKey(collection, idKey), needed);
  }

  /** Rules may read what the statement does not: what it does not need is left out afterwards. */
  #readable(
    collection: string,
    document: StoredDocument | undefined,
    needed: Needed | undefined,
  ): StoredDocument | undefined {
    if (document === undefined || !this.#judge.mayRead(collection, document)) return undefined;
    return partOf(document, needed?.fields);
  }

  *scan(collection: string, range?: ScanRange): Found<StoredDocument> {
    const { authority } = this.#judge;
    if (!authority.hasReadRule(collection)) return;
    if (authority.readRule(collection).isWhole) {
      yield* this.#view.scan(collection, range);
      return;
    }
    const pace = new Pace(this.#judge);
    for (const document of this.#view.scan(collection, { ...range, fields: undefined })) {
      const found = this.#readable(collection, document, range);
      if (found !== undefined) yield found;
      else if (pace.isPauseDue()) yield undefined;
    }
  }

  /** The number that the store keeps is that of all documents. */
  count(collection: string): number | undefined {
    const { isWhole } = this.#judge.authority.readRule(collection);
    return isWhole ? this.#view.count(collection) : undefined;
  }

  state(collection: string, id: Value): VersionedState {
    const document = this.get(collection, id);
    return document === undefined ? NEVER_HELD : this.#view.state(collection, id);
  }

  /** What there is a rule for is always known: else the caller would learn whether it exists. */
  collectionNumber(name: string): number | undefined {
    return this.#judge.authority.hasReadRule(name) ? NO_NUMBER : undefined;
  }

  /** Those with a document that may be read. */
  *collections(limit: number = Number.POSITIVE_INFINITY): Found<string> {
    let given = 0;
    for (const name of this.#view.collections()) {
      for (const document of this.scan(name)) {
        if (document === undefined) {
          yield undefined;
          continue;
        }
        if (given++ >= limit) return;
        yield name;
        break;
      }
    }
  }

  *indexes(): Found<IndexDefinition> {
    for (const name of this.collections()) {
      if (name === undefined) yield undefined;
      else yield* this.#view.indexes(name);
    }
  }

  /** Those in which the rule says where to look. Whoever has no rule finds no documents anyway. */
  indexesOf(collection: string): readonly IndexDefinition[] {
    const { authority } = this.#judge;
    if (!authority.hasReadRule(collection)) return [];
    const { isWhole, key } = authority.readRule(collection);
    if (isWhole) return this.#view.indexes(collection);
    if (key === undefined) return [];
    return this.#view.indexes(collection).filter((index) => keyedTuples(key, index) !== undefined);
  }

  knownValuesOf(collection: string): readonly KnownValues[] {
    const { key } = this.#judge.authority.readRule(collection);
    return key === undefined ? [] : knownValuesOf(key);
  }

  *scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry> {
    const { authority } = this.#judge;
    if (!authority.hasReadRule(index.collection)) return;
    const { isWhole, key } = authority.readRule(index.collection);
    if (isWhole) {
      yield* this.#view.scanIndex(index, range);
      return;
    }
    const tuples = key && keyedTuples(key, index);
    assert(tuples !== undefined, "an index in which the rule says where to look");
    const pace = new Pace(this.#judge);
    for (const allowed of allowedRanges(tuples, index, range)) {
      for (const entry of this.#view.scanIndex(index, allowed)) {
        if (this.getByKey(index.collection, entry.idKey) !== undefined) yield entry;
        else if (pace.isPauseDue()) yield undefined;
      }
    }
  }
}

/** What a caller without rules would be given: the rest would count against his memory. */
function partOf(document: StoredDocument, fields: Needed["fields"]): StoredDocument {
  if (fields === undefined) return document;
  const part: MutableObject = {};
  for (const name of fields) {
    const value = getField(document.fields, name);
    if (value !== undefined) setField(part, name, value);
  }
  return { ...document, fields: part };
}
