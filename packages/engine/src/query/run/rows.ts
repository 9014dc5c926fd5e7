/**
 * Rows: follows a plan and hands each row on as a frame.
 *
 * Documents and joins are pulled by whoever runs the statement; so a long one can be interrupted, or
 * paused, between any two of them. Everything behind is pushed: filter and groups are sinks that
 * hand rows on to the next. One frame serves all rows: whoever keeps something of a row takes it
 * out. Each document looked at counts against the budget.
 */

import { assert, documentId, type Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { compile } from "../compile/expression.ts";
import type { Found } from "../frame/document-view.ts";
import type { Evaluate, Frame, Slot } from "../frame/frame.ts";
import { WORK_PER_PAUSE } from "../frame/pace.ts";
import type { Steps } from "../frame/steps.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { RowsPlan, SourcePlan } from "../plan/plan.ts";
import { Failure } from "../value/datum.ts";
import { getDocument, readDocument } from "./declared-read.ts";
import { type Execution, warnOf } from "./execution.ts";
import { compileIds } from "./ids.ts";
import { compileJoin } from "./join.ts";
import { compileUnnest } from "./unnest.ts";

export interface Sink {
  /** Takes a row; false when it wants no more. */
  row(frame: Frame): boolean;
  /** All rows were given, or no more are wanted. Called once; offers pauses. */
  end(): Iterable<void>;
}

/** A part of the way of a row: takes rows and hands others to the next sink. */
export type Stage = (execution: Execution, next: Sink) => Sink;

/**
 * Rows that are being pulled: true when the next one stands in the frame, false where nothing was
 * found yet and a pause would do no harm.
 */
export type Pull = Iterable<boolean>;

export interface RowSource {
  pull(execution: Execution, frame: Frame): Pull;
  readonly stages: readonly Stage[];
}

/** The documents of one term, as the statement sees them. */
export type DocumentReader = (execution: Execution, frame: Frame) => Found<RowDocument>;

export function compileRows({ source, joins, where }: RowsPlan): RowSource {
  const stages = where === undefined ? [] : [filterStage(compile(where), source.slot)];
  const documents = compileReader(source);
  const steps = joins.map((join) =>
    join.type === "unnest" ? compileUnnest(join) : compileJoin(join, compileReader(join.source)),
  );
  const pull = (execution: Execution, frame: Frame): Pull =>
    steps.reduce(
      (left, step) => step(execution, frame, left),
      pullDocuments(documents(execution, frame), source.slot, frame),
    );
  return { pull, stages };
}

function pullDocuments(documents: Found<RowDocument>, slot: number, frame: Frame): Pull {
  return { [Symbol.iterator]: () => new DocumentPull(documents, slot, frame) };
}

const ROW: IteratorResult<boolean> = { done: false, value: true };
const PAUSE: IteratorResult<boolean> = { done: false, value: false };
const END: IteratorResult<boolean> = { done: true, value: undefined };

/** As a generator would do it, without an object for each row. */
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

  /** No more rows are wanted. */
  return(): IteratorResult<boolean> {
    this.#documents.return?.();
    return END;
  }
}

function filterStage(condition: Evaluate, slot: number): Stage {
  return (execution, next) => ({
    row(frame) {
      const outcome = condition(frame);
      if (outcome === true) return next.row(frame);
      if (outcome instanceof Failure) warnOf(execution, outcome, frame.slots[slot]);
      return true;
    },
    end: () => next.end(),
  });
}

/** Rows after which a run may be paused; see also WORK_PER_PAUSE. */
const ROWS_PER_PAUSE = 16;

/** Drives all rows through the stages into the last sink. Pauses now and then; see `Platform.pause`. */
export function* driveRows(
  source: RowSource,
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
      ? source.pull(execution, frame)
      : yield* subqueries.attempt(() => source.pull(execution, frame), warnings);
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

function compileReader(source: SourcePlan): DocumentReader {
  const { collection, access, types } = source;
  if (collection.kind === "system") {
    const { rows } = collection.collection;
    if (access.kind === "scan") return ({ system }) => rows(system);
    const ids = compileIds(access);
    return (execution, frame) => pick(rows(execution.system), ids(frame));
  }
  if (collection.kind === "query") {
    const { plan } = collection;
    return ({ run }) => {
      assert(run.subqueries !== undefined, "a statement whose queries can run");
      return run.subqueries.documents(plan);
    };
  }
  const { name } = collection;
  if (access.kind === "scan") {
    return ({ view, isStrict }) => {
      const documents = view.scan(name);
      if (types === undefined && !isStrict) return documents;
      const typing = { isStrict, types };
      const place = { view, collection: name };
      return mapped(documents, (document) => readDocument(document, typing, place));
    };
  }
  const ids = compileIds(access);
  return ({ view, isStrict }, frame) => {
    const typing = { isStrict, types };
    const place = { view, collection: name };
    const wanted = ids(frame);
    const only = wanted[0];
    if (wanted.length > 1) return lookUp(wanted, (id) => getDocument(id, typing, place));
    // What most statements ask for, without a generator.
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

function* lookUp(
  ids: readonly Value[],
  get: (id: Value) => StoredDocument | undefined,
): Found<StoredDocument> {
  let absent = 0;
  for (const id of ids) {
    const document = get(id);
    if (document !== undefined || ++absent % ABSENT_PER_PAUSE === 0) yield document;
  }
}

/** Rows of a system collection by id: they are in no store that could be asked. */
function* pick(documents: Found<StoredDocument>, ids: readonly Value[]): Found<StoredDocument> {
  const byKey = new Map<string, StoredDocument>();
  for (const document of documents) {
    if (document === undefined) yield undefined;
    else byKey.set(documentId(document.id).key, document);
  }
  for (const id of ids) {
    const document = byKey.get(documentId(id).key);
    if (document !== undefined) yield document;
  }
}
