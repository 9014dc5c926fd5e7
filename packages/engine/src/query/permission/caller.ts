/**
 * bindQuery: fills `:userId` and `:claims.team` of the caller into permission queries (P22).
 *
 * They become literals when the caller logs in. So permission checks, index choice, subscriptions
 * and listings of rights know no parameters, and different claims are different permissions.
 */

import { stringifyJson } from "@bigpeer/protocol";
import { BoundedCache } from "../bounded-cache.ts";
import { semanticFault } from "../fault.ts";
import { Lexer } from "../syntax/lexer.ts";
import { parseFilter } from "../syntax/parse-filter.ts";
import type { ParameterNode } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { nameHint } from "../unknown-name.ts";

/** The caller, as authenticated by the provider. */
export interface Caller {
  readonly userId: string;
  /** Claims of the token, or further properties from a webhook. */
  readonly claims: { readonly [name: string]: unknown };
}

/** Limits on list elements and characters of a claim; a longer claim counts as absent. */
const ELEMENTS_MAX = 1000;
const LITERAL_LENGTH_MAX = 16_384;

/** Replaces a query that names an absent claim. */
const NOTHING = "false";

/** A query in parts: texts, and between them paths into the caller. */
interface Template {
  readonly texts: readonly string[];
  readonly paths: readonly (readonly string[])[];
}

const KEPT_COUNT = 1024;
const KEPT_LENGTH_MAX = 2048;
const kept = new BoundedCache<string, Template>(KEPT_COUNT);

/** The query for this caller; unchanged if it does not name the caller. */
export function bindQuery(query: string, caller: Caller): string {
  if (!query.includes(":")) return query;
  const { texts, paths } = templateOf(query);
  let bound = texts[0] ?? "";
  for (const [i, path] of paths.entries()) {
    const literal = literalOf(valueAt(caller, path));
    if (literal === undefined) return NOTHING;
    bound += ` ${literal} ${texts[i + 1] ?? ""}`;
  }
  return bound;
}

/** The query with a text in the place of each parameter, for compilation. Throws a Fault. */
export function withPlaceholders(query: string): string {
  return templateOf(query).texts.join(' "" ');
}

function templateOf(query: string): Template {
  return query.length > KEPT_LENGTH_MAX ? readTemplate(query) : kept.obtain(query, readTemplate);
}

function readTemplate(query: string): Template {
  const found = new Map<number, ParameterNode>();
  eachNode(parseFilter(query), (node) => {
    if (node.kind === "parameter") found.set(node.at, node);
  });
  const texts: string[] = [];
  const paths: string[][] = [];
  let from = 0;
  for (const [at, node] of [...found].sort(([a], [b]) => a - b)) {
    const { path, end } = readPath(query, node);
    texts.push(query.slice(from, at));
    paths.push(path);
    from = end;
  }
  return { texts: [...texts, query.slice(from)], paths };
}

/** `:userId`, or `:claims` with the names behind it. */
function readPath(query: string, { at, name }: ParameterNode): { path: string[]; end: number } {
  const lexer = new Lexer(query.slice(at));
  const isColon = lexer.next().type === ":";
  let { end } = lexer.next();
  const path = [name];
  if (name === "claims") {
    for (let dot = lexer.next(); dot.type === "."; dot = lexer.next()) {
      const field = lexer.next();
      path.push(field.text);
      end = field.end;
    }
  }
  const isKnown = name === "userId" || (name === "claims" && path.length > 1);
  if (isKnown && isColon) return { path, end: at + end };
  const found = name === "claims" ? ":claims without a name" : `the parameter ${name}`;
  const hint = nameHint(name, ["userId", "claims"])?.replace("mean ", "mean :");
  throw semanticFault(`expected :userId or :claims.name, found ${found}`, at, hint);
}

function valueAt({ userId, claims }: Caller, [root, ...names]: readonly string[]): unknown {
  if (root === "userId") return userId;
  let value: unknown = claims;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as { readonly [name: string]: unknown })[name];
  }
  return value;
}

/** The value as a literal of the language; undefined if a document cannot be compared with it. */
function literalOf(value: unknown): string | undefined {
  const text = Array.isArray(value) ? listOf(value) : scalarOf(value);
  return text !== undefined && text.length <= LITERAL_LENGTH_MAX ? text : undefined;
}

function listOf(list: readonly unknown[]): string | undefined {
  if (list.length > ELEMENTS_MAX) return undefined;
  const elements = list.map(scalarOf);
  return elements.includes(undefined) ? undefined : `[${elements.join(", ")}]`;
}

function scalarOf(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? stringifyJson(value) : undefined;
    case "number":
    case "bigint":
      if (typeof value === "number" && !Number.isFinite(value)) return undefined;
      // A sign could merge with one before it.
      return value < 0 ? `(${value})` : String(value);
    case "boolean":
      return String(value);
    default:
      return undefined;
  }
}
