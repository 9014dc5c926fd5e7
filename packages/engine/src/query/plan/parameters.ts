/**
 * Parameters: which ones a statement needs, and the check of those that were given.
 */

import {
  checkValue,
  getField,
  isArray,
  isObject,
  PeerError,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { semanticFault } from "../fault.ts";
import type {
  Expression,
  FromTerm,
  ParameterNode,
  Projection,
  Selection,
  SelectStatement,
  Statement,
} from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";

/** Checks what came as arguments. `query.arguments` when it is not an object of values. */
export function checkArguments(input: unknown): ValueObject {
  if (input === undefined || input === null) return {};
  const args = checked(input);
  if (!isObject(args)) throw refusal("expected an object with a value for each parameter");
  const place = findUnbounded(args, "args");
  if (place !== undefined) throw refusal(`expected a finite number at ${place}`);
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

/** NaN and the infinities are no arguments: JSON has none, so they can only be a mistake. */
function findUnbounded(value: Value, at: string): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : at;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  const parts = isArray(value)
    ? value.map((part, i) => [`${at}[${i}]`, part] as const)
    : Object.entries(value).map(([key, part]) => [`${at}.${key}`, part] as const);
  for (const [place, part] of parts) {
    const found = findUnbounded(part, place);
    if (found !== undefined) return found;
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
 * The parameters that must be there before a statement begins. Those on the right sides of SET are
 * asked for only when there is a document to update.
 */
export function parametersOf(statement: Statement): ParameterNode[] {
  return expressionsOf(statement).flatMap(parametersIn);
}

export function parametersIn(expression: Expression): ParameterNode[] {
  const found: ParameterNode[] = [];
  eachNode(expression, (node) => {
    if (node.kind === "parameter") found.push(node);
  });
  return found;
}

type Parts = readonly (Expression | undefined)[];

function expressionsOf(statement: Statement): Expression[] {
  return partsOf(statement).filter((part) => part !== undefined);
}

function partsOf(statement: Statement): Parts {
  switch (statement.kind) {
    case "select":
      return selectParts(statement);
    case "insert": {
      const { source, returning } = statement;
      const parts = "kind" in source ? selectParts(source) : source;
      return [...parts, ...projectionParts(returning ?? [])];
    }
    case "update":
      return [...statement.apply.map(({ value }) => value), ...selectionParts(statement)];
    case "remove":
      return selectionParts(statement);
    case "explain":
    case "advise":
    case "sync_context":
      return [];
    case "profile":
      return partsOf(statement.statement);
    case "execute_function":
      return [statement.call];
    case "alter_system":
      return [statement.value];
    case "create_index":
    case "drop_index":
    case "show":
      return [];
    default:
      return unreachable(statement);
  }
}

function selectParts(select: SelectStatement): Parts {
  return [
    ...projectionParts(select.projections),
    ...termParts(select.from),
    ...select.joins.flatMap(({ term, on }) => [...termParts(term), on]),
    select.where,
    ...(select.groupBy ?? []),
    select.having,
    ...select.orderBy.map(({ expression }) => expression),
    select.limit,
    select.offset,
  ];
}

function selectionParts(selection: Selection): Parts {
  return [
    ...termParts(selection.term),
    selection.where,
    ...selection.orderBy.map(({ expression }) => expression),
    selection.limit,
    selection.offset,
    ...projectionParts(selection.returning ?? []),
  ];
}

function projectionParts(projections: readonly Projection[]): Parts {
  return projections.map((projection) => {
    if (projection.kind === "all") return undefined;
    return projection.kind === "all_of" ? projection.of : projection.expression;
  });
}

function termParts({ use }: FromTerm): Parts {
  if (use?.kind === "ids") return use.ids;
  return use?.kind === "id_list" ? [use.list] : [];
}
