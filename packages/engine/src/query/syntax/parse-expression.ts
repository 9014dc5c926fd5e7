/**
 * Expression parser of the statement language: dispatches on the first token of an operand;
 * parse-operators.ts parses the operators after it.
 *
 * The cursor is at the first token of an operand when its parser is called. The cursor counts
 * nesting, which bounds recursion. Chains of operators are loops; the depth of the tree they make
 * is checked once, when the outermost expression is complete.
 */

import { semanticFault } from "../fault.ts";
import { CLAUSE_WORDS, OPERATOR_WORDS } from "./keywords.ts";
import type { Token } from "./lexer.ts";
import { STATEMENT_INFIXES } from "./operators.ts";
import { parseCall } from "./parse-call.ts";
import { parseCase, parseComprehension, parseQuantifier } from "./parse-construct.ts";
import { type OperatorGrammar, parseOperators } from "./parse-operators.ts";
import { parseNot, parseSigned } from "./parse-prefix.ts";
import { parseSubquery } from "./parse-subquery.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { Expression, LiteralNode, ObjectEntry } from "./tree.ts";
import { checkDepth } from "./tree-shape.ts";

/** Parses a whole expression and checks its depth. */
export function parseExpression(cursor: TokenCursor): Expression {
  const start = cursor.passed;
  const expression = parse(cursor);
  checkDepth(expression, cursor.passed - start);
  return expression;
}

const GRAMMAR: OperatorGrammar = { infixes: STATEMENT_INFIXES, parse, parseElement, isAtQuery };

function parse(cursor: TokenCursor, least: number = 0, given?: Expression): Expression {
  const first = given ?? parseOperand(cursor);
  const expression = parseOperators(cursor, first, least, GRAMMAR);
  if (cursor.token.type === "->") {
    const hint = "a field is reached with a dot";
    throw semanticFault("the operator -> is not supported", cursor.token.at, hint);
  }
  return expression;
}

/** Parses an element after IN. */
function parseElement(cursor: TokenCursor): Expression {
  refuseSubquery(cursor);
  return parse(cursor);
}

function parseOperand(cursor: TokenCursor): Expression {
  const { type, at } = cursor.token;
  switch (type) {
    case "-":
    case "+":
      return parseSigned(cursor, type, parse);
    case "number":
      return parseSteps(cursor, { kind: "literal", at, value: cursor.advance().number });
    case "string":
      return parseSteps(cursor, { kind: "literal", at, value: cursor.advance().text });
    case ":":
      return parseSteps(cursor, parseParameter(cursor));
    case "(":
      return parseSteps(cursor, parseParenthesis(cursor));
    case "[":
      return parseSteps(cursor, parseArray(cursor));
    case "{":
      return parseSteps(cursor, parseObject(cursor));
    case "quoted":
      return parseSteps(cursor, parseName(cursor));
    case "word":
      return cursor.token.word === "NOT"
        ? parseNot(cursor, parse)
        : parseSteps(cursor, parseWord(cursor));
    default:
      throw cursor.fault("an expression");
  }
}

/** Parses any number of `.name` and `[index]`. Leaves `.*` to the parser of projections. */
function parseSteps(cursor: TokenCursor, of: Expression): Expression {
  let path = of;
  for (;;) {
    const { type } = cursor.token;
    if (type === "." && cursor.peek().type !== "*") {
      cursor.advance();
      path = { kind: "field", at: of.at, of: path, name: parseFieldName(cursor) };
      if (cursor.token.type === "(") {
        throw semanticFault("the name of a function is a single word", of.at);
      }
    } else if (type === "[") {
      cursor.advance();
      cursor.enter();
      path = { kind: "element", at: of.at, of: path, index: parse(cursor) };
      cursor.expect("]");
      cursor.leave();
    } else {
      return path;
    }
  }
}

/** Parses a field name after a dot, where any word is a name. */
export function parseFieldName(cursor: TokenCursor): string {
  const { type } = cursor.token;
  if (type !== "word" && type !== "quoted") throw cursor.fault("the name of a field");
  return cursor.advance().text;
}

export function parseParameter(cursor: TokenCursor): Expression {
  const { at } = cursor.expect(":");
  const { type } = cursor.token;
  if (type !== "word" && type !== "quoted") throw cursor.fault("the name of a parameter");
  return { kind: "parameter", at, name: cursor.advance().text };
}

function parseParenthesis(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  refuseSubquery(cursor);
  const inner = parse(cursor);
  if (cursor.token.type === ",") {
    const reason = "a list in parentheses stands only after IN";
    throw semanticFault(reason, at, "write [ ] for an array");
  }
  cursor.expect(")");
  cursor.leave();
  return inner;
}

/** Rejects a SELECT here with its own message: the generic one would be unclear. */
function refuseSubquery(cursor: TokenCursor): void {
  if (!isSelect(cursor)) return;
  const message = "a SELECT inside an expression stands only after IN or EXISTS, by itself";
  throw semanticFault(message, cursor.token.at);
}

/** Whether a SELECT begins here; otherwise the word is a name. */
function isSelect(cursor: TokenCursor): boolean {
  if (cursor.token.word !== "SELECT") return false;
  const next = cursor.peek();
  return next.type === "*" || startsOperand(next);
}

function isAtQuery(cursor: TokenCursor): boolean {
  return cursor.parseQuery !== undefined && isSelect(cursor);
}

function parseArray(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const elements: Expression[] = [];
  while (cursor.token.type !== "]") {
    elements.push(parse(cursor));
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("]");
  cursor.leave();
  return { kind: "array", at, elements };
}

function parseObject(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const entries: ObjectEntry[] = [];
  const names = new Set<string>();
  while (cursor.token.type !== "}") {
    const key = parseKey(cursor, names);
    cursor.expect(":");
    entries.push({ key, value: parse(cursor) });
    if (!cursor.acceptComma()) break;
  }
  cursor.expect("}");
  cursor.leave();
  return { kind: "object", at, entries };
}

/** Parses a key, which may be any expression. A constant key is checked here. */
function parseKey(cursor: TokenCursor, names: Set<string>): Expression {
  const { type, at } = cursor.token;
  const key = parse(cursor);
  if (key.kind === "parameter" && type === "(") {
    throw semanticFault("a parameter that is a key stands without parentheses", at);
  }
  if (key.kind !== "literal") return key;
  if (typeof key.value !== "string") throw semanticFault("the key of an object is a string", at);
  if (names.has(key.value)) {
    throw semanticFault(`the key ${JSON.stringify(key.value)} stands twice in one object`, at);
  }
  names.add(key.value);
  return key;
}

/** Accepts TRUE, FALSE or NULL; undefined for any other word. */
export function acceptConstant(cursor: TokenCursor): LiteralNode | undefined {
  const { word, at } = cursor.token;
  if (word !== "TRUE" && word !== "FALSE" && word !== "NULL") return undefined;
  cursor.advance();
  return { kind: "literal", at, value: word === "NULL" ? null : word === "TRUE" };
}

function parseWord(cursor: TokenCursor): Expression {
  const constant = acceptConstant(cursor);
  if (constant !== undefined) return constant;
  const { word, at } = cursor.token;
  switch (word) {
    case "MISSING":
      cursor.advance();
      return { kind: "missing", at };
    case "CASE":
      return beginsCase(cursor.peek()) ? parseCase(cursor, parse) : parseName(cursor);
    case "EXISTS":
      return cursor.peek().type === "(" ? parseExists(cursor) : parseName(cursor);
    case "ANY":
    case "EVERY":
      if (!startsOperand(cursor.peek()) && cursor.peek().word !== "AND") return parseName(cursor);
      return parseQuantifier(cursor, parse);
    case "ARRAY":
    case "OBJECT":
      return startsValue(cursor.peek()) ? parseComprehension(cursor, parse) : parseName(cursor);
    default:
      return parseName(cursor);
  }
}

/** Parses `EXISTS (query)`; anything else in the parentheses is an error. */
function parseExists(cursor: TokenCursor): Expression {
  const { at } = cursor.advance();
  cursor.advance();
  if (isAtQuery(cursor)) return parseSubquery(cursor, "exists", at);
  if (cursor.parseQuery === undefined) refuseSubquery(cursor);
  throw semanticFault("expected a SELECT in the parentheses after EXISTS", at);
}

function beginsCase(next: Token): boolean {
  return startsValue(next) || next.word === "WHEN" || next.word === "END";
}

/** Whether an operand or a sign follows: after these words a sign begins a value. */
function startsValue(next: Token): boolean {
  return next.type === "-" || next.type === "+" || startsOperand(next);
}

/** Whether the token can only begin an operand: it is no operator and no end. */
function startsOperand({ type, word }: Token): boolean {
  switch (type) {
    case "word":
      return !OPERATOR_WORDS.has(word) && !CLAUSE_WORDS.has(word);
    case "quoted":
    case "string":
    case "number":
    case "(":
    case "[":
    case "{":
    case ":":
      return true;
    default:
      return false;
  }
}

function parseName(cursor: TokenCursor): Expression {
  const isCall = cursor.peek().type === "(" && !OPERATOR_WORDS.has(cursor.token.word);
  if (isCall && !CLAUSE_WORDS.has(cursor.token.word)) return parseCall(cursor, parse);
  const { at } = cursor.token;
  return { kind: "name", at, name: cursor.expectName("an expression") };
}
