/**
 * compileCall: compiles function calls. One wrapper for all functions evaluates the arguments,
 * handles null and MISSING, counts the cost, and gives failures their position.
 */

import { assert } from "@bigpeer/protocol";
import type { Evaluate } from "../frame/frame.ts";
import { type FunctionSpec, withoutValue } from "../functions/function.ts";
import { findFunction } from "../functions/table.ts";
import type { CallNode, Expression } from "../syntax/tree.ts";
import { grow, spend, spendLength } from "../value/cost-meter.ts";
import { type Datum, Failure, isDatumArray, MISSING, type Outcome } from "../value/datum.ts";
import { tooLarge } from "../value/size-bound.ts";
import { placer } from "./placer.ts";

export function compileCall(node: CallNode, compile: (node: Expression) => Evaluate): Evaluate {
  const spec = findFunction(node.name);
  assert(spec !== undefined, "the name of a function");
  return callOf(spec, node.args.map(compile), node.at);
}

/** The closure of a call, the same for all statements. */
export function callOf(spec: FunctionSpec, args: readonly Evaluate[], at: number): Evaluate {
  return spec.nulls === "pass" ? passingCall(spec, args, at) : seeingCall(spec, args, at);
}

/** A failed argument is the result; with a null or MISSING one, `checks` decide without a call. */
function passingCall(spec: FunctionSpec, args: readonly Evaluate[], at: number): Evaluate {
  const place = placer(at);
  const { apply, checks } = spec;
  const steps = CALL_STEPS + args.length / ARGUMENTS_PER_STEP;
  return (frame) => {
    const values: Datum[] = [];
    let isOpen = false;
    spend(steps);
    for (const arg of args) {
      const value = arg(frame);
      if (value instanceof Failure) return value;
      if (value === null || value === MISSING) isOpen = true;
      else countArgument(value);
      values.push(value);
    }
    return place(isOpen ? withoutValue(values, checks) : counted(apply(values, frame.run)));
  };
}

function seeingCall(spec: FunctionSpec, args: readonly Evaluate[], at: number): Evaluate {
  const place = placer(at);
  const { apply } = spec;
  const steps = CALL_STEPS + args.length / ARGUMENTS_PER_STEP;
  return (frame) => {
    const values: Datum[] = [];
    spend(steps);
    for (const arg of args) {
      const value = arg(frame);
      if (value instanceof Failure) return value;
      countArgument(value);
      values.push(value);
    }
    return place(counted(apply(values, frame.run)));
  };
}

/** Cost of a call, whatever its function does. */
const CALL_STEPS = 0.25;
const ARGUMENTS_PER_STEP = 16;

/** Elements of an argument that count as a step: functions visit them all. */
const ELEMENTS_PER_STEP = 16;

function countArgument(value: Datum): void {
  if (typeof value === "string" || value instanceof Uint8Array) spendLength(value.length);
  else if (isDatumArray(value) && value.length > ELEMENTS_PER_STEP) {
    spend(value.length / ELEMENTS_PER_STEP);
  }
}

/** Length of a text that counts as memory; smaller ones soon are garbage. */
const LARGE_LENGTH = 32 * 1024;

function counted(outcome: Outcome): Outcome {
  if (typeof outcome === "string" && outcome.length > LARGE_LENGTH) grow(2 * outcome.length);
  return tooLarge(outcome) ?? outcome;
}
