/**
 * Parser of filters: the small language of `query` in the data API. It makes the same trees as the
 * statement language, and what it cannot read is tried as a condition of that language.
 *
 * - `== != < <= > >=`, `&& || !`, parentheses; of the two, `&&` binds tighter.
 * - Paths as in `a.b`, `a['x-y']`, `["x-y"].b`, `a[0]`: a string in brackets is the name of a field.
 *   The id of a document is `_id`; `id` is a field like any other.
 * - `:x`, `$args.x` and `$args['x']` are parameters.
 * - `contains(list, value)` means membership for an array and a part of the text for a string:
 *   which of the two is known only by the value, hence a function of its own, `filter_contains`.
 *   `regex(text, pattern)` is `regexp_like`, `beginswith` and `endswith` are `starts_with` and
 *   `ends_with`. All else is called by its name in the statement language.
 * - `x == null` holds for a field that is null or not there, `x != null` for one that has a value.
 *   Only the word itself is so: a parameter that is null is equal to nothing. All other comparisons
 *   are those of the statement language.
 */

import { Fault } from "../fault.ts";
import { negative } from "./number-literal.ts";
import { acceptConstant, parseFieldName, parseParameter } from "./parse-expression.ts";
import { openText, parseCondition } from "./parse-statement.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { ComparisonOperator, Expression, ObjectEntry } from "./tree.ts";
import { checkDepth, joinConditions } from "./tree-shape.ts";

/** When neither language can read the text, the fault is that of the one that got further. */
export function parseFilter(text: string): Expression {
  try {
    return parseWhole(openText(text));
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.code === "query.too_large") throw fault;
    return parseInstead(text, fault);
  }
}

function parseInstead(text: string, fault: Fault): Expression {
  try {
    return parseCondition(text);
  } catch (other) {
    if (!(other instanceof Fault) || other.code === "query.too_large") throw other;
    throw (other.offset ?? 0) > (fault.offset ?? 0) ? other : fault;
  }
}

/** A path by itself, as filters write it: `a.b`, `a['x-y']`, `a[0]`. */
export function parseFilterPath(text: string): Expression {
  const cursor = openText(text);
  const { type, at } = cursor.token;
  const isBare = type === "word" || type === "quoted";
  const path = isBare
    ? parseSteps(cursor, { kind: "name", at, name: cursor.advance().text })
    : parseQuotedPath(cursor);
  cursor.expectEnd("the end of the path");
  checkDepth(path, cursor.passed);
  return path;
}

function parseQuotedPath(cursor: TokenCursor): Expression {
  const path = cursor.token.type === "[" ? parseBracket(cursor, "path") : undefined;
  if (path === undefined || path.kind === "array") throw cursor.fault("the name of a field");
  return path;
}

function parseWhole(cursor: TokenCursor): Expression {
  const filter = parseAny(cursor);
  cursor.expectEnd("the end of the filter");
  checkDepth(filter, cursor.passed);
  return filter;
}

function parseAny(cursor: TokenCursor): Expression {
  const operands = [parseEvery(cursor)];
  while (cursor.accept("||")) operands.push(parseEvery(cursor));
  cursor.note('"||"');
  return joinConditions(operands, "or");
}

function parseEvery(cursor: TokenCursor): Expression {
  const operands = [parseNegation(cursor)];
  while (cursor.accept("&&")) operands.push(parseNegation(cursor));
  cursor.note('"&&"');
  return joinConditions(operands, "and");
}

function parseNegation(cursor: TokenCursor): Expression {
  const { at } = cursor.token;
  if (!cursor.accept("!")) return parseComparison(cursor);
  cursor.enter();
  const operand = parseNegation(cursor);
  cursor.leave();
  return { kind: "unary", at, operator: "not", operand };
}

function parseComparison(cursor: TokenCursor): Expression {
  const left = parseValue(cursor, "path");
  const operator = acceptOperator(cursor);
  if (operator === undefined) {
    cursor.note("a comparison");
    return left;
  }
  const right = parseValue(cursor, "array");
  if (operator === "=" || operator === "!=") {
    if (isNull(right)) return compareWithNull(left, operator);
    if (isNull(left)) return compareWithNull(right, operator);
  }
  return { kind: "binary", at: left.at, operator, left, right };
}

function acceptOperator(cursor: TokenCursor): ComparisonOperator | undefined {
  const { type } = cursor.token;
  switch (type) {
    case "==":
      cursor.advance();
      return "=";
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      cursor.advance();
      return type;
    default:
      return undefined;
  }
}

function isNull(expression: Expression): boolean {
  return expression.kind === "literal" && expression.value === null;
}

function compareWithNull(operand: Expression, operator: "=" | "!="): Expression {
  const { at } = operand;
  const isNegated = operator === "!=";
  return joinConditions(
    [
      { kind: "is", at, what: "null", isNegated, operand },
      { kind: "is", at, what: "missing", isNegated, operand },
    ],
    isNegated ? "and" : "or",
  );
}

/** What `["x"]` means at a place: the field x, or an array of one string. */
type Bracket = "path" | "array";

function parseValue(cursor: TokenCursor, bracket: Bracket): Expression {
  const { type, at } = cursor.token;
  switch (type) {
    case "string":
      return { kind: "literal", at, value: cursor.advance().text };
    case "number":
      return { kind: "literal", at, value: cursor.advance().number };
    case "-":
      cursor.advance();
      if (cursor.token.type !== "number") throw cursor.fault("a number");
      return { kind: "literal", at, value: negative(cursor.advance().number) };
    case ":":
      return parseSteps(cursor, parseParameter(cursor));
    case "$":
      return parseSteps(cursor, parseArgument(cursor));
    case "(":
      return parseParenthesis(cursor);
    case "[":
      return parseBracket(cursor, bracket);
    case "{":
      return parseObject(cursor);
    case "quoted":
    case "word":
      return parseWord(cursor);
    default:
      throw cursor.fault("a field or a value");
  }
}

function parseParenthesis(cursor: TokenCursor): Expression {
  cursor.advance();
  cursor.enter();
  const inner = parseAny(cursor);
  cursor.expect(")");
  cursor.leave();
  return inner;
}

/** `$args.name` or `$args['name']`. */
function parseArgument(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  if (cursor.token.text !== "args") throw cursor.fault("args");
  cursor.advance();
  if (cursor.accept(".")) return { kind: "parameter", at, name: parseFieldName(cursor) };
  cursor.expect("[");
  if (cursor.token.type !== "string") throw cursor.fault("the name of a parameter as a string");
  const name = cursor.advance().text;
  cursor.expect("]");
  return { kind: "parameter", at, name };
}

function parseWord(cursor: TokenCursor): Expression {
  const constant = acceptConstant(cursor);
  if (constant !== undefined) return constant;
  const { word, at } = cursor.token;
  switch (word) {
    case "NOT":
      // With a parenthesis behind it, it would look like a call.
      throw cursor.fault("a field or a value");
    default:
      if (cursor.peek().type === "(") return parseCall(cursor);
      return parseSteps(cursor, { kind: "name", at, name: cursor.advance().text });
  }
}

/** Functions whose names differ, in lower case. */
const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ["contains", "filter_contains"],
  ["regex", "regexp_like"],
  ["beginswith", "starts_with"],
  ["endswith", "ends_with"],
]);

function parseCall(cursor: TokenCursor): Expression {
  const { at, text } = cursor.advance();
  const written = text.toLowerCase();
  cursor.expect("(");
  cursor.enter();
  const args: Expression[] = [];
  if (cursor.token.type !== ")") {
    // Only `contains` takes a list first, as in `contains(['a', 'b'], color)`.
    args.push(parseValue(cursor, written === "contains" ? "array" : "path"));
    while (cursor.acceptComma()) args.push(parseValue(cursor, "array"));
  }
  cursor.expect(")");
  cursor.leave();
  return { kind: "call", at, name: FUNCTIONS.get(written) ?? written, args };
}

function parseSteps(cursor: TokenCursor, of: Expression): Expression {
  const { at } = of;
  let path = of;
  for (;;) {
    if (cursor.accept(".")) {
      path = { kind: "field", at, of: path, name: parseFieldName(cursor) };
    } else if (cursor.accept("[")) {
      path = parseIndex(cursor, path);
      cursor.expect("]");
    } else {
      return path;
    }
  }
}

function parseIndex(cursor: TokenCursor, of: Expression): Expression {
  const { type, at, number } = cursor.token;
  if (type === "string") return { kind: "field", at: of.at, of, name: cursor.advance().text };
  if (type !== "number") throw cursor.fault("a number or the name of a field as a string");
  cursor.advance();
  return { kind: "element", at: of.at, of, index: { kind: "literal", at, value: number } };
}

function parseBracket(cursor: TokenCursor, bracket: Bracket): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const elements: Expression[] = [];
  while (cursor.token.type !== "]") {
    elements.push(parseValue(cursor, "array"));
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("]");
  cursor.leave();
  const [first] = elements;
  const { type } = cursor.token;
  const isPath = bracket === "path" || type === "." || type === "[";
  if (
    isPath &&
    elements.length === 1 &&
    first?.kind === "literal" &&
    typeof first.value === "string"
  ) {
    return parseSteps(cursor, { kind: "name", at, name: first.value });
  }
  return { kind: "array", at, elements };
}

function parseObject(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const entries: ObjectEntry[] = [];
  while (cursor.token.type !== "}") {
    const { at: start, type } = cursor.token;
    if (type !== "string") throw cursor.fault("a key as a string");
    const key: Expression = { kind: "literal", at: start, value: cursor.advance().text };
    cursor.expect(":");
    entries.push({ key, value: parseValue(cursor, "array") });
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("}");
  cursor.leave();
  return { kind: "object", at, entries };
}
