/**
 * Filter parser: parses the `query` of the data API into the same trees as the statement language.
 * It accepts everything that a condition of a statement can contain, but it is a separate language:
 * each sign has one meaning in any context.
 *
 * - `&&`, `||` and `!` are AND, OR and NOT; `concat` joins texts.
 * - `x == null` holds if a field is null or MISSING, `x != null` if it has a value. This holds for
 *   the literal only: a null parameter equals nothing. All other comparisons are those of the
 *   statement language, also `=` and `<>` with null, which never hold.
 * - Paths are `a.b`, `a['x-y']`, `["x-y"].b`, `a[0]`: a string in brackets is the name of a field.
 *   The id of a document is `_id`; `id` is a field like any other.
 * - `:x`, `$args.x` and `$args['x']` are parameters.
 * - `contains(list, value)` tests membership in an array, or a part of a text. The value decides
 *   which, so this is a separate function, `filter_contains`. `regex(text, pattern)` is
 *   `regexp_like`, `beginswith` and `endswith` are `starts_with` and `ends_with`. All others have
 *   their names in the statement language.
 */

import { Fault, semanticFault, withHint } from "../fault.ts";
import { cutName } from "../unknown-name.ts";
import { FILTER_HINT } from "./habit-hints.ts";
import { CLAUSE_WORDS, OPERATOR_WORDS, STATEMENT_WORDS } from "./keywords.ts";
import type { Token } from "./lexer.ts";
import { FILTER_INFIXES, PRECEDENCE } from "./operators.ts";
import { parseCall as parseCallForm } from "./parse-call.ts";
import {
  type ParseExpression,
  parseCase,
  parseComprehension,
  parseQuantifier,
} from "./parse-construct.ts";
import { acceptConstant, parseFieldName, parseParameter } from "./parse-expression.ts";
import { infixAt, type OperatorGrammar, parseOperators } from "./parse-operators.ts";
import { parseNot, parseSigned } from "./parse-prefix.ts";
import { openText } from "./parse-statement.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { BinaryNode, Expression, ObjectEntry } from "./tree.ts";
import { checkDepth, joinConditions } from "./tree-shape.ts";

/** Parses a filter. Throws a Fault with the offset of the error. */
export function parseFilter(text: string): Expression {
  const cursor = openText(text);
  const isStatement = startsStatement(cursor);
  try {
    const filter = parse(cursor);
    cursor.expectEnd("the end of the filter");
    checkDepth(filter, cursor.passed);
    return filter;
  } catch (error) {
    if (!isStatement || !(error instanceof Fault) || error.code !== "query.syntax") throw error;
    throw withHint(error, FILTER_HINT);
  }
}

/** Whether the text begins like a statement or a WHERE clause; it may still be a valid filter. */
function startsStatement(cursor: TokenCursor): boolean {
  const { word } = cursor.token;
  if (word !== "WHERE" && !STATEMENT_WORDS.includes(word)) return false;
  const { type, word: next } = cursor.peek();
  return type === "*" || type === "quoted" || (type === "word" && !OPERATOR_WORDS.has(next));
}

/** Parses a single path, as filters write it: `a.b`, `a['x-y']`, `a[0]`. */
export function parseFilterPath(text: string): Expression {
  const cursor = openText(text);
  const { type, at } = cursor.token;
  const isBare = type === "word" || type === "quoted";
  const name = isBare ? cursor.advance().text : parseQuotedName(cursor);
  const path = parseSteps(cursor, { kind: "name", at, name }, "constant");
  cursor.expectEnd("the end of the path");
  checkDepth(path, cursor.passed);
  return path;
}

/** Parses `["x-y"]`. */
function parseQuotedName(cursor: TokenCursor): string {
  if (cursor.token.type !== "[" || cursor.peek().type !== "string") {
    throw cursor.fault("the name of a field");
  }
  cursor.advance();
  const { text } = cursor.advance();
  cursor.expect("]");
  return text;
}

/**
 * Meaning of `["x"]` in a context: the field x, or an array of one string. Inside CASE, ANY and
 * similar constructs it is the field if an operator follows.
 */
type Bracket = "path" | "array" | "inner";

const GRAMMAR: OperatorGrammar = {
  infixes: FILTER_INFIXES,
  parse,
  parseElement,
  rewrite: rewriteComparison,
  checkConditions: refuseConcatenation,
};

/** Parses operators of at least this precedence, after the first operand `given`, if any. */
function parse(
  cursor: TokenCursor,
  least: number = 0,
  given?: Expression,
  bracket: Bracket = bracketAt(least),
): Expression {
  return parseOperators(cursor, given ?? parseOperand(cursor, bracket), least, GRAMMAR);
}

const parseInner: ParseExpression = (cursor, least = 0, given) =>
  parse(cursor, least, given, least === 0 ? "inner" : bracketAt(least));

/** The right side of a comparison is a value; arithmetic has no use for an array. */
function bracketAt(least: number): Bracket {
  return least > PRECEDENCE.is && least <= PRECEDENCE.sum ? "array" : "path";
}

/** `||` beside a text means concatenation, which would select other documents. */
function refuseConcatenation(left: Expression, right: Expression, { type, at }: Token): void {
  if (type !== "||" || (!isText(left) && !isText(right))) return;
  throw semanticFault("|| is OR in a filter; write concat(a, b) to join texts", at);
}

function isText(expression: Expression): boolean {
  return expression.kind === "literal" && typeof expression.value === "string";
}

/** Comparisons with the literal null also hold for MISSING. */
function rewriteComparison(node: BinaryNode, { type }: Token): Expression {
  if (type !== "==" && type !== "!=") return node;
  if (isNull(node.right)) return compareWithNull(node.left, type);
  return isNull(node.left) ? compareWithNull(node.right, type) : node;
}

function isNull(expression: Expression): boolean {
  return expression.kind === "literal" && expression.value === null;
}

function compareWithNull(operand: Expression, operator: "==" | "!="): Expression {
  const { at } = operand;
  const isNegated = operator === "!=";
  const nothing: Expression = { kind: "literal", at, value: null };
  // Anything but a path is evaluated once: nested copies would grow exponentially.
  if (!isPath(operand)) {
    const given: Expression = { kind: "call", at, name: "coalesce", args: [operand, nothing] };
    return { kind: "is", at, what: "null", isNegated, operand: given };
  }
  return joinConditions(
    [
      { kind: "is", at, what: "null", isNegated, operand },
      { kind: "is", at, what: "missing", isNegated, operand },
    ],
    isNegated ? "and" : "or",
  );
}

function isPath(expression: Expression): boolean {
  let each = expression;
  while (each.kind === "field" || (each.kind === "element" && each.index.kind === "literal")) {
    each = each.of;
  }
  return each.kind === "name" || each.kind === "parameter";
}

function parseElement(cursor: TokenCursor): Expression {
  return parse(cursor, 0, undefined, "array");
}

function parseOperand(cursor: TokenCursor, bracket: Bracket): Expression {
  const { type, at, word } = cursor.token;
  switch (type) {
    case "string":
      return parseSteps(cursor, { kind: "literal", at, value: cursor.advance().text });
    case "number":
      return { kind: "literal", at, value: cursor.advance().number };
    case "-":
    case "+":
      return parseSigned(cursor, type, parse);
    case "!":
      return parseNot(cursor, parse);
    case ":":
      return parseSteps(cursor, parseParameter(cursor));
    case "$":
      return parseSteps(cursor, parseArgument(cursor));
    case "(":
      return parseSteps(cursor, parseParenthesis(cursor));
    case "[":
      return parseBracket(cursor, bracket);
    case "{":
      return parseSteps(cursor, parseObject(cursor));
    case "quoted":
    case "word":
      return word === "NOT" ? parseNot(cursor, parse) : parseSteps(cursor, parseWord(cursor));
    default:
      throw cursor.fault("a field or a value");
  }
}

function parseParenthesis(cursor: TokenCursor): Expression {
  cursor.advance();
  cursor.enter();
  const inner = parse(cursor);
  cursor.expect(")");
  cursor.leave();
  return inner;
}

/** Parses `$args.name` or `$args['name']`. */
function parseArgument(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  const { type, text } = cursor.token;
  if (text !== "args") {
    const hint = type === "word" ? `did you mean :${cutName(text)}?` : undefined;
    throw cursor.hintedFault("args", hint);
  }
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
  if (OPERATOR_WORDS.has(word) && !isNamed(cursor.peek())) throw cursor.fault("a field or a value");
  const construct = parseConstruct(cursor);
  if (construct !== undefined) return construct;
  if (cursor.peek().type === "(") return parseCall(cursor);
  return { kind: "name", at, name: cursor.advance().text };
}

/** Whether the operator word before this token can only be a name. */
function isNamed({ type }: Token): boolean {
  return type === "." || FILTER_INFIXES.get(type)?.precedence === PRECEDENCE.comparison;
}

/** Parses CASE, quantifiers and comprehensions; undefined if the word is a name. */
function parseConstruct(cursor: TokenCursor): Expression | undefined {
  const next = cursor.peek();
  switch (cursor.token.word) {
    case "CASE":
      if (!startsValue(next) && next.word !== "WHEN" && next.word !== "END") return undefined;
      return parseCase(cursor, parseInner);
    case "ANY":
    case "EVERY":
      // The name of a variable follows.
      if (next.type !== "quoted" && !startsWithWord(next) && next.word !== "AND") return undefined;
      return parseQuantifier(cursor, parseInner);
    case "ARRAY":
    case "OBJECT":
      return startsValue(next) ? parseComprehension(cursor, parseInner) : undefined;
    default:
      return undefined;
  }
}

/** Whether a value begins here. A bracket does not count: `array[0]` is a path. */
function startsValue(next: Token): boolean {
  switch (next.type) {
    case "word":
      return startsWithWord(next);
    case "quoted":
    case "string":
    case "number":
    case "(":
    case "{":
    case ":":
    case "$":
    case "-":
    case "+":
    case "!":
      return true;
    default:
      return false;
  }
}

function startsWithWord({ type, word }: Token): boolean {
  return type === "word" && !OPERATOR_WORDS.has(word) && !CLAUSE_WORDS.has(word);
}

/** Functions that have another name in statements, in lower case. */
const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ["contains", "filter_contains"],
  ["regex", "regexp_like"],
  ["beginswith", "starts_with"],
  ["endswith", "ends_with"],
]);

function parseCall(cursor: TokenCursor): Expression {
  // Only `contains` takes a list first, as in `contains(['a', 'b'], color)`.
  let bracket: Bracket = cursor.token.text.toLowerCase() === "contains" ? "array" : "path";
  const call = parseCallForm(cursor, (inside, least, given) => {
    const argument = parse(inside, least, given, bracket);
    bracket = "array";
    return argument;
  });
  if (call.kind !== "call") return call;
  return { ...call, name: FUNCTIONS.get(call.name) ?? call.name };
}

/** Parses the steps of a path. With "constant", an index must be a literal number or string. */
function parseSteps(cursor: TokenCursor, of: Expression, index?: "constant"): Expression {
  const { at } = of;
  let path = of;
  for (;;) {
    if (cursor.accept(".")) {
      path = { kind: "field", at, of: path, name: parseFieldName(cursor) };
    } else if (cursor.accept("[")) {
      path = parseIndex(cursor, path, index);
      cursor.expect("]");
    } else {
      return path;
    }
  }
}

function parseIndex(cursor: TokenCursor, of: Expression, index?: "constant"): Expression {
  const { type, at, number } = cursor.token;
  const isPlain = index === "constant" || cursor.peek().type === "]";
  if (isPlain && type === "string") {
    return { kind: "field", at: of.at, of, name: cursor.advance().text };
  }
  if (isPlain && type === "number") {
    cursor.advance();
    return { kind: "element", at: of.at, of, index: { kind: "literal", at, value: number } };
  }
  if (index === "constant") throw cursor.fault("a number or the name of a field as a string");
  cursor.enter();
  const expression = parse(cursor);
  cursor.leave();
  return { kind: "element", at: of.at, of, index: expression };
}

function parseBracket(cursor: TokenCursor, bracket: Bracket): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const elements: Expression[] = [];
  while (cursor.token.type !== "]") {
    elements.push(parseElement(cursor));
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("]");
  cursor.leave();
  const [first] = elements;
  const name = elements.length === 1 && first?.kind === "literal" ? first.value : undefined;
  if (typeof name === "string" && isPathHere(cursor, bracket)) {
    return parseSteps(cursor, { kind: "name", at, name });
  }
  return parseSteps(cursor, { kind: "array", at, elements });
}

function isPathHere(cursor: TokenCursor, bracket: Bracket): boolean {
  const { type } = cursor.token;
  if (bracket === "path" || type === "." || type === "[") return true;
  const infix = bracket === "inner" ? infixAt(cursor, FILTER_INFIXES) : undefined;
  return infix !== undefined && infix.precedence > PRECEDENCE.and;
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
    entries.push({ key, value: parseElement(cursor) });
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("}");
  cursor.leave();
  return { kind: "object", at, entries };
}
