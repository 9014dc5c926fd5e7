/**
 * Output: what a statement gives back, bound: columns, groups, order.
 *
 * The same for SELECT and for RETURNING. Once there is a group, an aggregate or a HAVING, everything
 * that is given back must be made of group keys and aggregates: equal expressions are recognised
 * after binding, so `kind` and `x.kind` are one key.
 */

import { Fault, semanticFault } from "../fault.ts";
import type {
  ColumnProjection,
  Expression,
  NameNode,
  OrderTerm,
  Projection,
} from "../syntax/tree.ts";
import { isSameExpression, mapChildren } from "../syntax/tree-walk.ts";
import {
  Aggregates,
  type BoundAggregate,
  bindExpression,
  bindField,
  type Scope,
  Slots,
} from "./scope.ts";

export type OutputColumn =
  /** The whole row: the document, or one for each alias of a join. */
  | { readonly kind: "all" }
  /** Every field of an object. */
  | { readonly kind: "spread"; readonly expression: Expression }
  | { readonly kind: "column"; readonly name: string; readonly expression: Expression };

export interface GroupKey {
  readonly expression: Expression;
  readonly slot: number;
}

export interface Grouping {
  readonly keys: readonly GroupKey[];
  readonly aggregates: readonly BoundAggregate[];
  readonly having: Expression | undefined;
  /** No GROUP BY: one group, also when there is no row. */
  readonly isWhole: boolean;
}

export interface Output {
  readonly columns: readonly OutputColumn[];
  /** The rows are the documents themselves. */
  readonly isRaw: boolean;
  readonly grouping: Grouping | undefined;
  readonly order: readonly OrderTerm[];
}

export interface OutputClauses {
  readonly projections: readonly Projection[];
  readonly isRaw?: boolean;
  readonly groupBy?: readonly Expression[];
  readonly having?: Expression;
  readonly orderBy?: readonly OrderTerm[];
}

export function bindOutput(clauses: OutputClauses, scope: Scope): Output {
  const aggregates = new Aggregates(scope.slots);
  const inner: Scope = { ...scope, aggregates };
  const keys = (clauses.groupBy ?? []).map((key) => bindKey(key, scope));
  const columns = bindColumns(clauses.projections, inner);
  const having = clauses.having && bindExpression(clauses.having, inner);
  const names = aliasMap(clauses.projections, columns);
  const isGroupedAlready = clauses.groupBy !== undefined || having !== undefined;
  const order = bindOrder(clauses.orderBy ?? [], inner, { names, keys, isGroupedAlready });
  if (clauses.isRaw === true) checkRaw(columns, clauses.projections);
  checkStar(columns, clauses.projections);
  const isGrouped = isGroupedAlready || aggregates.all.length > 0;
  const isRaw = clauses.isRaw === true;
  if (!isGrouped) return { columns, isRaw, grouping: undefined, order };
  const reduce = (expression: Expression): Expression => reduceToKeys(expression, keys);
  const grouping: Grouping = {
    keys,
    aggregates: aggregates.all,
    having: having && reduce(having),
    isWhole: clauses.groupBy === undefined,
  };
  return {
    columns: columns.map((column) => reduceColumn(column, clauses.projections, reduce)),
    isRaw,
    grouping,
    order: order.map((term) => ({ ...term, expression: reduce(term.expression) })),
  };
}

function bindKey(key: Expression, scope: Scope): GroupKey {
  return { expression: bindExpression(key, scope), slot: scope.slots.take() };
}

function bindColumns(projections: readonly Projection[], scope: Scope): OutputColumn[] {
  const columns = projections.map((projection, i): OutputColumn => {
    if (projection.kind === "all") return { kind: "all" };
    if (projection.kind === "all_of") {
      return { kind: "spread", expression: bindExpression(projection.of, scope) };
    }
    const expression = bindExpression(projection.expression, scope);
    return { kind: "column", name: columnName(projection, i + 1), expression };
  });
  checkNames(columns, projections);
  return columns;
}

/** The alias, else the last step of a path, else the position. */
function columnName(projection: ColumnProjection, position: number): string {
  const { alias, expression, isWrapped } = projection;
  if (alias !== undefined) return alias;
  const isPath = expression.kind === "name" || expression.kind === "field";
  return isPath && isWrapped !== true ? expression.name : `($${position})`;
}

function checkNames(columns: readonly OutputColumn[], projections: readonly Projection[]): void {
  const seen = new Set<string>();
  for (const [i, column] of columns.entries()) {
    if (column.kind !== "column") continue;
    if (seen.has(column.name)) {
      const message = `two columns are named ${column.name}: give one another name with AS`;
      throw semanticFault(message, projections[i]?.at);
    }
    seen.add(column.name);
  }
}

function checkStar(columns: readonly OutputColumn[], projections: readonly Projection[]): void {
  const star = columns.findIndex(({ kind }) => kind === "all");
  if (star < 0 || columns.length === 1) return;
  const message = "unqualified * with other projection elements is not supported: write alias.*";
  throw semanticFault(message, projections[star]?.at);
}

function checkRaw(columns: readonly OutputColumn[], projections: readonly Projection[]): void {
  const [only, ...others] = columns;
  const isDocument =
    only?.kind === "column" &&
    only.expression.kind === "slot" &&
    only.expression.holds === "document";
  if (isDocument && others.length === 0) return;
  const message = "expected the alias of a whole document after RAW, VALUE or ELEMENT";
  throw semanticFault(message, projections[0]?.at);
}

/** The columns that were named, by name. */
function aliasMap(
  projections: readonly Projection[],
  columns: readonly OutputColumn[],
): Map<string, Expression> {
  const names = new Map<string, Expression>();
  for (const [i, column] of columns.entries()) {
    const projection = projections[i];
    if (column.kind !== "column" || projection?.kind !== "column") continue;
    if (projection.alias !== undefined) names.set(projection.alias, column.expression);
  }
  return names;
}

interface OrderNames {
  readonly names: ReadonlyMap<string, Expression>;
  readonly keys: readonly GroupKey[];
  readonly isGroupedAlready: boolean;
}

/**
 * ORDER BY sees the names of columns as well, but a field of the document goes before them: for each
 * document where there are no groups; where there are, if the term can do without the names.
 */
function bindOrder(
  terms: readonly OrderTerm[],
  scope: Scope,
  { names, keys, isGroupedAlready }: OrderNames,
): OrderTerm[] {
  const isGrouped = isGroupedAlready || (scope.aggregates?.all.length ?? 0) > 0;
  const resolve = (node: NameNode): Expression | undefined => {
    const named = names.get(node.name);
    const isTerm = scope.terms.some(({ alias }) => alias === node.name);
    if (named === undefined || isTerm) return undefined;
    return isGrouped || scope.terms.length !== 1 ? named : fieldOr(bindField(node, scope), named);
  };
  const withNames: Scope = { ...scope, resolve };
  return terms.map(({ expression, isDescending }) => {
    const isOfKeys = isGrouped && reducesToKeys(expression, scope, keys);
    return { expression: bindExpression(expression, isOfKeys ? scope : withNames), isDescending };
  });
}

/** The field where the document has it, else what the column of that name holds. */
function fieldOr(field: Expression, named: Expression): Expression {
  const { at } = field;
  const when: Expression = { kind: "is", what: "missing", isNegated: true, operand: field, at };
  return { kind: "case", whens: [{ when, result: field }], otherwise: named, at };
}

/** Whether an expression makes sense for a group without the names of columns. */
function reducesToKeys(expression: Expression, scope: Scope, keys: readonly GroupKey[]): boolean {
  // Only a try: what it takes and finds is thrown away.
  const slots = new Slots();
  try {
    reduceToKeys(
      bindExpression(expression, { ...scope, slots, aggregates: new Aggregates(slots) }),
      keys,
    );
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

function reduceColumn(
  column: OutputColumn,
  projections: readonly Projection[],
  reduce: (expression: Expression) => Expression,
): OutputColumn {
  if (column.kind === "all") {
    throw semanticFault("* cannot be used with groups or aggregates", projections[0]?.at);
  }
  return { ...column, expression: reduce(column.expression) };
}

/** Replaces group keys by their slots; what still reads a document then has no one value. */
function reduceToKeys(expression: Expression, keys: readonly GroupKey[]): Expression {
  const key = findKey(expression, keys);
  if (key !== undefined) {
    return { kind: "slot", slot: key.slot, holds: "value", name: "key", at: expression.at };
  }
  if (expression.kind === "slot" && expression.holds === "document") {
    const message = "expected only group keys and aggregates, found a field of the document";
    throw semanticFault(message, expression.at);
  }
  return mapChildren(expression, (child) => reduceToKeys(child, keys));
}

function findKey(expression: Expression, keys: readonly GroupKey[]): GroupKey | undefined {
  return keys.find((key) => isSameExpression(key.expression, expression));
}
