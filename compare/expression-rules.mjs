/**
 * Grammar rules of expressions: each generates an expression of its kind as text, with operands of
 * the generator.
 */
import { VOLATILE } from "./functions.mjs";

/** A rule with its weight among the rules of its kind. */
export const rule = (weight, name, make) => [weight, [name, make]];

const infix = (operator, kind) => (g) =>
  `(${g.expression(kind)} ${operator} ${g.expression(kind)})`;

/** Operators are in parentheses, except those that test precedence. */
const NUMBERS = [
  rule(2, "+", infix("+", "number")),
  rule(2, "-", infix("-", "number")),
  rule(2, "*", infix("*", "number")),
  rule(2, "/", infix("/", "number")),
  rule(2, "%", infix("%", "number")),
  rule(1, "sign", (g, r) => `(${r.pick(["-", "+"])}(${g.expression("number")}))`),
  rule(1, "precedence", (g) => `(${g.expression("number")} + 2 * ${g.expression("number")} - 1)`),
  rule(6, "call", (g) => g.anyCall()),
];

const TEXTS = [
  rule(3, "||", infix("||", "text")),
  rule(
    2,
    "cast",
    (g, r) =>
      `CAST(${g.expression()} AS ${r.pick(["INT", "FLOAT", "STRING", "BOOLEAN", "BINARY", "INTEGER"])})`,
  ),
  rule(
    1,
    "trim form",
    (g, r) =>
      `TRIM(${r.pick(["BOTH", "LEADING", "TRAILING"])} ${g.expression("text")} FROM ${g.expression("text")})`,
  ),
  rule(
    1,
    "substring form",
    (g, r) =>
      `SUBSTRING(${g.expression("text")} ${r.pick(["FROM 1", "FROM 1 FOR 2", "FOR 2", ", 1 FOR 2"])})`,
  ),
  rule(1, "position form", (g) => {
    g.call("position", []);
    return `POSITION(${g.expression("text")} IN ${g.expression("text")})`;
  }),
  rule(6, "call", (g) => g.anyCall()),
];

const negated = (r) => (r.chance(0.3) ? "NOT " : "");

const CONDITIONS = [
  ...["=", "==", "!=", "<>", "<", "<=", ">", ">="].map((operator) =>
    rule(1, operator, (g, r) => {
      const kind = r.pick(["number", "text", "any", "array", "boolean"]);
      return infix(operator, kind)(g);
    }),
  ),
  rule(2, "and", infix("AND", "boolean")),
  rule(2, "or", infix("OR", "boolean")),
  rule(2, "not", (g) => `(NOT ${g.expression("boolean")})`),
  rule(
    2,
    "is",
    (g, r) => `(${g.expression()} IS ${negated(r)}${r.pick(["NULL", "MISSING", "UNKNOWN"])})`,
  ),
  rule(
    2,
    "in list",
    (g, r) => `(${g.expression("number")} ${negated(r)}IN (1, ${g.expression("number")}, 3))`,
  ),
  rule(2, "in array", (g, r) => `(${g.expression()} ${negated(r)}IN ${g.expression("array")})`),
  rule(2, "between", (g, r) => {
    const kind = r.pick(["number", "number", "text", "any"]);
    return `(${g.expression(kind)} ${negated(r)}BETWEEN ${g.expression(kind)} AND ${g.expression(kind)})`;
  }),
  rule(
    2,
    "like",
    (g, r) =>
      `(${g.expression("text")} ${negated(r)}${r.pick(["LIKE", "ILIKE"])} ${r.pick(["'a%'", "'%b%'", "'A_C'", "t", "'%'", "'abc'"])}${r.chance(0.15) ? " ESCAPE '!'" : ""})`,
  ),
  rule(
    1,
    "similar",
    (g, r) =>
      `(${g.expression("text")} ${negated(r)}SIMILAR TO ${r.pick(["'a%'", "'(a|b)%'", "'[a-c]+'", "'a.c'", "'_bc'"])})`,
  ),
  rule(1, "quantifier", (g, r) => {
    const [loop, word] = [binding(g, r), r.pick(["ANY", "EVERY", "ANY AND EVERY"])];
    return `(${word} ${loop.text} SATISFIES ${g.within(loop.value, () => g.expression("boolean"))} END)`;
  }),
  rule(4, "call", (g) => g.anyCall()),
  rule(0.05, "exists", () => "EXISTS (SELECT _id FROM t WHERE i = 1)"),
  rule(0.05, "in query", (g) => `(${g.expression("number")} IN (SELECT i FROM t WHERE i > 0))`),
];

function binding(g, r) {
  const value = r.pick(["v", "w"]);
  const position = r.chance(0.2) ? "p : " : "";
  const source = r.chance(0.3) ? g.expression("object") : g.expression("array");
  return { value, text: `${position}${value} ${r.chance(0.15) ? "WITHIN" : "IN"} ${source}` };
}

const ARRAYS = [
  rule(
    3,
    "array",
    (g, r) => `[${Array.from({ length: r.below(4) }, () => g.expression()).join(", ")}]`,
  ),
  rule(2, "array comprehension", (g, r) => {
    const loop = binding(g, r);
    return g.within(
      loop.value,
      () =>
        `(ARRAY ${g.expression("number")} FOR ${loop.text}${r.chance(0.4) ? ` WHEN ${g.condition()}` : ""} END)`,
    );
  }),
  rule(5, "call", (g) => g.anyCall()),
];

const OBJECTS = [
  rule(
    3,
    "object",
    (g, r) =>
      `{'k': ${g.expression()}${r.chance(0.5) ? `, 'z': ${g.expression()}` : ""}${r.chance(0.1) ? `, ${g.expression("text")}: 1` : ""}}`,
  ),
  rule(1, "object comprehension", (g, r) => {
    const loop = binding(g, r);
    return g.within(
      loop.value,
      () => `(OBJECT CAST(${loop.value} AS STRING) : ${g.expression()} FOR ${loop.text} END)`,
    );
  }),
  rule(5, "call", (g) => g.anyCall()),
];

const ANYTHING = [
  rule(
    3,
    "case",
    (g) => `(CASE WHEN ${g.condition()} THEN ${g.expression()} ELSE ${g.expression()} END)`,
  ),
  rule(1, "case without else", (g) => `(CASE WHEN ${g.condition()} THEN ${g.expression()} END)`),
  rule(
    1,
    "simple case",
    (g) =>
      `(CASE ${g.expression("text")} WHEN ${g.expression("text")} THEN 1 WHEN 'abc' THEN 2 ELSE 3 END)`,
  ),
  rule(1, "field", (g) => `(${g.expression("object")}).k`),
  rule(1, "element", (g, r) => `(${g.expression("array")})[${r.pick(["0", "1", "-1", "j"])}]`),
  rule(1, "parameter path", (g, r) =>
    r.pick([":object.l.m", ":list[0]", ":object.none", ":object"]),
  ),
  rule(0.3, "volatile", (g, r) => {
    const name = r.weighed([
      [3, "clock"],
      [3, "request_info"],
      [1, "now"],
      [1, "uuid"],
    ]);
    g.call(name, []);
    return `(${VOLATILE[name]})`;
  }),
  rule(8, "call", (g) => g.anyCall()),
];

/** Rules by the kind of their result. */
export const COMPOUNDS = {
  number: NUMBERS,
  text: TEXTS,
  boolean: CONDITIONS,
  array: ARRAYS,
  object: OBJECTS,
  any: ANYTHING,
};
