/**
 * Pages of documents: statements that read one page after a cursor, so a page of a million documents
 * is as quick as one of a hundred.
 *
 * In the order of ids, a cursor is the id beside the page. Comparisons hold within a type alone, so a
 * page reads a range of ids for each type, in their order. In another order a cursor is a number of
 * documents.
 */
import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import { placeIn } from "../values/message-place.ts";
import { fieldText, parsePath, pathText, quoteName } from "../values/names.ts";
import { type Condition, EVERYTHING } from "./filter.ts";

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
  if (typeof id === "number" || typeof id === "bigint") return 1;
  if (typeof id === "string") return 2;
  return Array.isArray(id) ? 3 : 4;
}

/**
 * The statements of a page, one after the other until the page is full. Each reads one document more
 * than are needed: it tells that there is another page. Those of a page that ends at a cursor are in
 * descending order.
 */
export function pageStatements(request: PageRequest): readonly PageStatement[] {
  const { collection, sort, cursor } = request;
  const id = fieldText(collection, ["_id"]);
  if (sort !== undefined) return [offsetStatement(request, sort)];
  if (cursor === undefined || "offset" in cursor) return [statementOf(request, id)];
  if ("after" in cursor) {
    const rank = rankOf(cursor.after);
    const first = { text: `${id} > :cursor`, args: { cursor: cursor.after } };
    const others = LEAST_IDS.slice(rank + 1).map((least) => fromId(id, least));
    return [first, ...others].map((test) => statementOf(request, id, test));
  }
  const rank = rankOf(cursor.before);
  const first = { text: `${id} < :cursor`, args: { cursor: cursor.before } };
  const others = LEAST_IDS.slice(0, rank)
    .toReversed()
    .map((least) => fromId(id, least));
  return [first, ...others].map((test) => statementOf(request, `${id} DESC`, test));
}

function fromId(id: string, least: string): Condition {
  return { text: `${id} >= ${least}`, args: {} };
}

function offsetStatement(request: PageRequest, sort: Sort): PageStatement {
  const { collection, cursor } = request;
  const offset = cursor !== undefined && "offset" in cursor ? cursor.offset : 0;
  const order = `${fieldText(collection, sort.path)}${sort.isDescending ? " DESC" : ""}`;
  const statement = statementOf(request, order);
  return offset === 0 ? statement : { ...statement, text: `${statement.text} OFFSET ${offset}` };
}

/** `test` is a range of ids. */
function statementOf(
  { collection, condition, size }: PageRequest,
  order: string,
  test: Condition = EVERYTHING,
): PageStatement {
  const from = `${quoteName(collection)}${whereText(condition, test)}`;
  const text = `SELECT * FROM ${from} ORDER BY ${order} LIMIT ${size + 1}`;
  return { text, args: { ...condition.args, ...test.args } };
}

/**
 * A condition as a clause, in parentheses: what follows cannot become a part of it, nor it a part of
 * that. `test` is one of the console. Throws an Error for a condition that would leave them.
 */
export function whereText(condition: Condition, test: Condition = EVERYTHING): string {
  const own = condition.text === "" ? "" : `(${enclosed(condition)})`;
  const tests = [own, test.text].filter((text) => text !== "");
  return tests.length === 0 ? "" : ` WHERE ${tests.join(" AND ")}`;
}

/** With a line end, because the text may end with a comment. */
function enclosed({ text }: Condition): string {
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    if (part === "(") depth++;
    if (part !== ")" || depth-- > 0) continue;
    throw new Error(`expected an operator, found ")" at character ${index + 1} of the condition`);
  }
  return `${text}\n`;
}

/** Comments, texts, names in backticks, and parentheses beside them. */
const PARTS = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"|`[^`]*`|[()]/g;

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
  const [, name = "", direction] = /^(.*?)( desc)?$/s.exec(text ?? "") ?? [];
  const path = parsePath(name);
  return path === undefined ? undefined : { path, isDescending: direction !== undefined };
}

/** Several, with commas between them; undefined if one of them is none. */
export function parseSorts(text: string): readonly Sort[] | undefined {
  const sorts = text.split(/,(?=(?:[^`]*`[^`]*`)*[^`]*$)/).map((part) => {
    return parseSort(
      part.trim().replace(/\s+(?:(desc)|asc)$/i, (_, desc) => (desc ? " desc" : "")),
    );
  });
  return sorts.every((sort) => sort !== undefined) ? sorts : undefined;
}

/** A cursor as values of the address. */
export function formatCursor(cursor: Cursor | undefined): {
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly offset: string | undefined;
} {
  const none = { after: undefined, before: undefined, offset: undefined };
  if (cursor === undefined) return none;
  if ("after" in cursor) return { ...none, after: stringifyExact(cursor.after) };
  if ("before" in cursor) return { ...none, before: stringifyExact(cursor.before) };
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
    return text === undefined ? undefined : parseExact(text);
  } catch {
    return undefined;
  }
}

/** An id as short text, with quotes only where it could be taken for another type. */
export function idText(id: unknown): string {
  return typeof id === "string" && !isLikeJson(id) ? id : stringifyExact(id);
}

/** Whether the server, or a reader, would take a text for a value in JSON. */
function isLikeJson(text: string): boolean {
  if (/^\s*([[{"]|$)/.test(text)) return true;
  try {
    parseExact(text);
    return true;
  } catch {
    return false;
  }
}
