/**
 * bindOutput: binds the result of a SELECT or RETURNING: columns, groups, order.
 *
 * With a GROUP BY, an aggregate or a HAVING, all results must consist of group keys and aggregates.
 * Equal expressions are recognised after binding, so `kind` and `x.kind` are one key.
 */

import { TERMS_MAX } from "../../limits.ts";
import { Fault, semanticFault } from "../fault.ts";
import { ExpressionIds } from "../syntax/expression-ids.ts";
import { printPath } from "../syntax/print-path.ts";
import type {
  ColumnProjection,
  Expression,
  NameNode,
  OrderTerm,
  Projection,
  SlotNode,
} from "../syntax/tree.ts";
import { mapChildren } from "../syntax/tree-walk.ts";
import { cutName } from "../unknown-name.ts";
import {
  Aggregates,
  type BoundAggregate,
  bindExpression,
  bindField,
  type Scope,
  type Slots,
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
  /** No GROUP BY: one group, even without a row. */
  readonly isWhole: boolean;
}

export interface Output {
  readonly columns: readonly OutputColumn[];
  /** The rows are the documents themselves. */
  readonly isRaw: boolean;
  readonly grouping: Grouping | undefined;
  /** Columns that ORDER BY names: computed once for each row, into slots, before all else. */
  readonly shared: readonly SharedColumn[];
  readonly order: readonly OrderTerm[];
}

export interface SharedColumn {
  readonly expression: Expression;
  readonly slot: number;
}

export interface OutputClauses {
  readonly projections: readonly Projection[];
  readonly isRaw?: boolean;
  readonly groupBy?: readonly Expression[];
  readonly having?: Expression;
  readonly orderBy?: readonly OrderTerm[];
}

export function bindOutput(clauses: OutputClauses, scope: Scope): Output {
  checkCount("GROUP BY", clauses.groupBy ?? []);
  checkCount("ORDER BY", clauses.orderBy?.map(({ expression }) => expression) ?? []);
  const aggregates = new Aggregates(scope.slots);
  const inner: Scope = { ...scope, aggregates };
  const keys = (clauses.groupBy ?? []).map((key) => bindKey(key, scope));
  const columns = bindColumns(clauses.projections, inner);
  const having = clauses.having && bindExpression(clauses.having, inner);
  const isGroupedAlready = clauses.groupBy !== undefined || having !== undefined;
  const names = new ColumnNames(clauses.projections, columns, scope.slots);
  const order = bindOrder(clauses.orderBy ?? [], inner, { names, isGroupedAlready });
  if (clauses.isRaw === true) checkRaw(columns, clauses.projections);
  checkStar(columns, clauses.projections);
  const isRaw = clauses.isRaw === true;
  const shared = names.shared;
  const output: Output = { columns: names.columns, isRaw, grouping: undefined, shared, order };
  if (!isGroupedAlready && aggregates.all.length === 0) return output;
  const isWhole = clauses.groupBy === undefined;
  const all = aggregates.all;
  return reduceOutput(output, { keys, aggregates: all, having, isWhole }, clauses);
}

function checkCount(clause: string, terms: readonly Expression[]): void {
  if (terms.length <= TERMS_MAX) return;
  const message = `expected at most ${TERMS_MAX} expressions after ${clause}`;
  throw new Fault("query.too_large", message, terms[TERMS_MAX]?.at);
}

/** Expresses everything by group keys and aggregates. */
function reduceOutput(
  output: Output,
  grouping: Grouping,
  { projections, orderBy }: OutputClauses,
): Output {
  const { keys, having, isWhole } = grouping;
  // RETURNING has neither an order nor groups.
  const known = new KeysById(keys, isWhole && orderBy !== undefined ? projections : []);
  const reduce = (expression: Expression): Expression => reduceToKeys(expression, known);
  const reduced = <T extends { readonly expression: Expression }>(term: T): T => ({
    ...term,
    expression: reduce(term.expression),
  });
  return {
    columns: output.columns.map((column) => reduceColumn(column, projections, reduce)),
    isRaw: output.isRaw,
    grouping: { ...grouping, having: having && reduce(having) },
    shared: output.shared.map(reduced),
    order: output.order.map(reduced),
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
    only?.kind === "column" && only.expression.kind === "slot" && isOfRow(only.expression.holds);
  if (isDocument && others.length === 0) return;
  const message = "expected the alias of a whole document after RAW, VALUE or ELEMENT";
  throw semanticFault(message, projections[0]?.at);
}

/** The columns by their aliases, and which of them ORDER BY uses. */
class ColumnNames {
  readonly #columns: OutputColumn[];
  readonly #byName = new Map<string, number>();
  readonly #shared = new Map<string, SharedColumn>();
  readonly #slots: Slots;

  constructor(projections: readonly Projection[], columns: readonly OutputColumn[], slots: Slots) {
    this.#columns = [...columns];
    this.#slots = slots;
    for (const [i, projection] of projections.entries()) {
      const alias = projection.kind === "column" ? projection.alias : undefined;
      if (alias !== undefined) this.#byName.set(alias, i);
    }
  }

  /** A column that ORDER BY names also reads its value from the slot. */
  get columns(): readonly OutputColumn[] {
    return this.#columns;
  }

  get shared(): readonly SharedColumn[] {
    return [...this.#shared.values()];
  }

  /** Resolves a name to the slot that will hold the column. */
  find(name: string, at: number): Expression | undefined {
    const index = this.#byName.get(name);
    const column = index === undefined ? undefined : this.#columns[index];
    if (index === undefined || column?.kind !== "column") return undefined;
    let shared = this.#shared.get(name);
    if (shared === undefined) {
      shared = { expression: column.expression, slot: this.#slots.take() };
      this.#shared.set(name, shared);
      const { slot } = shared;
      const expression: Expression = { kind: "slot", slot, holds: "value", name, at };
      this.#columns[index] = { ...column, expression };
    }
    return { kind: "slot", slot: shared.slot, holds: "value", isColumn: true, name, at };
  }
}

interface OrderNames {
  readonly names: ColumnNames;
  readonly isGroupedAlready: boolean;
}

/**
 * In ORDER BY, column names take precedence over fields and aliases of FROM. Only the `_id` of a
 * document takes precedence over a column of that name.
 */
function bindOrder(
  terms: readonly OrderTerm[],
  scope: Scope,
  { names, isGroupedAlready }: OrderNames,
): OrderTerm[] {
  const isGrouped = isGroupedAlready || (scope.aggregates?.all.length ?? 0) > 0;
  const resolve = (node: NameNode): Expression | undefined => {
    const named = names.find(node.name, node.at);
    if (named === undefined || node.name !== "_id" || isGrouped) return named;
    const documents = scope.terms.filter(({ isElement }) => isElement !== true);
    return documents.length === 1 ? fieldOr(bindField(node, scope), named) : named;
  };
  const withNames: Scope = { ...scope, resolve };
  return terms.map((term) => ({
    ...term,
    expression: bindExpression(term.expression, withNames),
  }));
}

/** The field if the document has it, else the column of that name. */
function fieldOr(field: Expression, named: Expression): Expression {
  const { at } = field;
  const when: Expression = { kind: "is", what: "missing", isNegated: true, operand: field, at };
  return { kind: "case", whens: [{ when, result: field }], otherwise: named, at };
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

/** Replaces group keys by their slots; a remaining field of a document is ambiguous in a group. */
function reduceToKeys(expression: Expression, keys: KeysById): Expression {
  const key = keys.find(expression);
  if (key !== undefined) {
    return { kind: "slot", slot: key.slot, holds: "value", name: "key", at: expression.at };
  }
  if (expression.kind === "slot" && isOfRow(expression.holds)) {
    const message = "expected only group keys and aggregates, found a field of the document";
    throw semanticFault(message, expression.at, keys.hint());
  }
  if (expression.kind === "subquery" && expression.bound?.imports.some((i) => isOfRow(i.holds))) {
    const message =
      "expected only group keys and aggregates, found a SELECT that reads the document";
    throw semanticFault(message, expression.at);
  }
  return mapChildren(expression, (child) => reduceToKeys(child, keys));
}

/** Whether a slot holds a part of the row itself rather than a computed value. */
function isOfRow(holds: SlotNode["holds"]): boolean {
  return holds === "document" || holds === "element";
}

/** The path of `a` or `a.b`; undefined for another expression. */
function namedPath(expression: Expression): readonly string[] | undefined {
  if (expression.kind === "name") return [expression.name];
  if (expression.kind !== "field" || expression.of.kind !== "name") return undefined;
  return [expression.of.name, expression.name];
}

/** Limit on the columns in a hint, which people read. */
const HINTED_MAX = 8;

/** Group keys by their meaning: every part of every column is looked up among them. */
class KeysById {
  readonly #ids = new ExpressionIds();
  readonly #keys = new Map<number, GroupKey>();
  readonly #kinds: ReadonlySet<Expression["kind"]>;
  readonly #ungrouped: readonly Projection[];

  /** `ungrouped`: the columns of a statement without GROUP BY, for a hint. */
  constructor(keys: readonly GroupKey[], ungrouped: readonly Projection[]) {
    this.#ungrouped = ungrouped;
    for (const key of keys.toReversed()) this.#keys.set(this.#ids.idOf(key.expression), key);
    this.#kinds = new Set(keys.map(({ expression }) => expression.kind));
  }

  find(expression: Expression): GroupKey | undefined {
    if (!this.#kinds.has(expression.kind)) return undefined;
    return this.#keys.get(this.#ids.idOf(expression));
  }

  /** The columns that are paths, as keys of the missing GROUP BY. */
  hint(): string | undefined {
    const paths = this.#ungrouped.slice(0, HINTED_MAX).flatMap((projection) => {
      const path = projection.kind === "column" ? namedPath(projection.expression) : undefined;
      return path === undefined ? [] : [cutName(printPath(path))];
    });
    return paths.length === 0 ? undefined : `add GROUP BY ${paths.join(", ")}`;
  }
}
