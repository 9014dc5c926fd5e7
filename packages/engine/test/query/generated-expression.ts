/**
 * Generated expressions of the statement language, as text.
 *
 * They are valid by construction: whatever can be refused before the first row is seen is not made.
 * Where the rules leave the outcome open (a list that mixes types under `<`, an aggregate of what
 * went wrong) nothing is asked.
 */
import type { ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";

/** Values for the parameters that an expression may name. */
export function anyArguments(): fc.Arbitrary<ValueObject> {
  return fc.record({
    number: fc.constantFrom(0, 1, 2, 2.5),
    text: fc.constantFrom("a", "b", "", "é"),
    list: fc.constantFrom([], [1, 2], [1], [2, null]),
    texts: fc.constantFrom(["a"], ["a", "b"], ["ab", "b"]),
    flag: fc.boolean(),
    id: fc.constantFrom("d0", "d3", "none"),
    object: fc.constantFrom({ k: 1 }, { k: { l: "a" } }, {}),
  });
}

export interface Expressions {
  readonly condition: fc.Arbitrary<string>;
  readonly number: fc.Arbitrary<string>;
  readonly text: fc.Arbitrary<string>;
  /** Any type; may fail. */
  readonly value: fc.Arbitrary<string>;
  /** Any type; a path, so that it never fails. */
  readonly path: fc.Arbitrary<string>;
}

/** Expressions over the fields of `anyDocuments`; `prefix` is an alias with its dot, or nothing. */
export function anyExpressions(prefix: string): Expressions {
  const paths = pathsOf(prefix);
  const tied = fc.letrec<Tied>((tie) => ({
    number: numbers(tie, paths),
    text: texts(tie, paths),
    condition: conditions(tie, paths),
    value: values(tie, paths),
  }));
  return { ...tied, path: paths.any };
}

interface Tied {
  number: string;
  text: string;
  condition: string;
  value: string;
}

type Tie = fc.LetrecTypedTie<Tied>;

interface Paths {
  readonly prefix: string;
  readonly any: fc.Arbitrary<string>;
  readonly number: fc.Arbitrary<string>;
  readonly text: fc.Arbitrary<string>;
  readonly list: fc.Arbitrary<string>;
}

function pathsOf(prefix: string): Paths {
  const from = (...names: string[]): fc.Arbitrary<string> =>
    fc.constantFrom(...names.map((name) => prefix + name));
  return {
    prefix,
    any: from(
      "_id",
      "a",
      "b",
      "n",
      "s",
      "f",
      "o",
      "o.p",
      "o.q",
      "o.q.r",
      "t",
      "t[0]",
      "g",
      "m",
      "m[1]",
      "m[2][1]",
      "m[0].k",
      "link",
      "absent",
      "a.deep",
    ),
    number: from("a", "b", "b", "n", "n", "o.p", "o.q.r", "t[0]", "t[1]", "absent"),
    text: from("_id", "s", "s", "a", "o.p", "g[0]", "link", "absent"),
    list: from("t", "g", "m", "a", "o", "absent"),
  };
}

const options = { maxDepth: 3, depthSize: "small" } as const;

const numberLiteral = fc.constantFrom(
  "0",
  "1",
  "2",
  "3",
  "-1",
  "0.5",
  "2.5",
  "2.0",
  "1e0",
  "0x2",
  ":number",
);
const textLiteral = fc.constantFrom("''", "'a'", "'b'", "'ab'", '"é"', "'1'", ":text");
const anyLiteral = fc.oneof(numberLiteral, textLiteral, fc.constantFrom("true", "false", ":flag"));

/** Every operand stands in brackets: precedence is the parser's, and tested there. */
export function join(...parts: (fc.Arbitrary<string> | string)[]): fc.Arbitrary<string> {
  const all = parts.map((part) => (typeof part === "string" ? fc.constant(part) : part));
  return fc.tuple(...all).map((words) => words.join(" "));
}

function numbers(tie: Tie, paths: Paths): fc.Arbitrary<string> {
  const number = tie("number");
  const operator = fc.constantFrom("+", "-", "*", "/", "%");
  return fc.oneof(
    options,
    { weight: 3, arbitrary: paths.number },
    { weight: 2, arbitrary: numberLiteral },
    { weight: 2, arbitrary: join("(", number, operator, number, ")") },
    { weight: 1, arbitrary: join("-", paths.number) },
    { weight: 1, arbitrary: join("abs(", number, ")") },
    { weight: 1, arbitrary: join("array_length(", paths.list, ")") },
    { weight: 1, arbitrary: join("char_length(", tie("text"), ")") },
    { weight: 1, arbitrary: join("coalesce(", number, ",", number, ")") },
    {
      weight: 1,
      arbitrary: join("CASE WHEN", tie("condition"), "THEN", number, "ELSE", number, "END"),
    },
    {
      weight: 1,
      arbitrary: join("CASE", paths.number, "WHEN 1 THEN", number, "WHEN 2 THEN", number, "END"),
    },
    { weight: 1, arbitrary: join("CAST(", tie("value"), "AS INT)") },
  );
}

function texts(tie: Tie, paths: Paths): fc.Arbitrary<string> {
  const text = tie("text");
  return fc.oneof(
    options,
    { weight: 4, arbitrary: paths.text },
    { weight: 2, arbitrary: textLiteral },
    { weight: 1, arbitrary: join("(", text, "||", text, ")") },
    { weight: 1, arbitrary: join(fc.constantFrom("upper(", "lower("), text, ")") },
    { weight: 1, arbitrary: join("type(", tie("value"), ")") },
    { weight: 1, arbitrary: join("ifmissing(", text, ",", text, ")") },
    { weight: 1, arbitrary: join("CASE WHEN", tie("condition"), "THEN", text, "END") },
  );
}

const comparison = fc.constantFrom("=", "!=", "<>", "<", "<=", ">", ">=", "==");
const not = fc.constantFrom("", "NOT");

function conditions(tie: Tie, paths: Paths): fc.Arbitrary<string> {
  const condition = tie("condition");
  const number = tie("number");
  const text = tie("text");
  return fc.oneof(
    options,
    // First what is simple: it is what the planner can use, and what a failure shrinks to.
    { weight: 6, arbitrary: join("(", simplePath(paths), comparison, anyLiteral, ")") },
    { weight: 1, arbitrary: join("(", anyLiteral, comparison, simplePath(paths), ")") },
    { weight: 2, arbitrary: ids(paths) },
    { weight: 2, arbitrary: lists(paths) },
    {
      weight: 2,
      arbitrary: join(
        "(",
        paths.any,
        fc.constantFrom("IS NULL", "IS NOT NULL", "IS MISSING", "IS NOT MISSING"),
        ")",
      ),
    },
    { weight: 2, arbitrary: join("(", number, comparison, number, ")") },
    { weight: 1, arbitrary: join("(", text, comparison, text, ")") },
    { weight: 1, arbitrary: wholes(paths) },
    { weight: 4, arbitrary: join("(", condition, fc.constantFrom("AND", "OR"), condition, ")") },
    { weight: 2, arbitrary: join("(", "NOT", condition, ")") },
    { weight: 1, arbitrary: join("(", condition, fc.constantFrom("IS NULL", "IS MISSING"), ")") },
    { weight: 1, arbitrary: ranges(paths) },
    { weight: 2, arbitrary: patterns(paths) },
    { weight: 2, arbitrary: quantifiers(paths) },
    {
      weight: 1,
      arbitrary: fc.oneof(paths.any, fc.constantFrom("true", "false", "null", ":flag")),
    },
    { weight: 1, arbitrary: join("starts_with(", paths.text, ",", textLiteral, ")") },
  );
}

function simplePath(paths: Paths): fc.Arbitrary<string> {
  return fc.oneof(paths.number, paths.text);
}

/** What can be answered without looking at every document. */
function ids({ prefix }: Paths): fc.Arbitrary<string> {
  return fc
    .constantFrom(
      "_id = 'd1'",
      "'d2' = _id",
      "_id = :id",
      "_id = 1",
      "_id IN ('d0', 'd2', 'none', 'd0')",
      "_id = 'd0' OR _id = 'd3'",
      "_id = 'd1' AND _id = 'd2'",
      "_id >= 'd1' AND _id < 'd3'",
      "_id LIKE 'd1%'",
      "_id != 'd1'",
    )
    .map((condition) => `(${condition.replaceAll("_id", `${prefix}_id`)})`);
}

function lists(paths: Paths): fc.Arbitrary<string> {
  return fc.oneof(
    join(
      "(",
      paths.number,
      not,
      "IN",
      fc.constantFrom("(1, 2)", "[2, 2.5]", "[]", ":list", "(1, null)", "(3)"),
      ")",
    ),
    join(
      "(",
      paths.text,
      not,
      "IN",
      fc.constantFrom("('a', 'b')", "['d1', 'd0', 'd1']", ":texts"),
      ")",
    ),
    join("(", fc.constantFrom("1", "2", "'a'"), not, "IN", paths.list, ")"),
  );
}

/** Lists and objects as wholes. */
function wholes({ prefix }: Paths): fc.Arbitrary<string> {
  const equality = fc.constantFrom("=", "!=");
  return fc.oneof(
    join("(", `${prefix}t`, comparison, fc.constantFrom("[1, 2]", "[]", ":list"), ")"),
    join("(", `${prefix}g`, equality, fc.constantFrom("['a']", ":texts"), ")"),
    join("(", `${prefix}o.q`, equality, fc.constantFrom("{'r': 1}", "{}"), ")"),
  );
}

function ranges(paths: Paths): fc.Arbitrary<string> {
  return fc.oneof(
    join(
      "(",
      paths.number,
      not,
      "BETWEEN",
      fc.constantFrom("0", "1", ":number"),
      "AND",
      fc.constantFrom("2", "2.5", "0"),
      ")",
    ),
    join(
      "(",
      paths.text,
      not,
      "BETWEEN",
      fc.constantFrom("''", "'a'"),
      "AND",
      fc.constantFrom("'ab'", "'d1'"),
      ")",
    ),
  );
}

function patterns(paths: Paths): fc.Arbitrary<string> {
  return fc.oneof(
    join(
      "(",
      paths.text,
      not,
      fc.constantFrom("LIKE", "ILIKE"),
      fc.constantFrom("'a%'", "'%b'", "'_'", "'A_'", "'d1'", "'%'", "''", ":text"),
      ")",
    ),
    join("(", paths.text, "LIKE 'a!%' ESCAPE '!'", ")"),
    join("(", paths.text, not, "SIMILAR TO", fc.constantFrom("'(a|b)%'", "'[a-d]+'", "'_?'"), ")"),
  );
}

/** What is asked of an element cannot fail. */
function quantifiers(paths: Paths): fc.Arbitrary<string> {
  const test = fc.constantFrom(
    "v > 1",
    "v = 'a'",
    "v IS NULL",
    "v.k = 1",
    "v != 1 AND v IS NOT NULL",
    "v = :number",
    "v",
  );
  return fc.oneof(
    join(
      "(",
      fc.constantFrom("ANY", "EVERY", "ANY AND EVERY"),
      "v",
      fc.constantFrom("IN", "WITHIN"),
      paths.list,
      "SATISFIES",
      test,
      "END",
      ")",
    ),
    join(
      "(",
      "ANY i : v IN",
      paths.list,
      "SATISFIES",
      fc.constantFrom("i = 0 AND v = 1", "i = 'p'"),
      "END",
      ")",
    ),
  );
}

function values(tie: Tie, paths: Paths): fc.Arbitrary<string> {
  const value = tie("value");
  return fc.oneof(
    options,
    { weight: 4, arbitrary: paths.any },
    {
      weight: 1,
      arbitrary: fc.oneof(
        anyLiteral,
        fc.constantFrom("null", "missing", ":object", ":object.k.l", ":list[0]"),
      ),
    },
    { weight: 1, arbitrary: tie("number") },
    { weight: 1, arbitrary: tie("text") },
    { weight: 2, arbitrary: tie("condition") },
    { weight: 1, arbitrary: join("[", value, ",", value, "]") },
    { weight: 1, arbitrary: join("{'x':", value, ", 'y':", value, "}") },
    { weight: 1, arbitrary: comprehensions(paths) },
    {
      weight: 1,
      arbitrary: join("CAST(", value, "AS", fc.constantFrom("STRING", "BOOLEAN", "FLOAT"), ")"),
    },
    { weight: 1, arbitrary: join("array_concat(", paths.list, ",", paths.list, ")") },
  );
}

function comprehensions(paths: Paths): fc.Arbitrary<string> {
  const when = fc.constantFrom("", "WHEN v > 1", "WHEN v IS NOT NULL", "WHEN v = 'a' OR v = 1");
  return fc.oneof(
    join("ARRAY", fc.constantFrom("v", "v.k", "[v, 1]"), "FOR v IN", paths.list, when, "END"),
    join(
      "OBJECT",
      fc.constantFrom("v", "'k'", "k"),
      ":",
      fc.constantFrom("v", "1", "k"),
      "FOR k : v IN",
      paths.list,
      when,
      "END",
    ),
  );
}
