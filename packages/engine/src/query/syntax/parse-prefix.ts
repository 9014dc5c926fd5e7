/**
 * Parser of prefixes: NOT and the signs in front of an operand. Statements and filters have them
 * both; what follows is read by the parser of each.
 */

import { semanticFault } from "../fault.ts";
import { approximate, isNumeric } from "../value/datum.ts";
import { negative } from "./number-literal.ts";
import type { ParseExpression } from "./parse-construct.ts";
import { PRECEDENCE } from "./precedence.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { Expression, LiteralNode } from "./tree.ts";

/** The cursor stands on NOT, or on what is spelt instead of it. */
export function parseNot(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const operand = parse(cursor, PRECEDENCE.not);
  cursor.leave();
  return { kind: "unary", at, operator: "not", operand };
}

/** The sign of a constant is part of it, which is how the least integer can be written at all. */
export function parseSigned(
  cursor: TokenCursor,
  sign: "-" | "+",
  parse: ParseExpression,
): Expression {
  const { at } = cursor.advance();
  cursor.enter();
  const operand = parse(cursor, PRECEDENCE.sign);
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

/** Whether a sign may stand before a constant that has one: in parentheses, unless both are minus. */
function takesSign(cursor: TokenCursor, sign: "-" | "+", value: LiteralNode["value"]): boolean {
  if (cursor.previous?.type !== ")") return false;
  return sign === "+" || (isNumeric(value) && approximate(value) >= 0);
}
