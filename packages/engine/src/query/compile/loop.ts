/**
 * Quantifiers and comprehensions: compiles expressions with a loop and variables of their own.
 *
 * The variables live in slots of the frame. A source that is no array and no object has no
 * elements: the result is null for a scalar, MISSING for MISSING. A comprehension omits elements
 * whose value is MISSING or fails.
 */

import { setField } from "@bigpeer/protocol";
import type { Evaluate, Frame, Run } from "../frame/frame.ts";
import type { Binding, ComprehensionNode, Expression, QuantifierNode } from "../syntax/tree.ts";
import { orderedKeys } from "../value/compare.ts";
import { spend } from "../value/cost-meter.ts";
import {
  type Datum,
  Failure,
  isDatumArray,
  isDatumObject,
  MISSING,
  type MutableDatumObject,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";

type Compile = (node: Expression) => Evaluate;

/** Calls `visit` for each element until it returns true; else the result without elements. */
type Loop = (frame: Frame, visit: () => boolean) => Outcome | typeof LOOPED;

const LOOPED: unique symbol = Symbol("looped");

export function compileQuantifier(node: QuantifierNode, compile: Compile): Evaluate {
  const loop = compileLoop(node.binding, compile);
  const condition = compile(node.condition);
  const { quantifier } = node;
  return (frame) => {
    let count = 0;
    let matches = 0;
    const outcome = loop(frame, () => {
      count++;
      if (condition(frame) === true) matches++;
      return quantifier === "any" ? matches > 0 : matches < count;
    });
    if (outcome !== LOOPED) return outcome;
    if (quantifier === "any") return matches > 0;
    return matches === count && (quantifier === "every" || count > 0);
  };
}

export function compileComprehension(node: ComprehensionNode, compile: Compile): Evaluate {
  const loop = compileLoop(node.binding, compile);
  const condition = node.condition === undefined ? undefined : compile(node.condition);
  const value = compile(node.value);
  const key = node.key === undefined ? undefined : compile(node.key);
  return (frame) => {
    const array: PresentDatum[] = [];
    const object: MutableDatumObject = {};
    let bytes = 0;
    const outcome = loop(frame, () => {
      if (condition !== undefined && condition(frame) !== true) return false;
      const element = value(frame);
      if (element instanceof Failure || element === MISSING) return false;
      bytes = charged(bytes + memorySize(element), frame.run);
      if (key === undefined) {
        array.push(element);
        return false;
      }
      const name = key(frame);
      spend(SET_STEPS);
      if (typeof name === "string") setField(object, name, element);
      return false;
    });
    if (outcome !== LOOPED) return outcome;
    return key === undefined ? array : object;
  };
}

/** Charges a large result (a small one soon is garbage). Returns the bytes not charged yet. */
function charged(bytes: number, run: Run): number {
  if (bytes < LARGE_BYTES) return bytes;
  run.budget.borrow(bytes);
  return 0;
}

const LARGE_BYTES = 64 * 1024;

/** Cost of setting a field of a growing object. */
const SET_STEPS = 0.75;

/** Listing the keys of an object costs before the first one is visited. */
const KEYS_PER_STEP = 16;

function compileLoop(binding: Binding, compile: Compile): Loop {
  const source = compile(binding.source);
  const [valueSlot = 0, positionSlot] = binding.slots ?? [];
  const { isDeep } = binding;
  return (frame, visit) => {
    const { slots, run } = frame;
    const step = (value: PresentDatum, position: Datum): boolean => {
      run.budget.step();
      slots[valueSlot] = value;
      if (positionSlot !== undefined) slots[positionSlot] = position;
      return visit();
    };
    const container = source(frame);
    if (container === MISSING || container instanceof Failure) return container;
    if (!isDatumArray(container) && !isDatumObject(container)) return null;
    eachElement(container, isDeep, step);
    return LOOPED;
  };
}

type Visit = (value: PresentDatum, position: Datum) => boolean;

/**
 * Visits elements; true when a visit ended the loop. WITHIN descends into each element after
 * visiting it. Fields come in the order of their names.
 */
function eachElement(container: PresentDatum, isDeep: boolean, visit: Visit): boolean {
  if (isDatumArray(container)) {
    for (let i = 0; i < container.length; i++) {
      const element = container[i] as PresentDatum;
      if (visit(element, i) || (isDeep && eachElement(element, true, visit))) return true;
    }
    return false;
  }
  if (!isDatumObject(container)) return false;
  const keys = Object.keys(container);
  spend(keys.length / KEYS_PER_STEP);
  orderedKeys(keys);
  for (const key of keys) {
    const element = container[key] as PresentDatum;
    if (visit(element, key) || (isDeep && eachElement(element, true, visit))) return true;
  }
  return false;
}
