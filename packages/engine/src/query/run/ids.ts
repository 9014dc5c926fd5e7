/**
 * Ids that a statement names: evaluated, checked, each as the id of a document.
 */

import { documentId, PeerError, type Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Frame } from "../frame/frame.ts";
import type { Access, NamedIds } from "../plan/plan.ts";
import { Failure, isDatumArray, MISSING, type Outcome, toValue } from "../value/datum.ts";

export type Ids = (frame: Frame) => Value[];

export function compileIds({ ids, keepsRepeats }: Extract<Access, { kind: "ids" }>): Ids {
  const evaluate = compileNamed(ids);
  return (frame) => {
    const values = evaluate(frame);
    frame.run.budget.step(values.length);
    const found = values.flatMap((value) => toId(value) ?? []);
    return keepsRepeats ? found.map(({ id }) => id) : distinct(found);
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

/** Each once, in the order in which a scan would find them. */
function distinct(ids: readonly { readonly id: Value; readonly key: string }[]): Value[] {
  if (ids.length < 2) return ids.map(({ id }) => id);
  const byKey = new Map(ids.map(({ id, key }) => [key, id]));
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
