/**
 * compileIds: evaluates the ids that a statement names and validates each as a document id.
 */

import { type DocumentId, documentId, PeerError, type Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Budget } from "../frame/budget.ts";
import type { Frame } from "../frame/frame.ts";
import { mergeSorted } from "../frame/merge-sort.ts";
import type { Steps } from "../frame/steps.ts";
import type { IdsAccess, NamedIds } from "../plan/access.ts";
import { Failure, isDatumArray, MISSING, type Outcome, toValue } from "../value/datum.ts";

/** Synchronous for few ids, with pauses for many. */
export type NamedIdValues = readonly Value[] | Steps<readonly Value[]>;

export type Ids = (frame: Frame) => NamedIdValues;

/** Ids processed without a pause. */
const IDS_AT_ONCE = 1024;

export function compileIds({ ids, keepsDuplicates }: IdsAccess): Ids {
  const evaluate = compileNamed(ids);
  return (frame) => {
    const { budget } = frame.run;
    budget.startPiece();
    const values = evaluate(frame);
    budget.endPiece();
    budget.step(values.length);
    if (values.length > IDS_AT_ONCE) return inSteps(values, keepsDuplicates, budget);
    return keepsDuplicates || values.length < 2 ? validIds(values) : distinct(values);
  };
}

/** All ids, with the pauses that they need. */
export function* idsIn(named: NamedIdValues): Generator<undefined, readonly Value[], void> {
  if (!("next" in named)) return named;
  for (;;) {
    const { done, value } = named.next();
    if (done === true) return value;
    yield undefined;
  }
}

function compileNamed(named: NamedIds): (frame: Frame) => readonly Outcome[] {
  if (named.kind === "id_list") {
    const list = compile(named.list);
    return (frame) => {
      const outcome = list(frame);
      return isDatumArray(outcome) ? outcome : [];
    };
  }
  const ids = named.ids.map(compile);
  return (frame) => ids.map((id) => id(frame));
}

function validIds(values: readonly Outcome[]): Value[] {
  const ids: Value[] = [];
  for (const value of values) {
    const found = toId(value);
    if (found !== undefined) ids.push(found.id);
  }
  return ids;
}

/** The same as `validIds` or `distinct`, with pauses. */
function* inSteps(
  values: readonly Outcome[],
  keepsDuplicates: boolean,
  budget: Budget,
): Steps<readonly Value[]> {
  const all: DocumentId[] = [];
  for (const [i, value] of values.entries()) {
    if (i % IDS_AT_ONCE === IDS_AT_ONCE - 1) yield;
    const found = toId(value);
    if (found !== undefined) all.push(found);
  }
  if (keepsDuplicates) return all.map(({ id }) => id);
  const before = (a: number, b: number): boolean =>
    (all[a] as DocumentId).key < (all[b] as DocumentId).key;
  const places = yield* mergeSorted(Uint32Array.from(all.keys()), before, budget);
  const ids: Value[] = [];
  let last: string | undefined;
  for (const place of places) {
    const { id, key } = all[place] as DocumentId;
    if (key !== last && ids.push(id) % IDS_AT_ONCE === 0) yield;
    last = key;
  }
  return ids;
}

/** Each id once, in the order of a scan. */
function distinct(values: readonly Outcome[]): Value[] {
  const byKey = new Map<string, Value>();
  for (const value of values) {
    const found = toId(value);
    if (found !== undefined) byKey.set(found.key, found.id);
  }
  const keys = [...byKey.keys()].sort();
  return keys.map((key) => byKey.get(key) as Value);
}

/** Undefined for a value that cannot be a document id. */
export function toId(outcome: Outcome): DocumentId | undefined {
  if (outcome === MISSING || outcome === null || outcome instanceof Failure) return undefined;
  try {
    return documentId(toValue(outcome));
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
