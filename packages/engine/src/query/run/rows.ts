/**
 * compileRows: executes the FROM, JOIN and WHERE of a plan and hands each row on as a frame.
 *
 * The runner pulls documents and joins, so a statement can pause or stop between any two of them.
 * The stages behind are pushed: filters and groups are sinks that hand rows on to the next. All
 * rows share one frame: a stage that keeps a part of a row copies it. Each document counts against
 * the budget.
 */

import { assert, documentId, type Types, type Value } from "@bigpeer/protocol";
import type { Needed, StoredDocument } from "../../store/view.ts";
import { compile } from "../compile/expression.ts";
import type { Found } from "../frame/document-view.ts";
import type { Frame, Slot } from "../frame/frame.ts";
import { WORK_PER_PAUSE } from "../frame/pace.ts";
import type { Steps } from "../frame/steps.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { Chosen, IdsAccess } from "../plan/access.ts";
import type { RowsPlan, SourcePlan } from "../plan/plan.ts";
import { suspectsOf } from "../plan/suspect.ts";
import type { Expression } from "../syntax/tree.ts";
import type { SystemCollection } from "../system/system-collections.ts";
import { Failure } from "../value/datum.ts";
import { chooseFor, neededOf } from "./choose.ts";
import { getDocument, readDocument } from "./declared-read.ts";
import type { DocumentReader, Reading } from "./document-reader.ts";
import { type Execution, warnOf } from "./execution.ts";
import { compileIds, idsIn, type NamedIdValues } from "./ids.ts";
import { findDocuments } from "./index-walk.ts";
import { compileJoin } from "./join.ts";
import type { Pull, Sink } from "./row-stream.ts";
import { profiled, type Stage } from "./stage.ts";
import { compileUnnest } from "./unnest.ts";

export interface RowSource {
  /** The access path of the first term, given the current indexes. */
  choose(execution: Execution): Chosen;
  pull(execution: Execution, frame: Frame, reading: Reading): Pull;
  readonly stages: readonly Stage[];
}

export function compileRows(plan: RowsPlan): RowSource {
  const { source, joins, where, wish } = plan;
  const stages = where === undefined ? [] : [profiled(where, filterStage(where, plan))];
  const documents = compileReader(source);
  const steps = joins.map((join) =>
    join.type === "unnest" ? compileUnnest(join) : compileJoin(join, compileReader(join.source)),
  );
  const nodes = [source, ...joins];
  const pull = (execution: Execution, frame: Frame, reading: Reading): Pull => {
    const { profile } = execution;
    const found = pullDocuments(documents(execution, frame, reading), source.slot, frame);
    const first = profile === undefined ? found : profile.pull(source, found);
    return steps.reduce((left, step, i) => {
      const rows = step(execution, frame, left);
      return profile === undefined ? rows : profile.pull(nodes[i + 1] as object, rows, nodes[i]);
    }, first);
  };
  return { choose: (execution) => chooseFor(source, wish, execution), pull, stages };
}

function pullDocuments(documents: Found<RowDocument>, slot: number, frame: Frame): Pull {
  return { [Symbol.iterator]: () => new DocumentPull(documents, slot, frame) };
}

const ROW: IteratorResult<boolean> = { done: false, value: true };
const PAUSE: IteratorResult<boolean> = { done: false, value: false };
const END: IteratorResult<boolean> = { done: true, value: undefined };

/** Works as a generator would, without an object for each row. */
class DocumentPull implements Iterator<boolean> {
  readonly #documents: Iterator<RowDocument | undefined>;
  readonly #slot: number;
  readonly #slots: Slot[];

  constructor(documents: Found<RowDocument>, slot: number, { slots }: Frame) {
    this.#documents = documents[Symbol.iterator]();
    this.#slot = slot;
    this.#slots = slots;
  }

  next(): IteratorResult<boolean> {
    const { done, value } = this.#documents.next();
    if (done === true) return END;
    if (value === undefined) return PAUSE;
    this.#slots[this.#slot] = value;
    return ROW;
  }

  /** Stops: no more rows are wanted. */
  return(): IteratorResult<boolean> {
    this.#documents.return?.();
    return END;
  }
}

function filterStage(where: Expression, plan: RowsPlan): Stage {
  const condition = compile(where);
  const suspects = suspectsOf(plan);
  const { slot } = plan.source;
  return (execution, next) => {
    const watch = suspects && execution.lookout?.watch(suspects);
    const row = (frame: Frame): boolean => {
      const outcome = condition(frame);
      if (outcome === true) {
        if (watch !== undefined) watch.isMatched = true;
        return next.row(frame);
      }
      watch?.look(frame.slots);
      if (outcome instanceof Failure) warnOf(execution, outcome, frame.slots[slot]);
      return true;
    };
    return { row, end: () => next.end() };
  };
}

/** Rows after which a run may pause; see also WORK_PER_PAUSE. */
const ROWS_PER_PAUSE = 16;

/** Drives all rows through the stages into the last sink, with pauses (`Platform.pause`). */
export function* driveRows(
  { source, reading }: { readonly source: RowSource; readonly reading: Reading },
  execution: Execution,
  frame: Frame,
  last: Sink,
): Steps<void> {
  const sink = source.stages.reduceRight((next, stage) => stage(execution, next), last);
  const { budget, subqueries } = execution.run;
  const { warnings } = execution;
  let rows = 0;
  let paused = budget.work;
  const pull =
    subqueries === undefined
      ? source.pull(execution, frame, reading)
      : yield* subqueries.attempt(() => source.pull(execution, frame, reading), warnings);
  for (const isRow of pull) {
    budget.startRow();
    budget.step();
    if (isRow) {
      const goesOn =
        subqueries === undefined
          ? sink.row(frame)
          : yield* subqueries.attempt(() => sink.row(frame), warnings);
      if (!goesOn) break;
    }
    if (isRow && ++rows % ROWS_PER_PAUSE !== 0 && budget.work - paused < WORK_PER_PAUSE) continue;
    paused = budget.work;
    yield;
  }
  budget.endPiece();
  yield* sink.end();
}

const WHOLE: Needed = {};

function compileReader(source: SourcePlan): DocumentReader {
  const { collection, types } = source;
  if (collection.kind === "system") return compileSystemReader(collection.collection, source);
  if (collection.kind === "query") {
    const { plan } = collection;
    return ({ run }) => {
      assert(run.subqueries !== undefined, "a statement whose queries can run");
      return run.subqueries.documents(plan);
    };
  }
  const { name } = collection;
  const lookedUp = source.ids && compileLookUp(source.ids, name, types);
  const partly = neededOf(source, false);
  return (execution, frame, { access, wanted }) => {
    if (lookedUp !== undefined) return lookedUp(execution, frame);
    const { view, isStrict } = execution;
    const needed = isStrict ? WHOLE : partly;
    const search = { execution, frame, collection: name, wanted, needed };
    const documents = findDocuments(access, search);
    if (types === undefined && !isStrict) return documents;
    const typing = { isStrict, types };
    const place = { view, collection: name };
    return mapped(documents, (document) => readDocument(document, typing, place));
  };
}

function compileSystemReader({ rows }: SystemCollection, source: SourcePlan): DocumentReader {
  if (source.ids === undefined) return ({ system }) => rows(system);
  const ids = compileIds(source.ids);
  return (execution, frame) => pick(rows(execution.system), ids(frame));
}

function compileLookUp(
  access: IdsAccess,
  name: string,
  types: Types | undefined,
): (execution: Execution, frame: Frame) => Found<RowDocument> {
  const ids = compileIds(access);
  return ({ view, isStrict }, frame) => {
    const typing = { isStrict, types };
    const place = { view, collection: name };
    const wanted = ids(frame);
    if (!isFew(wanted)) return lookUp(wanted, (id) => getDocument(id, typing, place));
    const [only] = wanted;
    // The most frequent case, without a generator.
    const document = only === undefined ? undefined : getDocument(only, typing, place);
    return document === undefined ? [] : [document];
  };
}

function* mapped(
  documents: Found<StoredDocument>,
  see: (document: StoredDocument) => StoredDocument,
): Found<StoredDocument> {
  for (const document of documents) yield document && see(document);
}

/** Ids without a document after which a pause is offered. */
const ABSENT_PER_PAUSE = 64;

/** At most one id. */
function isFew(named: NamedIdValues): named is readonly Value[] {
  return Array.isArray(named) && named.length < 2;
}

function* lookUp(
  named: NamedIdValues,
  get: (id: Value) => StoredDocument | undefined,
): Found<StoredDocument> {
  let absent = 0;
  for (const id of yield* idsIn(named)) {
    const document = get(id);
    if (document !== undefined || ++absent % ABSENT_PER_PAUSE === 0) yield document;
  }
}

/** Rows of a system collection by id: no store can look them up. */
function* pick(documents: Found<StoredDocument>, named: NamedIdValues): Found<StoredDocument> {
  const byKey = new Map<string, StoredDocument>();
  for (const document of documents) {
    if (document === undefined) yield undefined;
    else byKey.set(documentId(document.id).key, document);
  }
  let absent = 0;
  for (const id of yield* idsIn(named)) {
    const document = byKey.get(documentId(id).key);
    if (document !== undefined || ++absent % ABSENT_PER_PAUSE === 0) yield document;
  }
}
