/**
 * compile: compiles a bound expression, once, into a closure that is called for every row.
 *
 * A closure takes the frame of a row and returns a value, MISSING or a Failure. The operators are
 * implemented in value/, the functions in functions/. placer.ts gives a Failure its position, once
 * per position and not once per row.
 */

import {
  assert,
  getField,
  isObject,
  setField,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { evaluationFault } from "../fault.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import { type RowDocument, wholeDocument } from "../frame/whole-document.ts";
import type {
  ArrayNode,
  CaseNode,
  CastNode,
  ElementNode,
  Expression,
  FieldNode,
  ObjectNode,
  ParameterNode,
  SlotNode,
} from "../syntax/tree.ts";
import { castDatum } from "../value/cast.ts";
import { equalData } from "../value/compare.ts";
import { grow, spend } from "../value/cost-meter.ts";
import {
  type Datum,
  type DatumObject,
  Failure,
  Float,
  isDatumArray,
  isDatumObject,
  MISSING,
  type MutableDatumObject,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { compileCall } from "./call.ts";
import { compileLikeNode } from "./like.ts";
import { compileComprehension, compileQuantifier } from "./loop.ts";
import { compileBetween, compileBinary, compileIn, compileIs, compileUnary } from "./operator.ts";
import { placer } from "./placer.ts";
import { compileSubquery } from "./subquery.ts";

/** Number of nodes compiled so far, in all expressions. */
let compiledNodes = 0;

/** Nodes of an expression that count as one step per evaluation. */
const NODES_PER_STEP = 32;

/**
 * Compiles an expression that is evaluated for each row or element. A large one is charged by its
 * size, since most nodes charge nothing themselves.
 */
export function compile(node: Expression): Evaluate {
  const before = compiledNodes;
  const evaluate = compileNode(node);
  const steps = (compiledNodes - before) / NODES_PER_STEP;
  if (steps <= 1) return evaluate;
  return (frame) => {
    spend(steps);
    return evaluate(frame);
  };
}

function compileNode(node: Expression): Evaluate {
  assert(node.kind !== "name", "an expression that is bound");
  compiledNodes++;
  switch (node.kind) {
    case "literal": {
      const { value } = node;
      return () => value;
    }
    case "missing":
      return () => MISSING;
    case "parameter":
      return compileParameter(node);
    case "slot":
      return compileSlot(node);
    case "field":
      return compileField(node);
    case "element":
      return compileElement(node);
    case "array":
      return compileArray(node);
    case "object":
      return compileObject(node);
    case "unary":
      return compileUnary(node, compileNode);
    case "binary":
      return compileBinary(node, compileNode);
    case "is":
      return compileIs(node, compileNode);
    case "in":
      return compileIn(node, compileNode);
    case "between":
      return compileBetween(node, compileNode);
    case "like":
      return compileLikeNode(node, compileNode);
    case "case":
      return compileCase(node);
    case "cast":
      return compileCast(node);
    case "quantifier":
      return compileQuantifier(node, compile);
    case "comprehension":
      return compileComprehension(node, compile);
    case "call":
      return compileCall(node, compileNode);
    case "subquery":
      return compileSubquery(node);
    default:
      return unreachable(node);
  }
}

function compileParameter({ name, at }: ParameterNode): Evaluate {
  const read = fieldReader(name);
  return ({ run }) => {
    const value = read(run.args);
    if (value === undefined) throw evaluationFault(`parameter ${name} was not provided`, at);
    return value;
  };
}

function compileSlot({ slot, holds, isColumn }: SlotNode): Evaluate {
  if (isColumn === true) {
    return ({ slots }) => {
      const outcome = slots[slot] as Outcome;
      return outcome instanceof Failure ? MISSING : outcome;
    };
  }
  if (holds !== "document") return ({ slots }) => slots[slot] as Outcome;
  return ({ slots }) => {
    const document = slots[slot] as RowDocument | undefined;
    return document === undefined ? MISSING : wholeDocument(document);
  };
}

/** Names that every JS object inherits; all other names are read without a check of ownership. */
const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype));

function fieldReader(name: string): (object: ValueObject) => Value | undefined {
  return INHERITED.has(name) ? (object) => getField(object, name) : (object) => object[name];
}

function compileField(node: FieldNode): Evaluate {
  const { of, name } = node;
  if (of.kind === "slot" && of.holds === "document") return compileDocumentField(of.slot, name);
  const base = compileNode(of);
  if (isStored(of)) {
    const readStored = fieldReader(name);
    return (frame) => {
      const value = base(frame) as Value | undefined;
      return isObject(value) ? readStored(value) : MISSING;
    };
  }
  const read = fieldReader(name) as (object: DatumObject) => Datum;
  return (frame) => {
    const object = base(frame);
    if (isDatumObject(object)) return read(object);
    return object instanceof Failure ? object : MISSING;
  };
}

function compileDocumentField(slot: number, name: string): Evaluate {
  if (name === "_id") return ({ slots }) => (slots[slot] as RowDocument | undefined)?.id;
  if (INHERITED.has(name)) {
    return ({ slots }) => {
      const document = slots[slot] as RowDocument | undefined;
      return document === undefined ? MISSING : getField(document.fields, name);
    };
  }
  // Inlined without a further call: most field reads happen here.
  return ({ slots }) => {
    const document = slots[slot] as RowDocument | undefined;
    return document === undefined ? MISSING : document.fields[name];
  };
}

/** Whether a value comes directly from a document, so that it contains no Float or Failure. */
export function isStored(node: Expression): boolean {
  if (node.kind === "field") return isStored(node.of);
  return node.kind === "slot" && node.holds === "document";
}

/** Positions start at 0; an index that is no position of the array gives MISSING. */
function compileElement({ of, index }: ElementNode): Evaluate {
  const base = compileNode(of);
  const position = compileNode(index);
  return (frame) => {
    const array = base(frame);
    if (array instanceof Failure) return array;
    const at = position(frame);
    if (at instanceof Failure) return at;
    const number = at instanceof Float ? at.value : at;
    return isDatumArray(array) && typeof number === "number" ? array[number] : MISSING;
  };
}

function compileArray({ elements }: ArrayNode): Evaluate {
  const parts = elements.map(compileNode);
  return (frame) => {
    const array: PresentDatum[] = [];
    spend(parts.length);
    if (parts.length > MANY_PARTS) grow(ELEMENT_BYTES * parts.length);
    for (const part of parts) {
      const element = part(frame);
      if (element instanceof Failure) return element;
      array.push(element ?? null);
    }
    return array;
  };
}

/** Cost of setting a field. */
const FIELD_STEPS = 0.25;

/** Approximate bytes of an element and of a field, and how many parts are worth counting. */
const ELEMENT_BYTES = 16;
const FIELD_BYTES = 32;
const MANY_PARTS = 1024;

/**
 * Omits pairs with a null or MISSING name or a MISSING value; any other non-text name gives null.
 */
function compileObject({ entries }: ObjectNode): Evaluate {
  const parts = entries.map(({ key, value }) => ({
    key: compileNode(key),
    value: compileNode(value),
  }));
  return (frame) => {
    const object: MutableDatumObject = {};
    let isNamed = true;
    if (parts.length > MANY_PARTS) grow(FIELD_BYTES * parts.length);
    for (const part of parts) {
      spend(FIELD_STEPS);
      const key = part.key(frame);
      if (key instanceof Failure) return key;
      const value = part.value(frame);
      if (value instanceof Failure) return value;
      if (key === null || key === MISSING || value === MISSING) continue;
      if (typeof key === "string") setField(object, key, value);
      else isNamed = false;
    }
    return isNamed ? object : null;
  };
}

function compileCast({ operand, type, at }: CastNode): Evaluate {
  const value = compileNode(operand);
  const place = placer(at);
  return (frame) => {
    const datum = value(frame);
    if (datum instanceof Failure) return datum;
    return place(castDatum(datum, type));
  };
}

function compileCase({ subject, whens, otherwise }: CaseNode): Evaluate {
  const branches = whens.map(({ when, result }) => ({
    when: compileNode(when),
    result: compileNode(result),
  }));
  const fallback = otherwise === undefined ? (): Outcome => null : compileNode(otherwise);
  if (subject === undefined) return searchedCase(branches, fallback);
  return simpleCase(compileNode(subject), branches, fallback);
}

interface Branch {
  readonly when: Evaluate;
  readonly result: Evaluate;
}

function searchedCase(branches: readonly Branch[], fallback: Evaluate): Evaluate {
  return (frame) => {
    for (const { when, result } of branches) {
      spend(1);
      const condition = when(frame);
      if (condition === true) return result(frame);
      if (condition instanceof Failure) return condition;
    }
    return fallback(frame);
  };
}

/** Null and MISSING match nothing, not even themselves. */
function simpleCase(subject: Evaluate, branches: readonly Branch[], fallback: Evaluate): Evaluate {
  return (frame: Frame) => {
    const value = subject(frame);
    if (value instanceof Failure) return value;
    if (value === null || value === MISSING) return fallback(frame);
    for (const { when, result } of branches) {
      spend(1);
      const candidate = when(frame);
      if (candidate instanceof Failure) return candidate;
      if (equalData(value, candidate)) return result(frame);
    }
    return fallback(frame);
  };
}
