/**
 * Pages of documents: statements that read one page after a cursor, so a page of a million documents
 * is as quick as one of a hundred.
 *
 * In the order of ids, a cursor is the id beside the page. Comparisons hold within a type alone, so a
 * page reads a range of ids for each type, in their order. In another order a cursor is a number of
 * documents.
 */
import { placeIn } from "../values/message-place.ts";
import { parsePath, pathText, quoteName } from "../values/names.ts";
import type { Condition } from "./filter.ts";

export interface Sort {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

/** Where a page begins, or where it ends. */
export type Cursor =
  | { readonly after: unknown }
  | { readonly before: unknown }
  | { readonly offset: number };

export interface PageRequest {
  readonly collection: string;
  readonly condition: Condition;
  /** Undefined is the order of ids. */
  readonly sort: Sort | undefined;
  readonly cursor: Cursor | undefined;
  readonly size: number;
}

export interface PageStatement {
  readonly text: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The least id of each type, in the order of types. Ids in binary cannot be written in JSON. */
const LEAST_IDS: readonly string[] = ["false", "-9223372036854775808", "''", "[]", "{}"];

function rankOf(id: unknown): number {
  if (typeof id === "boolean") return 0;
  if (typeof id === "number") return 1;
  if (typeof id === "string") return 2;
  return Array.isArray(id) ? 3 : 4;
}

/**
 * The statements of a page, one after the other until the page is full. Each reads one document more
 * than are needed: it tells that there is another page. Those of a page that ends at a cursor are in
 * descending order.
 */
export function pageStatements(request: PageRequest): readonly PageStatement[] {
  const { sort, cursor, condition } = request;
  if (sort !== undefined) return [offsetStatement(request, sort)];
  if (cursor === undefined || "offset" in cursor) return [statementOf(request, condition, "_id")];
  if ("after" in cursor) {
    const rank = rankOf(cursor.after);
    const first = withTest(condition, "_id > :cursor", { cursor: cursor.after });
    const others = LEAST_IDS.slice(rank + 1).map((least) => withTest(condition, `_id >= ${least}`));
    return [first, ...others].map((each) => statementOf(request, each, "_id"));
  }
  const rank = rankOf(cursor.before);
  const first = withTest(condition, "_id < :cursor", { cursor: cursor.before });
  const others = LEAST_IDS.slice(0, rank)
    .toReversed()
    .map((least) => withTest(condition, `_id >= ${least}`));
  return [first, ...others].map((each) => statementOf(request, each, "_id DESC"));
}

function offsetStatement(request: PageRequest, sort: Sort): PageStatement {
  const { cursor, condition } = request;
  const offset = cursor !== undefined && "offset" in cursor ? cursor.offset : 0;
  const order = `${pathText(sort.path)}${sort.isDescending ? " DESC" : ""}`;
  const statement = statementOf(request, condition, order);
  return offset === 0 ? statement : { ...statement, text: `${statement.text} OFFSET ${offset}` };
}

function statementOf(request: PageRequest, condition: Condition, order: string): PageStatement {
  const { collection, size } = request;
  const where = condition.text === "" ? "" : ` WHERE ${condition.text}`;
  const text = `SELECT * FROM ${quoteName(collection)}${where} ORDER BY ${order} LIMIT ${size + 1}`;
  return { text, args: condition.args };
}

function withTest(condition: Condition, test: string, args: Condition["args"] = {}): Condition {
  const text = condition.text === "" ? test : `(${condition.text}) AND ${test}`;
  return { text, args: { ...condition.args, ...args } };
}

const PLACE = / at line \d+, column \d+(?:, near `.*?`(?=;| \(|$))?/s;

/**
 * A failure of a page in the words of its filter: the place is one in the condition, not one in the
 * statement around it, which the person has not written.
 */
export function conditionFault(
  message: string,
  statement: string,
  { text: condition }: Condition,
): string {
  const place = placeIn(message, statement);
  if (place === undefined || condition === "") return message;
  const start = statement.indexOf(condition, statement.indexOf(" WHERE "));
  const at = place - start;
  if (at < 0) return message;
  if (at < condition.length)
    return message.replace(PLACE, ` at character ${at + 1} of the condition`);
  return message.replace(PLACE, "").replace(/found "[^"]*"/, "found the end of the condition");
}

/** `year` or `owner.city desc`. */
export function formatSort(sort: Sort | undefined): string {
  return sort === undefined ? "" : `${pathText(sort.path)}${sort.isDescending ? " desc" : ""}`;
}

export function parseSort(text: string | undefined): Sort | undefined {
  const [, name = "", direction] = /^(.*?)( desc)?$/.exec(text ?? "") ?? [];
  const path = parsePath(name);
  return path === undefined ? undefined : { path, isDescending: direction !== undefined };
}

/** A cursor as values of the address. */
export function formatCursor(cursor: Cursor | undefined): {
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly offset: string | undefined;
} {
  const none = { after: undefined, before: undefined, offset: undefined };
  if (cursor === undefined) return none;
  if ("after" in cursor) return { ...none, after: JSON.stringify(cursor.after) };
  if ("before" in cursor) return { ...none, before: JSON.stringify(cursor.before) };
  return { ...none, offset: cursor.offset === 0 ? undefined : String(cursor.offset) };
}

export function parseCursor(query: Readonly<Record<string, string>>): Cursor | undefined {
  const after = parseId(query["after"]);
  if (after !== undefined) return { after };
  const before = parseId(query["before"]);
  if (before !== undefined) return { before };
  const offset = Number(query["offset"] ?? 0);
  return Number.isSafeInteger(offset) && offset > 0 ? { offset } : undefined;
}

/** An id of the address, as JSON; undefined if it is none. */
export function parseId(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
