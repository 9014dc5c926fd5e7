/**
 * Ids that a statement names: evaluated, checked, each as the id of a document.
 */

import { documentId, PeerError, type Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Frame } from "../frame/frame.ts";
import type { IdsAccess, NamedIds } from "../plan/access.ts";
import { Failure, isDatumArray, MISSING, type Outcome, toValue } from "../value/datum.ts";

export type Ids = (frame: Frame) => Value[];

export function compileIds({ ids, keepsRepeats }: IdsAccess): Ids {
  const evaluate = compileNamed(ids);
  return (frame) => {
    const { budget } = frame.run;
    budget.startPiece();
    const values = evaluate(frame);
    budget.endPiece();
    budget.step(values.length);
    return keepsRepeats || values.length < 2 ? validIds(values) : distinct(values);
  };
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

/** Each once, in the order in which a scan would find them. */
function distinct(values: readonly Outcome[]): Value[] {
  const byKey = new Map<string, Value>();
  for (const value of values) {
    const found = toId(value);
    if (found !== undefined) byKey.set(found.key, found.id);
  }
  const keys = [...byKey.keys()].sort();
  return keys.map((key) => byKey.get(key) as Value);
}

/** Undefined for what can be the id of no document. */
export function toId(outcome: Outcome): { id: Value; key: string } | undefined {
  if (outcome === MISSING || outcome === null || outcome instanceof Failure) return undefined;
  try {
    return documentId(toValue(outcome));
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
