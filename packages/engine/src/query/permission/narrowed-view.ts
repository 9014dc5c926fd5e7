/**
 * NarrowedView: read view of only those documents that a caller may read (row-level security).
 *
 * It is the only barrier between a restricted caller and the store: operators, joins, aggregates,
 * counts, warnings and system collections see only what passes it. Each document is checked with
 * its visible values before an expression of the caller sees it. Each check counts against the
 * statement's budget.
 *
 * An index reveals values without a read of documents. So the document of each entry is fetched and
 * checked, even if the index is covering. The time of a lookup reveals how many documents are in a
 * range, readable or not. So an index is read only in the ranges that the rule itself names, which
 * contain no hidden document (P21).
 */

import { assert, getField, type MutableObject, setField, type Value } from "@bigpeer/protocol";
import { EMPTY_STATE } from "../../crdt/state.ts";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../store/index-entry.ts";
import type { Needed, ScanRange, StoredDocument, VersionedState, View } from "../../store/view.ts";
import type { DocumentView, Found, KnownValues } from "../frame/document-view.ts";
import { Pace } from "../frame/pace.ts";
import type { DocumentChecks } from "./caller-rules.ts";
import { allowedRanges, keyedTuples, knownValuesOf } from "./rule-key.ts";

const NEVER_HELD: VersionedState = { state: EMPTY_STATE, version: 0 };

/** Collection numbers begin at 1. Without the number, a caller cannot bypass this view. */
const NO_NUMBER = 0;

export class NarrowedView implements DocumentView {
  readonly #view: View;
  readonly #checker: DocumentChecks;

  constructor(view: View, checker: DocumentChecks) {
    this.#view = view;
    this.#checker = checker;
  }

  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined {
    return this.#readable(collection, this.#view.get(collection, id), needed);
  }

  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined {
    return this.#readable(collection, this.#view.getByKey(collection, idKey), needed);
  }

  /** Rules may read fields that the statement does not: these are removed afterwards. */
  #readable(
    collection: string,
    document: StoredDocument | undefined,
    needed: Needed | undefined,
  ): StoredDocument | undefined {
    if (document === undefined || !this.#checker.mayRead(collection, document)) return undefined;
    return partOf(document, needed?.fields);
  }

  *scan(collection: string, range?: ScanRange): Found<StoredDocument> {
    const { authority } = this.#checker;
    if (!authority.hasReadRule(collection)) return;
    if (authority.readRule(collection).isWhole) {
      yield* this.#view.scan(collection, range);
      return;
    }
    const pace = new Pace(this.#checker);
    for (const document of this.#view.scan(collection, { ...range, fields: undefined })) {
      const found = this.#readable(collection, document, range);
      if (found !== undefined) yield found;
      else if (pace.isPauseDue()) yield undefined;
    }
  }

  /** The stored count includes hidden documents. */
  count(collection: string): number | undefined {
    const { isWhole } = this.#checker.authority.readRule(collection);
    return isWhole ? this.#view.count(collection) : undefined;
  }

  state(collection: string, id: Value): VersionedState {
    const document = this.get(collection, id);
    return document === undefined ? NEVER_HELD : this.#view.state(collection, id);
  }

  /** A collection with a rule counts as known: the caller must not learn whether it exists. */
  collectionNumber(name: string): number | undefined {
    return this.#checker.authority.hasReadRule(name) ? NO_NUMBER : undefined;
  }

  /** The collections with a readable document. */
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

  /** The indexes that the rule narrows to ranges; without a rule nothing is readable. */
  indexesOf(collection: string): readonly IndexDefinition[] {
    const { authority } = this.#checker;
    if (!authority.hasReadRule(collection)) return [];
    const { isWhole, key } = authority.readRule(collection);
    if (isWhole) return this.#view.indexes(collection);
    if (key === undefined) return [];
    return this.#view.indexes(collection).filter((index) => keyedTuples(key, index) !== undefined);
  }

  knownValuesOf(collection: string): readonly KnownValues[] {
    const { key } = this.#checker.authority.readRule(collection);
    return key === undefined ? [] : knownValuesOf(key);
  }

  *scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry> {
    const { authority } = this.#checker;
    if (!authority.hasReadRule(index.collection)) return;
    const { isWhole, key } = authority.readRule(index.collection);
    if (isWhole) {
      yield* this.#view.scanIndex(index, range);
      return;
    }
    const tuples = key && keyedTuples(key, index);
    assert(tuples !== undefined, "an index in which the rule says where to look");
    const pace = new Pace(this.#checker);
    for (const allowed of allowedRanges(tuples, index, range)) {
      for (const entry of this.#view.scanIndex(index, allowed)) {
        if (this.getByKey(index.collection, entry.idKey) !== undefined) yield entry;
        else if (pace.isPauseDue()) yield undefined;
      }
    }
  }
}

/** Only the fields that are read, so that others do not count against the caller's memory. */
function partOf(document: StoredDocument, fields: Needed["fields"]): StoredDocument {
  if (fields === undefined) return document;
  const part: MutableObject = {};
  for (const name of fields) {
    const value = getField(document.fields, name);
    if (value !== undefined) setField(part, name, value);
  }
  return { ...document, fields: part };
}
