/**
 * The slow obvious evaluator: SELECT and UNION over plain arrays of documents.
 *
 * Every step is done in full before the next: all pairs of a join, all filters, all groups, all
 * rows, then the order. What comes out is not one list but runs of rows that may stand in any order
 * among themselves, so that an answer can be checked without asking for more than was promised.
 */
import {
  equalValues,
  type MutableObject,
  setField,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Run } from "../../../src/query/frame/frame.ts";
import type {
  CollectionRef,
  Expression,
  Join,
  OrderTerm,
  Projection,
  Query,
  SelectStatement,
  SourceTerm,
  UnionStatement,
  Unnest,
} from "../../../src/query/syntax/tree.ts";
import {
  type Datum,
  Failure,
  isDatumArray,
  isDatumObject,
  type Outcome,
  toValue,
} from "../../../src/query/value/datum.ts";
import { textOf } from "../../conformance/runner.ts";
import { AGGREGATES } from "./aggregation.ts";
import { evaluate, holds, type Scope } from "./expression.ts";
import { compareKeys } from "./order.ts";

export type Documents = (collection: CollectionRef) => readonly ValueObject[];

export interface ExpectedRows {
  /** Each run before the next; inside a run any order is right. */
  readonly runs: readonly (readonly Value[])[];
  readonly offset: number;
  readonly limit: number;
}

/** `around`: the row that the query stands in. */
export function queryRows(
  query: Query,
  documents: Documents,
  run: Run,
  around?: Scope,
): ExpectedRows {
  const world: World = { documents, run, around };
  const rows = query.kind === "select" ? selectRows(query, world) : unionRows(query, world);
  const bound = (node: Expression | undefined, absent: number): number =>
    node === undefined ? absent : Number(evaluate(node, emptyScope(world)));
  return {
    runs: orderRows(rows, query.orderBy),
    offset: bound(query.offset, 0),
    limit: bound(query.limit, Number.POSITIVE_INFINITY),
  };
}

/** What holds for all rows of a query. */
interface World {
  readonly documents: Documents;
  readonly run: Run;
  readonly around: Scope | undefined;
}

function plainRows(query: Query, { documents, run }: World, around?: Scope): readonly Value[] {
  const { runs, offset, limit } = queryRows(query, documents, run, around);
  return runs.flat().slice(offset, offset + limit);
}

function selectRows(statement: SelectStatement, world: World): ProjectedRow[] {
  const rows = filter(statement.where, joinAll(statement, world));
  const scopes = filter(statement.having, groupRows(statement, rows, world));
  const projected = scopes.map((scope) => projectRow(statement, scope));
  return statement.isDistinct ? withoutDuplicateRows(projected) : projected;
}

/** The names in ORDER BY are those of the columns. */
function unionRows({ first, others }: UnionStatement, world: World): ProjectedRow[] {
  let rows = selectRows(first, world);
  for (const { select, isAll } of others) {
    rows = [...rows, ...selectRows(select, world)];
    if (!isAll) rows = withoutDuplicateRows(rows);
  }
  return rows.map(({ row }) => {
    const scope = { ...emptyScope(world), documents: new Map([["", row]]) };
    return { row, scope };
  });
}

/** How an answer differs from what may be expected. */
export function checkRows(
  { runs, offset, limit }: ExpectedRows,
  found: readonly Value[],
): string | undefined {
  const total = runs.reduce((count, run) => count + run.length, 0);
  const expectedCount = Math.max(0, Math.min(limit, total - offset));
  if (found.length !== expectedCount) {
    return `expected ${expectedCount} rows of ${describeRuns(runs)}, found ${textOf(found)}`;
  }
  let start = -offset;
  for (const run of runs) {
    const end = start + run.length;
    const part = found.slice(Math.max(0, start), Math.max(0, end)).map(textOf);
    const left = run.map(textOf);
    for (const row of part) {
      const at = left.indexOf(row);
      if (at < 0) return `expected ${describeRuns(runs)}, found ${textOf(found)}`;
      left.splice(at, 1);
    }
    start = end;
  }
  return undefined;
}

function describeRuns(runs: ExpectedRows["runs"]): string {
  return runs.map((run) => `(${run.map(textOf).join(", ")})`).join(" then ");
}

function emptyScope(world: World): Scope {
  const { run, around } = world;
  return {
    run,
    documents: new Map(),
    variables: [],
    rowsOf: (query, scope) => plainRows(query, world, scope),
    ...(around && { around }),
  };
}

function filter(condition: Expression | undefined, scopes: readonly Scope[]): readonly Scope[] {
  return condition === undefined ? scopes : scopes.filter((scope) => holds(condition, scope));
}

function joinAll(statement: SelectStatement, world: World): readonly Scope[] {
  const { from } = statement;
  let rows: readonly Scope[] = termDocuments(from, world).map((document) =>
    withDocument(emptyScope(world), aliasOf(from), document),
  );
  const aliases = [aliasOf(from)];
  for (const join of statement.joins) {
    if (join.type === "unnest") rows = rows.flatMap((row) => unnest(row, join));
    else {
      rows = joinRows(rows, join, termDocuments(join.term, world), nowhere(aliases, world));
      aliases.push(aliasOf(join.term));
    }
  }
  return rows;
}

function aliasOf(term: SourceTerm): string {
  return "query" in term ? term.alias : (term.alias ?? term.collection.name);
}

function withDocument(scope: Scope, alias: string, document: Datum): Scope {
  return { ...scope, documents: new Map([...scope.documents, [alias, document]]) };
}

/** The row once for each element of an array, or not at all. */
function unnest(row: Scope, { of, alias, isOuter }: Unnest): Scope[] {
  const name = alias ?? (of.kind === "field" || of.kind === "name" ? of.name : "");
  const array = evaluate(of, row);
  const elements: Datum[] = isDatumArray(array) ? [...array] : [];
  if (elements.length === 0 && isOuter) elements.push(undefined);
  const named = { ...row, elements: new Set([...(row.elements ?? []), name]) };
  return elements.map((element) => withDocument(named, name, element));
}

/** A row in which nothing was found. */
function nowhere(aliases: readonly string[], world: World): Scope {
  const documents = new Map(aliases.map((alias) => [alias, undefined] as const));
  return { ...emptyScope(world), documents };
}

/** Every row with every document. */
function joinRows(
  rows: readonly Scope[],
  { type, term, on }: Join,
  others: readonly ValueObject[],
  unmatched: Scope,
): Scope[] {
  const alias = aliasOf(term);
  const pairs = (row: Scope, other: ValueObject): Scope[] => {
    const pair = withDocument(row, alias, other);
    return holds(on, pair) ? [pair] : [];
  };
  if (type === "right") {
    // A LEFT JOIN from the other side, also in its order.
    return others.flatMap((other) => {
      const matched = rows.flatMap((row) => pairs(row, other));
      return matched.length > 0 ? matched : [withDocument(unmatched, alias, other)];
    });
  }
  return rows.flatMap((row) => {
    const matched = others.flatMap((other) => pairs(row, other));
    if (matched.length > 0 || type !== "left") return matched;
    return [withDocument(row, alias, undefined)];
  });
}

function termDocuments(term: SourceTerm, world: World): readonly ValueObject[] {
  // It sees nothing of what stands around it.
  if ("query" in term) return plainRows(term.query, world) as readonly ValueObject[];
  const found = world.documents(term.collection);
  if (term.use === undefined) return found;
  switch (term.use.kind) {
    case "ids":
      return byIds(
        found,
        term.use.ids.map((node) => evaluate(node, emptyScope(world))),
      );
    case "id_list":
      return byIds(found, evaluate(term.use.list, emptyScope(world)) as Outcome[]);
    case "index":
    case "directives":
      return found;
    default:
      return unreachable(term.use);
  }
}

/** A document for each id, as often as the id is named. */
function byIds(found: readonly ValueObject[], ids: readonly Outcome[]): readonly ValueObject[] {
  return ids.flatMap((id) => {
    const value = valueOf(id);
    if (value === undefined) return [];
    return found.filter((document) => equalValues(document["_id"], value));
  });
}

/** One scope for each group; without groups, the rows themselves. */
function groupRows(
  { groupBy, projections, having, orderBy }: SelectStatement,
  rows: readonly Scope[],
  world: World,
): readonly Scope[] {
  if (groupBy === undefined) {
    const nodes = [...projections, having, ...orderBy];
    return nodes.some(hasAggregate) ? [{ ...(rows[0] ?? emptyScope(world)), group: rows }] : rows;
  }
  const groups = new Map<string, Scope[]>();
  for (const row of rows) {
    const key = groupBy.map((node) => textOf(valueOf(evaluate(node, row)))).join("|");
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  // Whatever is not aggregated is made of the keys, so any row of the group will do for it.
  return [...groups.values()].map((group) => ({ ...(group[0] ?? emptyScope(world)), group }));
}

function hasAggregate(node: unknown): boolean {
  if (typeof node !== "object" || node === null) return false;
  const { kind, name } = node as { kind?: unknown; name?: unknown };
  if (kind === "call" && AGGREGATES.has(String(name))) return true;
  // A query has aggregates of its own.
  if (kind === "subquery") return false;
  return Object.values(node).some(hasAggregate);
}

/** What went wrong shows nothing. */
function valueOf(outcome: Outcome): Value | undefined {
  return outcome instanceof Failure || outcome === undefined ? undefined : toValue(outcome);
}

interface ProjectedRow {
  readonly row: Value;
  /** For ORDER BY. */
  readonly scope: Scope;
}

function projectRow({ projections, isRaw, joins }: SelectStatement, scope: Scope): ProjectedRow {
  const columns = new Map<string, Outcome>();
  const row: MutableObject = {};
  for (const [i, projection] of projections.entries()) {
    if (projection.kind === "column") {
      const outcome = evaluate(projection.expression, scope);
      if (projection.alias !== undefined) columns.set(projection.alias, outcome);
      setPresent(row, columnName(projection, i), outcome);
      if (isRaw) return { row: valueOf(outcome) ?? null, scope: { ...scope, columns } };
    } else {
      spread(row, projection, scope, joins.length > 0);
    }
  }
  return { row, scope: { ...scope, columns } };
}

function columnName(projection: Extract<Projection, { kind: "column" }>, i: number): string {
  const { alias, expression, isWrapped } = projection;
  if (alias !== undefined) return alias;
  if (isWrapped === true) return `($${i + 1})`;
  return expression.kind === "field" || expression.kind === "name"
    ? expression.name
    : `($${i + 1})`;
}

function spread(
  row: MutableObject,
  projection: Exclude<Projection, { kind: "column" }>,
  scope: Scope,
  isJoined: boolean,
): void {
  if (projection.kind === "all" && isJoined) {
    for (const [alias, document] of scope.documents) setPresent(row, alias, document);
    return;
  }
  const [first] = scope.documents.values();
  const whole: Outcome = projection.kind === "all" ? first : evaluate(projection.of, scope);
  if (!isDatumObject(whole)) return;
  for (const [key, field] of Object.entries(whole)) setPresent(row, key, field);
}

function setPresent(row: MutableObject, key: string, outcome: Outcome): void {
  const value = valueOf(outcome);
  if (value !== undefined) setField(row, key, value);
}

function withoutDuplicateRows(rows: readonly ProjectedRow[]): ProjectedRow[] {
  const seen = new Set<string>();
  return rows.filter(({ row }) => {
    const text = textOf(row);
    const isNew = !seen.has(text);
    seen.add(text);
    return isNew;
  });
}

interface Keyed {
  readonly keys: readonly (Value | undefined)[];
}

function orderRows(rows: readonly ProjectedRow[], orderBy: readonly OrderTerm[]): Value[][] {
  const keyed = rows.map(({ row, scope }) => ({
    row,
    keys: orderBy.map(({ expression }) => sortKey(evaluate(expression, scope))),
  }));
  const compare = (a: Keyed, b: Keyed): number => compareKeys(a.keys, b.keys, orderBy);
  const runs: Value[][] = [];
  let before: Keyed | undefined;
  for (const each of keyed.sort(compare)) {
    if (before !== undefined && compare(before, each) === 0) runs.at(-1)?.push(each.row);
    else runs.push([each.row]);
    before = each;
  }
  return runs;
}

/** What went wrong sorts as null does. */
function sortKey(outcome: Outcome): Value | undefined {
  if (outcome instanceof Failure) return null;
  return outcome === undefined ? undefined : toValue(outcome);
}
