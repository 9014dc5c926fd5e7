/**
 * Parameters: finds the parameters that a statement needs, and validates the arguments.
 */

import {
  checkValue,
  getField,
  isArray,
  isKnownFinite,
  isObject,
  PeerError,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { semanticFault } from "../fault.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { eachPart, expressionsOf } from "../syntax/statement-walk.ts";
import type { Expression, ParameterNode, Statement } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";

/** Validates the arguments; throws `query.arguments` unless they are an object of values. */
export function checkArguments(input: unknown): ValueObject {
  if (input === undefined || input === null) return {};
  const args = checked(input);
  if (!isObject(args)) throw refusal("expected an object with a value for each parameter at args");
  if (isKnownFinite(args) !== true && !isBounded(args))
    throw refusal(`expected a finite number at ${findUnbounded(args, "args")}`);
  return args;
}

function checked(input: unknown): Value {
  try {
    return checkValue(input, "args");
  } catch (error) {
    if (error instanceof PeerError) throw refusal(error.message);
    throw error;
  }
}

function refusal(message: string): PeerError {
  return new PeerError("query.arguments", message);
}

/** NaN and the infinities are not valid: JSON has none, so they can only be a mistake. */
function isBounded(value: Value): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return true;
  if (isArray(value)) return value.every(isBounded);
  for (const key of Object.keys(value)) if (!isBounded(value[key] as Value)) return false;
  return true;
}

/** Position of the first of them. Only for the message: building positions costs. */
function findUnbounded(value: Value, at: string): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : at;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      // The position is built only where one is found.
      if (isBounded(value[i] as Value)) continue;
      return findUnbounded(value[i] as Value, `${at}[${i}]`);
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    if (!isBounded(value[key] as Value)) return findUnbounded(value[key] as Value, `${at}.${key}`);
  }
  return undefined;
}

/** Throws for the first parameter without a value. */
export function requireParameters(needed: readonly ParameterNode[], args: ValueObject): void {
  for (const { name, at } of needed) {
    if (getField(args, name) === undefined) {
      throw semanticFault(`parameter ${name} was not provided`, at);
    }
  }
}

/**
 * The parameters that must be present before a statement starts. Those on the right sides of SET
 * are required only when there is a document to update.
 */
export function parametersOf(statement: Statement): ParameterNode[] {
  return finish(parametersInSteps(statement));
}

export function* parametersInSteps(statement: Statement): Steps<ParameterNode[]> {
  const found: ParameterNode[] = [];
  yield* eachPart(expressionsOf(statement), (part) => found.push(...parametersIn(part)));
  return found;
}

export function parametersIn(expression: Expression): ParameterNode[] {
  const found: ParameterNode[] = [];
  eachNode(expression, (node) => {
    if (node.kind === "parameter") found.push(node);
    else if (node.kind === "subquery") found.push(...parametersOf(node.query));
  });
  return found;
}
