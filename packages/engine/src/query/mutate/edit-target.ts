/**
 * checkTargets: checks which paths one UPDATE may write together.
 *
 * One tick cannot order two writes of the same place. A path may occur once in a statement. A path
 * below that of a SET is valid only if that SET writes a map that does not contain it.
 */

import type { TypeMark, Value } from "@bigpeer/protocol";
import { getField } from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";
import { evaluationFault, type Fault } from "../fault.ts";
import { printPath } from "../syntax/print-path.ts";
import { joinKeys } from "../value/compare.ts";
import { isMap } from "./local-diff.ts";

export interface EditTarget {
  readonly path: readonly string[];
  readonly at: number;
}

/** Two targets, the first above the second. */
export interface Overlap<T extends EditTarget> {
  readonly above: T;
  readonly below: T;
}

/** Checks the paths as written; returns the pairs whose values must be checked too. */
export function checkTargets<T extends EditTarget>(targets: readonly T[]): Overlap<T>[] {
  const byPath = new Map<string, T>();
  for (const target of targets) {
    if (target.path[0] === "_id") {
      throw evaluationFault("the document id `_id` cannot be modified", target.at);
    }
    const name = joinKeys(target.path);
    if (byPath.has(name)) throw writtenTwice(target);
    byPath.set(name, target);
  }
  const overlaps: Overlap<T>[] = [];
  for (const below of targets) {
    for (let depth = 1; depth < below.path.length; depth++) {
      const above = byPath.get(joinKeys(below.path.slice(0, depth)));
      if (above !== undefined) overlaps.push({ above, below });
    }
  }
  return overlaps;
}

export function writtenTwice(target: EditTarget): Fault {
  const message = `more than one modification of ${printPath(target.path)}`;
  return evaluationFault(message, target.at);
}

/** Whether a value written at a path also writes a place below it. */
export function covers(
  value: Value,
  mark: TypeMark | undefined,
  steps: readonly string[],
): boolean {
  let inner: Value = value;
  let innerMark = mark;
  for (const name of steps) {
    if (!isMap(inner, innerMark)) return true;
    const next = getField(inner, name);
    if (next === undefined) return false;
    innerMark = typeof innerMark === "object" ? markOf(innerMark, name) : undefined;
    inner = next;
  }
  return true;
}
