/**
 * Parser of prefix operators: NOT and the signs before an operand. Statements and filters share it;
 * each passes its own expression parser.
 */

import { semanticFault } from "../fault.ts";
import { approximate, isNumeric } from "../value/datum.ts";
import { negative } from "./number-literal.ts";
import { PRECEDENCE, rightOf } from "./operators.ts";
import type { ParseExpression } from "./parse-construct.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { Expression, LiteralNode } from "./tree.ts";

/** Parses a negation. The cursor is at NOT or at `!`. */
export function parseNot(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const operand = parse(cursor, rightOf(PRECEDENCE.not));
  cursor.leave();
  return { kind: "unary", at, operator: "not", operand };
}

/** Parses a sign. It becomes part of a constant, so that the least integer can be written. */
export function parseSigned(
  cursor: TokenCursor,
  sign: "-" | "+",
  parse: ParseExpression,
): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const operand = parse(cursor, rightOf(PRECEDENCE.sign));
  cursor.leave();
  if (operand.kind !== "literal") return { kind: "unary", at, operator: sign, operand };
  const { value } = operand;
  if (operand === cursor.signed && !takesSign(cursor, sign, value)) {
    throw semanticFault("a constant has at most one sign", at);
  }
  if (value === null || typeof value === "boolean" || typeof value === "string") {
    if (sign === "-") throw semanticFault("- stands before a number or a field", at);
    return { kind: "unary", at, operator: sign, operand };
  }
  const literal: LiteralNode = {
    kind: "literal",
    at,
    value: sign === "-" ? negative(value) : value,
  };
  cursor.signed = literal;
  return literal;
}

/** Whether a signed constant takes another sign: in parentheses, unless both are minus. */
function takesSign(cursor: TokenCursor, sign: "-" | "+", value: LiteralNode["value"]): boolean {
  if (cursor.previous?.type !== ")") return false;
  return sign === "+" || (isNumeric(value) && approximate(value) >= 0);
}
