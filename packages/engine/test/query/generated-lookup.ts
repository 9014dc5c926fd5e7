/**
 * Generated conditions, orders and lists of columns that an index could serve, as text, over the
 * fields of `anyEdgeDocuments`: bounds of every type, contradictions, constants that are computed,
 * conditions that fail for some documents.
 */
import type { ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { COLD_PATHS, HOT_PATHS, LONG } from "./generated-documents.ts";
import { anyArguments, anyExpressions, join } from "./generated-expression.ts";
import { direction } from "./generated-statement.ts";

type Text = fc.Arbitrary<string>;

/** Values for the parameters, also such as nothing is equal to. */
export function anyLookupArguments(): fc.Arbitrary<ValueObject> {
  const more = fc.record({
    none: fc.constant(null),
    huge: fc.constantFrom(2n ** 53n + 1n, -(2n ** 60n), 2 ** 53 - 1),
    zero: fc.constantFrom("a\0", "\0", "a\0b"),
    astral: fc.constantFrom("\u{1f697}", "\uffff"),
    long: fc.constantFrom(LONG, `${LONG}a`, `${LONG}\0`),
    longPattern: fc.constantFrom(`${LONG}%`, `${LONG}a%`, `${LONG}_`, `${"x".repeat(766)}%`),
    bytes: fc.constantFrom(new Uint8Array([0]), new Uint8Array([0, 255])),
    mixed: fc.constantFrom([1, "a", null, 1], [true, 2], ["a", 1]),
    nulls: fc.constantFrom([1, null, 1], [null], ["a", null]),
    ids: fc.constantFrom(["d1", "d0", "d1", "none"], [1, 2], [{ u: "ada", n: 1 }], []),
    limit: fc.constantFrom(0, 1, 2, 5),
  });
  return fc.tuple(anyArguments(), more).map(([first, second]) => ({ ...first, ...second }));
}

/** Paths, and what they are compared with. */
interface Family {
  readonly paths: readonly string[];
  readonly values: readonly string[];
}

const NUMBERS: Family = {
  paths: ["k", "k", "k", "b", "b", "b", "n", "hits", "o.q.r", "place.row", "tags.x.y"],
  values: ["0", "1", "1", "2", "3", "-1", "0.5", "1.0", "2.5", "-0.0", ":number", ":huge"],
};

const TEXTS: Family = {
  paths: ["s", "s", "s", "u", "link", "_id", "_id.u"],
  values: [
    "'a'",
    "'ab'",
    "'b'",
    "''",
    "'d1'",
    "'x'",
    "'ada'",
    ":text",
    ":long",
    ":zero",
    ":astral",
  ],
};

const MIXED: Family = {
  paths: ["a", "a", "a", "o.p", "o", "t", "f", "never"],
  values: [
    "0",
    "1",
    "'a'",
    "true",
    "false",
    "null",
    "missing",
    ":none",
    "[1, 2]",
    ":list",
    "{'x': 1}",
    ":object",
    ":bytes",
    ":long",
    ":huge",
  ],
};

const FAMILIES = [NUMBERS, TEXTS, MIXED];
const ALL_VALUES = [...NUMBERS.values, ...TEXTS.values, ...MIXED.values];

/** What some documents have at the paths that are asked about most. */
const HELD: Readonly<Record<string, readonly string[]>> = {
  k: ["0", "1", "1", "2"],
  b: ["0", "1", "2", "3"],
  s: ["'a'", "'ab'", "'b'", "''"],
  a: ["1", "2", "'a'", "true"],
  u: ["'a'", "'x'", ":long"],
  f: ["true", "false"],
  link: ["'d0'", "'d1'", "'none'"],
};

/** What a path may be compared with so that something is found, mostly. */
export function valuesAt(path: string): readonly string[] {
  const family = FAMILIES.find(({ paths }) => paths.includes(path))?.values ?? ALL_VALUES;
  const held = HELD[path] ?? [];
  return [...family, ...held, ...held, ...held, ...held];
}

const comparison = fc.constantFrom("=", "=", "=", "<", "<=", ">", ">=", "!=");
const not = fc.constantFrom("", "", "NOT");
const absence = fc.constantFrom("IS NULL", "IS NOT NULL", "IS MISSING", "IS NOT MISSING");

const LISTS = [":list", ":texts", ":mixed", ":nulls", ":ids", "[]", ":none", ":list[0]"];

const PATTERNS = [
  "'a%'",
  "'x%'",
  "'a_'",
  "'_'",
  "'%a'",
  "'%a'",
  "'%a'",
  "'d1%'",
  "'a'",
  "''",
  "'%'",
  "'a!%' ESCAPE '!'",
  "'a!_%' ESCAPE '!'",
  ":text",
  ":zero",
  ":longPattern",
  ":none",
  ":number",
];

const COMPUTED = [
  "1 + 1",
  "abs(-1)",
  ":number + 1",
  "'a' || 'b'",
  "upper(:text)",
  ":list[0]",
  ":object.k",
  "CASE WHEN true THEN 1 END",
  "CAST('1' AS INT)",
  "1 / 0",
  "'a' + 1",
  "coalesce(null, 1)",
];

/** `$` is the path. Some fail for some documents, none can be told by the first key alone. */
const OTHER_CONDITIONS = [
  "$",
  "NOT $",
  "$ + 1 > 2",
  "-$ < 0",
  "upper($) = 'A'",
  "$ || 'b' = 'ab'",
  "type($) = 'number'",
  "coalesce($, 1) = 1",
  "ifmissing($, 'a') = 'a'",
  "$ IS NULL OR $ = 1",
  "1 IN $",
  "($ = 1) IS NULL",
  "($ > 0) = true",
  "starts_with($, 'a')",
  "CASE WHEN $ = 1 THEN true ELSE $ > 1 END",
];

/** Fails for a document whose field has another type, wherever it stands in the condition. */
const BESIDE = ["k = 1 AND upper(b) = 'A'", "upper(b) = 'A' OR k = 1", "k = 1 OR upper(b) = 'A'"];

export interface Lookups {
  readonly condition: Text;
  readonly path: Text;
  readonly value: Text;
}

/** Over one term of FROM; `prefix` is its alias with the dot, or nothing. */
export function anyLookups(prefix: string): Lookups {
  const path = fc.oneof(
    { weight: 3, arbitrary: named(HOT_PATHS, prefix) },
    { weight: 1, arbitrary: named(COLD_PATHS, prefix) },
  );
  const value = fc.constantFrom(...ALL_VALUES);
  const single = fc.oneof(
    { weight: 8, arbitrary: fc.oneof(...FAMILIES.map((family) => ofFamily(family, prefix))) },
    { weight: 1, arbitrary: join("(", path, comparison, value, ")") },
    { weight: 2, arbitrary: join("(", path, absence, ")") },
    { weight: 1, arbitrary: join("(", path, comparison, fc.constantFrom(...COMPUTED), ")") },
    { weight: 1, arbitrary: join("(", path, not, "IN", fc.constantFrom(...LISTS), ")") },
    { weight: 1, arbitrary: join("(", path, not, "LIKE", fc.constantFrom(...PATTERNS), ")") },
    { weight: 1, arbitrary: join("(", path, comparison, path, ")") },
    { weight: 1, arbitrary: other(path) },
    { weight: 1, arbitrary: beside(prefix) },
    { weight: 1, arbitrary: anyExpressions(prefix).condition },
  );
  return { path, value, condition: nested(single) };
}

function named(names: readonly string[], prefix: string): Text {
  return fc.constantFrom(...names.map((name) => prefix + name));
}

/** What an index on the path answers: one value, several, a range, nothing at all. */
function ofFamily({ paths, values }: Family, prefix: string): Text {
  const path = named(paths, prefix);
  const value = fc.constantFrom(...values);
  const low = fc.constantFrom(">", ">=");
  const high = fc.constantFrom("<", "<=");
  const members = fc.array(value, { minLength: 1, maxLength: 4 }).map((all) => all.join(", "));
  const again = (text: Text): Text =>
    fc.tuple(path, text).map(([name, words]) => words.replaceAll("$", name));
  return fc.oneof(
    { weight: 6, arbitrary: join("(", path, comparison, value, ")") },
    { weight: 1, arbitrary: join("(", value, comparison, path, ")") },
    { weight: 2, arbitrary: again(join("( $", low, value, "AND $", high, value, ")")) },
    { weight: 1, arbitrary: again(join("( $", high, value, "AND", value, low, "$ )")) },
    { weight: 1, arbitrary: again(join("( $ =", value, "AND $", comparison, value, ")")) },
    { weight: 2, arbitrary: again(join("( $ =", value, "OR $", comparison, value, ")")) },
    { weight: 1, arbitrary: join("(", path, not, "BETWEEN", value, "AND", value, ")") },
    { weight: 2, arbitrary: join("(", path, not, "IN (", members, ") )") },
  );
}

function other(path: Text): Text {
  return fc
    .tuple(path, fc.constantFrom(...OTHER_CONDITIONS))
    .map(([name, condition]) => `(${condition.replaceAll("$", name)})`);
}

function beside(prefix: string): Text {
  return fc
    .constantFrom(...BESIDE)
    .map((condition) => `(${condition.replaceAll(/\b([kb])\b/g, `${prefix}$1`)})`);
}

/** AND, OR and NOT over conditions, several on the same field or on those of one index. */
function nested(single: Text): Text {
  const { condition } = fc.letrec<{ condition: string }>((tie) => {
    const inner = tie("condition");
    return {
      condition: fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        { weight: 9, arbitrary: single },
        { weight: 4, arbitrary: join("(", inner, "AND", inner, ")") },
        { weight: 4, arbitrary: join("(", inner, "OR", inner, ")") },
        { weight: 1, arbitrary: join("( NOT", inner, ")") },
        { weight: 1, arbitrary: join("(", inner, "AND", inner, "AND", inner, ")") },
        { weight: 1, arbitrary: join("(", inner, "OR", inner, "OR", inner, ")") },
      ),
    };
  });
  return condition;
}

/** ORDER BY over paths, at most three. */
export function anyOrder({ path }: Lookups): Text {
  return fc
    .array(join(path, direction), { minLength: 1, maxLength: 3 })
    .map((keys) => `ORDER BY ${keys.join(", ")}`);
}

/** A window, also an empty one, one that begins behind the end, and one of a parameter. */
export const anyWindow: Text = fc.constantFrom(
  "",
  "",
  "",
  "LIMIT 1",
  "LIMIT 3",
  "LIMIT 2 OFFSET 1",
  "LIMIT 5 OFFSET 3",
  "LIMIT 0",
  "LIMIT 100",
  "OFFSET 2",
  "OFFSET 500",
  "LIMIT 3 OFFSET 500",
  "LIMIT :limit",
  "LIMIT :limit OFFSET :limit",
);

const FILTERS = [
  "$ == 1 && b > 0",
  "$ == 1 || k == 2",
  "$ == null",
  "$ != null",
  "!($ == 1)",
  "$ == $args.number",
  "$ >= $args.number && $ <= 2",
  "$ == :none",
  "beginswith($, 'a')",
  "contains(g, 'a')",
  "$ IN ['a', 'b'] && k == 1",
  "_id == :id",
  "_id == 'd1' || $ == 'a'",
  "$ == $args.long",
  "true",
];

/** Filters of the data API: their own forms, and conditions that both languages have. */
export function anyFilter(): Text {
  const { path, condition } = anyLookups("");
  const own = fc
    .tuple(path, fc.constantFrom(...FILTERS))
    .map(([name, filter]) => filter.replaceAll(/\$(?!args)/g, name));
  return fc.oneof(own, condition);
}
