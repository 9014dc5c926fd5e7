/**
 * INSERT: turns evaluated documents into operations.
 *
 * First it checks what depends on the statement alone: shapes, ids, types. Then it looks up each
 * document, and the conflict policy decides. Nothing is written before everything is decided.
 */

import {
  type DocumentId,
  documentId,
  PeerError,
  type SetEdit,
  setField,
  stringifyJson,
  type Types,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { StateOperation } from "../../crdt/edit.ts";
import { added } from "../../list.ts";
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault, semanticFault } from "../fault.ts";
import type { Steps } from "../frame/steps.ts";
import { readDocument } from "../run/declared-read.ts";
import type { MutationOutcome, Typing } from "../run/execution.ts";
import type { ConflictPolicy } from "../syntax/tree.ts";
import { uuidOf } from "../uuid.ts";
import {
  type DatumObject,
  Failure,
  hasFloat,
  isDatumArray,
  isDatumObject,
  type MutableDatumObject,
  type Outcome,
  type PresentDatum,
  toValue,
} from "../value/datum.ts";
import { describeType } from "../value/mismatch.ts";
import { applyWrites, type MutationContext, readBack, transactionOf } from "./application.ts";
import { checkCounters } from "./counter-mistake.ts";
import type { Write } from "./document-size.ts";
import { localDiff, setEdit } from "./local-diff.ts";
import { findWholeFloat, type WholeFloat, warnOfWholeFloat } from "./whole-float.ts";
import { type Writer, writeMarks } from "./write-type.ts";

export interface InsertPlan {
  readonly collection: string;
  readonly typing: Typing;
  readonly isInitial: boolean;
  readonly conflict: ConflictPolicy;
  /** Whether RETURNING reads the documents back. */
  readonly isReturning: boolean;
  /** See Writer. */
  readonly isTokenInferred?: boolean;
  readonly at: number;
}

/** A document of a statement or a command. */
export interface Given {
  readonly id: Value;
  readonly key: string;
  /** The id was generated here: no other document has it. */
  readonly isNew: boolean;
  readonly fields: ValueObject;
  readonly types: Types | undefined;
  /** The first float that is stored as an integer. */
  readonly whole: WholeFloat | undefined;
}

export function* insertDocuments(
  plan: InsertPlan,
  rows: readonly Outcome[],
  execution: MutationContext,
): Steps<MutationOutcome> {
  return yield* writeGiven(plan, yield* checkRows(plan, rows, execution), execution);
}

/** Writes documents whose ids are all different. */
export function* writeGiven(
  plan: InsertPlan,
  given: readonly Given[],
  execution: MutationContext,
): Steps<MutationOutcome> {
  const { view } = execution;
  let writes: Write[] | undefined;
  let written: Value[] | undefined;
  let isWarned = false;
  let isFirst = true;
  for (const document of given) {
    if (!isFirst) yield;
    isFirst = false;
    const write = decide(document, plan, execution);
    if (write === undefined) continue;
    written = added(written, document.id);
    if (document.whole !== undefined && !isWarned) {
      warnOfWholeFloat(document.whole, execution.warnings, document.id);
      isWarned = true;
    }
    // An update without edits writes nothing, but the document counts as written.
    if (hasEffect(write)) writes = added(writes, write);
  }
  yield* checkCountersOf(writes ?? [], plan, execution);
  const outcomes = yield* applyWrites(writes ?? [], execution, plan.at);
  const all = written ?? [];
  const ids = plan.isInitial ? all.filter((_, i) => outcomes[i] === "applied") : all;
  const place = { view, collection: plan.collection };
  const documents = plan.isReturning ? yield* readBack(ids, plan.typing, place) : [];
  return { ids, documents };
}

/** After the permission checks of all documents: a mistake in one must not reveal others. */
function* checkCountersOf(
  writes: readonly Write[],
  { typing: { isStrict }, isTokenInferred, at }: InsertPlan,
  { warnings }: MutationContext,
): Steps<void> {
  // Commands return no warnings, and have their own syntax for counters.
  if (isTokenInferred === false) return;
  let isFirst = true;
  for (const { operation, before } of writes) {
    if (!isFirst) yield;
    isFirst = false;
    if (operation.kind !== "update" || before === undefined) continue;
    checkCounters(operation.edits, before, { isStrict, warnings, at });
  }
}

function hasEffect({ operation }: Write): boolean {
  return operation.kind !== "update" || operation.edits.length > 0;
}

function* checkRows(
  plan: InsertPlan,
  rows: readonly Outcome[],
  execution: MutationContext,
): Steps<Given[]> {
  const given: Given[] = [];
  const keys = new Set<string>();
  for (const datum of documentsOf(rows, plan.at)) {
    if (given.length > 0) yield;
    const document = checkDocument(datum, plan, execution);
    if (keys.has(document.key)) {
      const message = `expected unique document ids, found ${stringifyJson(document.id)} twice`;
      throw semanticFault(message, plan.at);
    }
    keys.add(document.key);
    given.push(document);
    execution.run.budget.step();
  }
  return given;
}

/** The documents of the rows; an array contains several. */
function* documentsOf(rows: readonly Outcome[], at: number): Iterable<DatumObject> {
  for (const row of rows) {
    if (row instanceof Failure) {
      throw semanticFault(`cannot evaluate a document: ${row.reason}`, row.at ?? at);
    }
    if (!isDatumArray(row)) {
      yield expectObject(row, at);
      continue;
    }
    if (row.length === 0) throw semanticFault("expected a document, found an empty array", at);
    for (const element of row) yield expectObject(element, at);
  }
}

function expectObject(datum: Exclude<Outcome, Failure>, at: number): DatumObject {
  if (isDatumObject(datum)) return datum;
  throw semanticFault(`expected a document (an object), found ${describeType(datum)}`, at);
}

function checkDocument(datum: DatumObject, plan: InsertPlan, execution: MutationContext): Given {
  const { at } = plan;
  const id = Object.hasOwn(datum, "_id") ? checkId(datum["_id"] as PresentDatum, at) : undefined;
  return givenDocument(id, id === undefined ? datum : withoutId(datum), plan, execution);
}

/** A document to write; generates an id if there is none. */
export function givenDocument(
  known: DocumentId | undefined,
  fields: DatumObject,
  { typing, isTokenInferred = true, at }: InsertPlan,
  { run }: MutationContext,
): Given {
  const { id, key } = known ?? documentId(uuidOf((size) => run.platform.random(size)));
  const writer: Writer = { typing, clause: "insert", isTokenInferred, at };
  const types = writeMarks(fields, typing.types ?? {}, [], writer);
  const isNew = known === undefined;
  const stored = toValue(fields) as ValueObject;
  const whole = findWholeFloat(fields, stored, []);
  return { id, key, isNew, fields: stored, types, whole };
}

function checkId(datum: PresentDatum, at: number): DocumentId {
  if (datum === null) throw semanticFault("expected an _id, found null", at);
  // 1.0 is a float until it is stored.
  if (hasFloat(datum)) throw semanticFault("expected an _id without floats", at);
  try {
    return documentId(datum);
  } catch (error) {
    if (error instanceof PeerError) throw semanticFault(error.message, at);
    throw error;
  }
}

export function withoutId(datum: DatumObject): DatumObject {
  const fields: MutableDatumObject = {};
  for (const name of Object.keys(datum)) {
    if (name !== "_id") setField(fields, name, datum[name] as PresentDatum);
  }
  return fields;
}

/** The write of a given document; undefined when it is skipped. */
function decide(given: Given, plan: InsertPlan, execution: MutationContext): Write | undefined {
  const transaction = transactionOf(execution);
  const { collection } = plan;
  const { id, fields } = given;
  const before = given.isNew ? undefined : transaction.get(collection, id);
  if (before !== undefined) {
    // First, for every policy: without write permission the caller must not learn that it exists.
    execution.checker?.requireWritable(collection, before);
    return plan.isInitial ? undefined : meet(given, before, plan, execution);
  }
  const kind = plan.isInitial ? "initial" : "insert";
  const { types } = given;
  const operation: StateOperation =
    types === undefined
      ? { kind, collection, id, fields }
      : { kind, collection, id, fields, types };
  return { operation, before };
}

/** Resolves a conflict with an existing document. */
function meet(
  given: Given,
  before: StoredDocument,
  plan: InsertPlan,
  execution: MutationContext,
): Write | undefined {
  const { collection } = plan;
  const update = (edits: readonly SetEdit[]): Write => {
    return { operation: { kind: "update", collection, id: given.id, edits }, before };
  };
  switch (plan.conflict) {
    case "fail": {
      const which = `a document with the _id ${stringifyJson(given.id)} exists already`;
      const hint = "write ON ID CONFLICT DO UPDATE or DO NOTHING to allow it";
      throw evaluationFault(which, plan.at, hint);
    }
    case "nothing":
      return undefined;
    case "update":
    case "merge":
      return update(setEdits(given));
    case "update_local_diff": {
      const { view } = execution;
      const edits = localDiff(given, readDocument(before, plan.typing, { view, collection }));
      return edits.length === 0 ? undefined : update(edits);
    }
    default:
      return unreachable(plan.conflict);
  }
}

/** An upsert of a visible document is an update: a concurrent delete unknown here wins. */
function setEdits({ fields, types }: Given): SetEdit[] {
  return Object.keys(fields).length === 0 ? [] : [setEdit([], fields, types)];
}
