/**
 * Joins: pairs each row of the left side with the documents of the right side for which ON is true.
 *
 * - By id: one lookup for each left row.
 * - Hash: the right side is read once into a hash table by its key.
 * - Nested loop: the right side is read once into a list.
 * - Index: if an index answers the condition, each left row is looked up in it, until the lookups
 *   have cost more than reading the right side would.
 *
 * ON is evaluated for every candidate, and candidates come in the order of ids. So the method
 * decides only how many candidates there are.
 */

import { assert } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Found } from "../frame/document-view.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import { Pace } from "../frame/pace.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import { NO_WISH, SCAN } from "../plan/access.ts";
import type { JoinMethod, JoinPlan } from "../plan/plan.ts";
import { dataKey, joinKeys } from "../value/compare.ts";
import { Failure, MISSING } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";
import { attempt } from "./attempt.ts";
import { chooseFor, neededOf } from "./choose.ts";
import { getDocument } from "./declared-read.ts";
import type { DocumentReader } from "./document-reader.ts";
import { type Execution, warnOf } from "./execution.ts";
import { toId } from "./ids.ts";
import { findDocuments } from "./index-walk.ts";
import type { Pull } from "./row-stream.ts";

/** The documents that may join a row. */
interface Candidates {
  readonly of: (frame: Frame) => Found<RowDocument>;
  /** Whether reading the whole right side is cheaper by now; absent when it was read. */
  readonly isTooMuch?: (lookups: number, found: number) => boolean;
}

/** Joins the rows that come from the left. */
export type JoinStep = (execution: Execution, frame: Frame, left: Pull) => Pull;

export function compileJoin(plan: JoinPlan, right: DocumentReader): JoinStep {
  const on = compile(plan.on);
  const readAll = compileMethod(plan, right);
  const { slot } = plan.source;
  const isOuter = plan.type === "left";
  return function* join(execution, frame, left) {
    const { budget, subqueries } = execution.run;
    let candidates: Candidates | undefined;
    let lookups = 0;
    let found = 0;
    const pace = new Pace(budget);
    for (const isRow of left) {
      if (!isRow) {
        yield false;
        continue;
      }
      // Only now: without a left row the right side is never read.
      candidates ??= indexCandidates(plan, execution) ?? (yield* readAll(execution, frame));
      if (candidates.isTooMuch?.(lookups, found)) candidates = yield* readAll(execution, frame);
      lookups++;
      let isMatched = false;
      budget.startRow();
      for (const document of candidates.of(frame)) {
        budget.startRow();
        if (document === undefined) {
          yield false;
          continue;
        }
        budget.step();
        found++;
        frame.slots[slot] = document;
        const outcome = subqueries === undefined ? on(frame) : yield* attempt(on, frame, execution);
        if (outcome === true) {
          isMatched = true;
          yield true;
        } else if (outcome instanceof Failure) warnOf(execution, outcome, document);
        if (pace.isPauseDue()) yield false;
      }
      if (pace.isPauseDue()) yield false;
      if (isMatched || !isOuter) continue;
      frame.slots[slot] = MISSING;
      yield true;
    }
  };
}

/** An index lookup costs about as much as so many documents of a scan. */
const PASSED_PER_LOOKUP = 8;
/** The same for each document fetched after it. */
const PASSED_PER_FOUND = 4;
/** Cost in documents that lookups may reach even in smaller collections. */
const PASSED_MIN = 512;

/** Lookups in an index of the right side; undefined when no index answers the condition. */
function indexCandidates(plan: JoinPlan, execution: Execution): Candidates | undefined {
  const { source, method } = plan;
  const { collection } = source;
  if (method.kind === "by_id" || source.ids !== undefined) return undefined;
  if (collection.kind !== "stored") return undefined;
  const { access } = chooseFor(source, NO_WISH, execution);
  if (access.kind === "scan") return undefined;
  const { name } = collection;
  const needed = neededOf(source, execution.isStrict);
  const search = { execution, collection: name, wanted: Infinity, needed };
  const of = (frame: Frame): Found<RowDocument> => findDocuments(access, { ...search, frame });
  const known = execution.view.count(name);
  if (known === undefined) return { of };
  const count = Math.max(PASSED_MIN, known);
  // A hash join passes the right side once; a nested loop passes it for each left row.
  const countPerRow = method.kind === "hash" ? 0 : count;
  const isTooMuch = (lookups: number, found: number): boolean => {
    const passed = PASSED_PER_LOOKUP * lookups + PASSED_PER_FOUND * found;
    return passed > count + countPerRow * lookups;
  };
  return { of, isTooMuch };
}

/** A computation with pauses. */
type Paused<T> = Generator<false, T, void>;

type Start = (execution: Execution, frame: Frame) => Paused<Candidates>;

function compileMethod(plan: JoinPlan, right: DocumentReader): Start {
  const { method, source } = plan;
  if (method.kind === "by_id" && source.ids === undefined) {
    return lookUpStart(plan, compile(method.id));
  }
  const filter = plan.filter.map(compile);
  const read: ReadRight = (execution, frame) =>
    readRight(execution, frame, { right, filter, slot: source.slot });
  if (method.kind !== "hash") {
    return function* list(execution, frame) {
      const documents: RowDocument[] = [];
      for (const document of read(execution, { ...frame, slots: [...frame.slots] })) {
        if (document === undefined) yield false;
        else documents.push(document);
      }
      return { of: () => documents };
    };
  }
  return hashStart(method, read);
}

function lookUpStart({ source }: JoinPlan, id: Evaluate): Start {
  const { collection } = source;
  assert(collection.kind === "stored", "a lookup by id only in what is stored");
  const { name } = collection;
  // oxlint-disable-next-line require-yield -- nothing is read before there is a row
  return function* lookUp(execution) {
    const { view, isStrict } = execution;
    const typing = { isStrict, types: source.types };
    const place = { view, collection: name };
    const of = (frame: Frame): RowDocument[] => {
      const found = toId(id(frame));
      const document = found && getDocument(found.id, typing, place);
      return document === undefined ? [] : [document];
    };
    return { of };
  };
}

interface Right {
  readonly right: DocumentReader;
  readonly filter: readonly Evaluate[];
  readonly slot: number;
}

type ReadRight = (execution: Execution, frame: Frame) => Found<RowDocument>;

/** The documents of the right side that pass its own conditions, counted as held in memory. */
function* readRight(execution: Execution, frame: Frame, side: Right): Found<RowDocument> {
  const { budget } = execution.run;
  const pace = new Pace(budget);
  const reading = { access: SCAN, wanted: Infinity };
  for (const document of side.right(execution, frame, reading)) {
    if (pace.isPauseDue()) yield undefined;
    if (document === undefined) continue;
    budget.startRow();
    budget.step();
    frame.slots[side.slot] = document;
    if (!side.filter.every((condition) => condition(frame) === true)) continue;
    budget.take(memorySize(document.fields));
    yield document;
  }
}

function hashStart(method: Extract<JoinMethod, { kind: "hash" }>, read: ReadRight): Start {
  const leftKey = compileKey(method.left.map(compile));
  const rightKey = compileKey(method.right.map(compile));
  return function* table(execution, frame) {
    // The current frame holds a left row; the right side uses a copy.
    const beside: Frame = { ...frame, slots: [...frame.slots] };
    const byKey = new Map<string, RowDocument[]>();
    for (const document of read(execution, beside)) {
      if (document === undefined) {
        yield false;
        continue;
      }
      // The document is already in the copied frame.
      const key = rightKey(beside);
      if (key === undefined) continue;
      const bucket = byKey.get(key);
      if (bucket === undefined) byKey.set(key, [document]);
      else bucket.push(document);
    }
    const of = (row: Frame): readonly RowDocument[] => {
      const key = leftKey(row);
      return (key === undefined ? undefined : byKey.get(key)) ?? [];
    };
    return { of };
  };
}

/** Undefined if a part is null, MISSING or failed: nothing equals that. */
function compileKey(parts: readonly Evaluate[]): (frame: Frame) => string | undefined {
  return (frame) => {
    const keys: string[] = [];
    for (const part of parts) {
      const value = part(frame);
      if (value === MISSING || value === null || value instanceof Failure) return undefined;
      keys.push(dataKey(value));
    }
    return joinKeys(keys);
  };
}
