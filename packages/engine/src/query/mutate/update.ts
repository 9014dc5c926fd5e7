/**
 * UPDATE: turns selected documents into edits.
 *
 * Right sides see the row before the update. Mistakes in the statement itself, such as a repeated
 * path or an edit of the id, are reported only if there is a document to update: a statement that
 * selects none is no error.
 */

import {
  documentId,
  type Edit,
  getField,
  normalInteger,
  type TypeMark,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault } from "../fault.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { attempted } from "../run/attempt.ts";
import type { MutationOutcome, Typing } from "../run/execution.ts";
import { printPath } from "../syntax/print-path.ts";
import {
  approximate,
  Failure,
  isInteger,
  isNumeric,
  type PresentDatum,
  toValue,
} from "../value/datum.ts";
import { describeType } from "../value/mismatch.ts";
import { applyWrites, type MutationContext, readBack, transactionOf } from "./application.ts";
import { checkCounters } from "./counter-mistake.ts";
import type { Write } from "./document-size.ts";
import {
  checkTargets,
  covers,
  type EditTarget,
  type Overlap,
  writtenTwice,
} from "./edit-target.ts";
import { isMap, setEdit } from "./local-diff.ts";
import { findWholeFloat, type WholeFloat, warnOfWholeFloat } from "./whole-float.ts";
import { targetType, typeName, writeMark } from "./write-type.ts";

export interface ApplyEdit extends EditTarget {
  readonly method: "increment" | "pn_increment" | "restart";
  /** Absent for RESTART without WITH. */
  readonly value?: Evaluate;
}

export interface SetTarget extends EditTarget {
  readonly value: Evaluate;
}

export interface UpdatePlan {
  readonly collection: string;
  /** The slot of the document in a row. */
  readonly slot: number;
  readonly typing: Typing;
  readonly apply: readonly ApplyEdit[];
  readonly set: readonly SetTarget[];
  readonly unset: readonly EditTarget[];
  /** Whether RETURNING reads the documents back. */
  readonly isReturning: boolean;
}

export function* updateDocuments(
  plan: UpdatePlan,
  rows: readonly Frame[],
  execution: MutationContext,
): Steps<MutationOutcome> {
  if (rows.length === 0) return { ids: [], documents: [] };
  const transaction = transactionOf(execution);
  const { collection } = plan;
  const checked = checkedUpdate(plan);
  const { budget } = execution.run;
  const { isStrict } = plan.typing;
  const { warnings } = execution;
  const writes = new Map<string, Write>();
  let isWarned = false;
  for (const [i, row] of rows.entries()) {
    if (i > 0) yield;
    budget.step();
    const { id } = row.slots[plan.slot] as StoredDocument;
    const { key } = documentId(id);
    // Reads the document, since the write depends on it; a repeated document is written once.
    const before = transaction.get(collection, id);
    if (before === undefined || writes.has(key)) continue;
    budget.startPiece();
    const { edits, whole } = yield* attempted(() => editsOf(checked, row, before), execution);
    if (whole !== undefined && !isWarned) {
      warnOfWholeFloat(whole, warnings, id);
      isWarned = true;
    }
    checkCounters(edits, before, { isStrict, warnings, at: checked.at });
    writes.set(key, { operation: { kind: "update", collection, id, edits }, before });
  }
  budget.endPiece();
  const all = [...writes.values()];
  yield* applyWrites(all, execution, checked.at);
  const ids = all.map(({ operation }) => operation.id);
  const place = { view: execution.view, collection };
  const documents = plan.isReturning ? yield* readBack(ids, plan.typing, place) : [];
  return { ids, documents };
}

/** The plan with the checks that are the same for all rows. */
interface CheckedUpdate {
  readonly plan: UpdatePlan;
  /** The declared type of each target of SET, in order. */
  readonly setTypes: readonly (TypeMark | undefined)[];
  readonly overlaps: readonly Overlap<EditTarget>[];
  readonly at: number | undefined;
}

/** A prepared statement has the same plan in all its runs. */
const known = new WeakMap<UpdatePlan, CheckedUpdate>();

function checkedUpdate(plan: UpdatePlan): CheckedUpdate {
  let checked = known.get(plan);
  if (checked === undefined) {
    checked = checkUpdate(plan);
    known.set(plan, checked);
  }
  return checked;
}

function checkUpdate(plan: UpdatePlan): CheckedUpdate {
  const { apply, set, unset, typing } = plan;
  const targets: EditTarget[] = [...apply, ...set, ...unset];
  const overlaps = checkTargets(targets);
  for (const item of apply) checkCounterTarget(item, typing);
  for (const { path, at } of unset) targetType(path, typing, at);
  const setTypes = set.map(({ path, at }) => targetType(path, typing, at));
  return { plan, setTypes, overlaps, at: targets[0]?.at };
}

function counterOfMethod(method: ApplyEdit["method"]): "counter" | "pn_counter" {
  return method === "pn_increment" ? "pn_counter" : "counter";
}

function checkCounterTarget({ path, method, at }: ApplyEdit, typing: Typing): void {
  const declared = targetType(path, typing, at);
  const counter = counterOfMethod(method);
  if (declared === counter || (declared === undefined && !typing.isStrict)) return;
  const found = declared === undefined ? "not declared" : `declared as ${typeName(declared)}`;
  const needed = `${method.toUpperCase()} needs a ${typeName(counter)}`;
  throw evaluationFault(`${printPath(path)} is ${found}, but ${needed}`, at);
}

interface WrittenValue {
  readonly value: Value;
  readonly mark: TypeMark | undefined;
}

interface DocumentEdits {
  readonly edits: Edit[];
  /** The first float that is stored as an integer. */
  readonly whole: WholeFloat | undefined;
}

function editsOf(
  { plan, setTypes, overlaps }: CheckedUpdate,
  row: Frame,
  before: StoredDocument,
): DocumentEdits {
  const edits: Edit[] = plan.apply.map((item) => counterEdit(item, row));
  let whole: WholeFloat | undefined;
  const written = new Map<EditTarget, WrittenValue>();
  for (const [i, item] of plan.set.entries()) {
    const { path, at } = item;
    const datum = present(item.value, row, item);
    const mark = writeMark(datum, setTypes[i], path, { typing: plan.typing, clause: "set", at });
    const value = toValue(datum);
    whole ??= findWholeFloat(datum, value, path);
    written.set(item, { value, mark });
    edits.push(setEdit(path, value, mark));
  }
  for (const { above, below } of overlaps) {
    const set = written.get(above);
    const steps = below.path.slice(above.path.length);
    if (set === undefined || covers(set.value, set.mark, steps)) throw writtenTwice(below);
  }
  edits.push(...unsetEdits(plan, before));
  return { edits, whole };
}

/** The value of the right side; throws a fault that names the field. */
function present(evaluate: Evaluate, row: Frame, { path, at }: EditTarget): PresentDatum {
  const datum = evaluate(row);
  if (datum instanceof Failure) {
    const message = `cannot evaluate the value for ${printPath(path)}: ${datum.reason}`;
    throw evaluationFault(message, datum.at ?? at);
  }
  if (datum !== undefined) return datum;
  const message = `the value for ${printPath(path)} is MISSING; use UNSET to remove a field`;
  throw evaluationFault(message, at);
}

function counterEdit(item: ApplyEdit, row: Frame): Edit {
  const { path, method } = item;
  const amount = item.value === undefined ? 0 : present(item.value, row, item);
  const counter = counterOfMethod(method);
  switch (method) {
    case "increment":
      return { kind: "increment", path, by: integerOf(amount, item), counter };
    case "pn_increment":
      return { kind: "increment", path, by: finiteOf(amount, item), counter };
    case "restart":
      return { kind: "restart", path, value: integerOf(amount, item), counter };
    default:
      return unreachable(method);
  }
}

function integerOf(amount: PresentDatum, item: ApplyEdit): number | bigint {
  if (isInteger(amount)) return typeof amount === "bigint" ? normalInteger(amount) : amount;
  throw wrongAmount("an integer", amount, item);
}

function finiteOf(amount: PresentDatum, item: ApplyEdit): number {
  if (isNumeric(amount) && Number.isFinite(approximate(amount))) return approximate(amount);
  throw wrongAmount("a finite number", amount, item);
}

function wrongAmount(expected: string, found: PresentDatum, item: ApplyEdit): Error {
  const what = `${item.method.toUpperCase()} of ${printPath(item.path)}`;
  return evaluationFault(`${what}: expected ${expected}, found ${describeType(found)}`, item.at);
}

function unsetEdits(plan: UpdatePlan, before: StoredDocument): Edit[] {
  const edits: Edit[] = [];
  for (const { path } of plan.unset) {
    const register = registerAbove(path, before, plan.typing);
    edits.push(
      register === undefined ? unsetEdit(path, plan.typing) : setEdit(register, {}, undefined),
    );
  }
  return edits;
}

/** Through maps that are all declared, UNSET reaches the hidden variant, as SET does. */
function unsetEdit(path: readonly string[], { types }: Typing): Edit {
  let declared: TypeMark | undefined = types;
  for (const name of path.slice(0, -1)) {
    declared = typeof declared === "object" ? markOf(declared, name) : undefined;
    if (declared !== "map" && typeof declared !== "object") return { kind: "unset", path };
  }
  return path.length > 1 ? { kind: "unset", path, isDeclared: true } : { kind: "unset", path };
}

/**
 * The first object on the path that is a register. Like a SET below it, an UNSET below it turns it
 * into a map; an unset operation alone has no effect there.
 */
function registerAbove(
  path: readonly string[],
  { fields, types }: StoredDocument,
  typing: Typing,
): readonly string[] | undefined {
  let value: Value | undefined = fields;
  let mark: TypeMark | undefined = types;
  let declared: TypeMark | undefined = typing.types;
  for (const [i, name] of path.slice(0, -1).entries()) {
    if (!isMap(value, mark)) return undefined;
    value = getField(value, name);
    mark = typeof mark === "object" ? markOf(mark, name) : undefined;
    declared = typeof declared === "object" ? markOf(declared, name) : undefined;
    if (mark === "register") return declared === undefined ? path.slice(0, i + 1) : undefined;
  }
  return undefined;
}
