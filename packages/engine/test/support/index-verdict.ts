/**
 * What the slow obvious evaluator expects of a question about indexes: rows in their order, the
 * documents that a filter chooses, what a mutation leaves.
 *
 * Rows are expected in the one order that is promised: without ORDER BY, and where its keys are equal,
 * that of ids.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { parseFilter, parseFilterPath } from "../../src/query/syntax/parse-filter.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import type { Query, RemoveStatement, UpdateStatement } from "../../src/query/syntax/tree.ts";
import { textOf } from "../conformance/runner.ts";
import { evaluate, holds, type Scope } from "../query/oracle/expression.ts";
import { mutate } from "../query/oracle/mutate.ts";
import { oracleRun } from "../query/oracle/oracle-run.ts";
import { compareKeys } from "../query/oracle/order.ts";
import { type Documents, queryRows } from "../query/oracle/select.ts";
import type { FilterRequest } from "./filter-request.ts";
import type { Asked } from "./index-script.ts";
import type { Reply } from "./permission-answer.ts";

/** What may be read of a collection now, in the order of ids. */
export type Readable = (collection: string) => readonly ValueObject[];

/** How an answer differs from what was expected; `after` is what may be read then. */
export type Verdict = (found: Reply, after: Readable) => string | undefined;

/**
 * It does not know declared types, adds up what is not exact in another order, and writes large
 * numbers in another way.
 */
const BEYOND = /\bCOLLECTION\b|\b(sum|avg|median)\(|\bAS STRING\b/;

/** The verdict on an answer, made before it is known; undefined where there can be none. */
export function verdictOn(asked: Asked, readable: Readable): Verdict | undefined {
  try {
    if (asked.kind === "find" || asked.kind === "count") return verdictOnFilter(asked, readable);
    if (asked.kind !== "statement" || asked.isStrict) return undefined;
    if (BEYOND.test(asked.statement)) return undefined;
    const { statement } = parseStatement(asked.statement);
    const documents = heldDocuments(readable);
    switch (statement.kind) {
      case "select":
      case "union":
        return verdictOnQuery(statement, asked.args, documents);
      case "update":
      case "remove":
        return verdictOnMutation(statement, asked.args, documents);
      default:
        return undefined;
    }
  } catch {
    // Of what it does not know it has nothing to say.
    return undefined;
  }
}

/** Read once for a question. */
function heldDocuments(readable: Readable): Documents {
  const held = new Map<string, readonly ValueObject[]>();
  return ({ name }) => {
    const known = held.get(name) ?? readable(name);
    held.set(name, known);
    return known;
  };
}

function verdictOnQuery(query: Query, args: ValueObject, documents: Documents): Verdict {
  const { runs, offset, limit } = queryRows(query, documents, oracleRun(args));
  const rows = runs.flat().slice(offset, offset + limit);
  return ({ rows: found }) => listDifference(rows, found);
}

function verdictOnFilter(asked: FilterRequest, readable: Readable): Verdict {
  const filter = parseFilter(asked.query);
  const run = oracleRun(asked.args);
  const scopeOf = (document: ValueObject): Scope => {
    return { run, documents: new Map([["", document]]), variables: [] };
  };
  const found = readable(asked.collection).filter((document) => holds(filter, scopeOf(document)));
  if (asked.kind === "count") {
    const expected = [found.length];
    return ({ count }) => listDifference(expected, [count]);
  }
  const terms = asked.sort.map(({ property, isDescending }) => {
    return { expression: parseFilterPath(property), isDescending };
  });
  // Paths never fail.
  const keysOf = (document: ValueObject): (Value | undefined)[] =>
    terms.map(({ expression }) => evaluate(expression, scopeOf(document)) as Value | undefined);
  const sorted = found.toSorted((a, b) => compareKeys(keysOf(a), keysOf(b), terms));
  const { offset, limit } = asked;
  const ids = sorted.slice(offset, offset + limit).map((document) => document["_id"]);
  return ({ documents }) => {
    const given = documents as readonly { readonly id: Value }[];
    return listDifference(
      ids,
      given.map(({ id }) => id),
    );
  };
}

/** Only of scalars at the top, for which it can be said without the merge rules what is left. */
function verdictOnMutation(
  statement: UpdateStatement | RemoveStatement,
  args: ValueObject,
  all: Documents,
): Verdict | undefined {
  const { collection } = statement.term;
  if (statement.kind === "update") {
    const targets = [...statement.set, ...statement.unset];
    if (statement.apply.length > 0 || targets.some(({ path }) => path.length > 1)) return undefined;
  }
  const before = all(collection);
  const expected = mutate(statement, before, { run: oracleRun(args), all });
  const changed = expected?.documents.filter((document) => !before.includes(document)) ?? [];
  const names = statement.kind === "update" ? statement.set.flatMap(({ path }) => path) : [];
  if (changed.some((document) => names.some((name) => isWhole(document[name])))) return undefined;
  return (found, after) => {
    if (expected === undefined) {
      return found["error"] === undefined ? "expected that it is refused" : undefined;
    }
    const ids = [...(found["ids"] as readonly Value[])];
    return (
      listDifference(expected.ids.map(textOf).toSorted(), ids.map(textOf).toSorted()) ??
      listDifference(expected.documents, after(collection.name))
    );
  };
}

function isWhole(value: Value | undefined): boolean {
  return isArray(value) || isObject(value);
}

function listDifference(
  expected: readonly (Value | undefined)[],
  found: unknown,
): string | undefined {
  const given = found as readonly (Value | undefined)[];
  const isSame = expected.map(textOf).join("\n") === given.map(textOf).join("\n");
  return isSame ? undefined : differing("the slow evaluator", expected, given);
}

/** Two answers for people, without text that nobody wants to read. */
export function differing(by: string, expected: unknown, found: unknown): string {
  const shown = (value: unknown): string => {
    const text = JSON.stringify(value, shownValue) ?? "nothing";
    return text.replaceAll(/x{64,}/g, ({ length }) => `<x ${length} times>`).slice(0, 4000);
  };
  return `differs by ${by}\n  expected ${shown(expected)}\n  found    ${shown(found)}`;
}

/** What JSON has no text for. */
function shownValue(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (Number.isNaN(value)) return "NaN";
  return value instanceof Uint8Array ? `bytes ${[...value].join()}` : value;
}
