/**
 * Calls of functions: arguments, null behaviour and place of failures in one wrapper for all.
 */

import { assert } from "@bigpeer/protocol";
import type { Evaluate } from "../frame/frame.ts";
import type { FunctionSpec } from "../functions/function.ts";
import { findFunction } from "../functions/table.ts";
import type { CallNode, Expression } from "../syntax/tree.ts";
import { type Datum, Failure, MISSING } from "../value/datum.ts";
import { placer } from "./placer.ts";

export function compileCall(node: CallNode, compile: (node: Expression) => Evaluate): Evaluate {
  const spec = findFunction(node.name);
  assert(spec !== undefined, "the name of a function");
  const args = node.args.map(compile);
  return spec.nulls === "pass" ? passingCall(spec, args, node.at) : seeingCall(spec, args, node.at);
}

/** MISSING before null, a failure before both. */
function passingCall(spec: FunctionSpec, args: readonly Evaluate[], at: number): Evaluate {
  const place = placer(at);
  const { apply } = spec;
  return (frame) => {
    const values: Datum[] = [];
    let hasNull = false;
    let hasMissing = false;
    for (const arg of args) {
      const value = arg(frame);
      if (value instanceof Failure) return value;
      if (value === null) hasNull = true;
      else if (value === MISSING) hasMissing = true;
      values.push(value);
    }
    if (hasMissing) return MISSING;
    return hasNull ? null : place(apply(values, frame.run));
  };
}

function seeingCall(spec: FunctionSpec, args: readonly Evaluate[], at: number): Evaluate {
  const place = placer(at);
  const { apply } = spec;
  return (frame) => {
    const values: Datum[] = [];
    for (const arg of args) {
      const value = arg(frame);
      if (value instanceof Failure) return value;
      values.push(value);
    }
    return place(apply(values, frame.run));
  };
}
