/**
 * Parser of predicates after an operand: IS, IN, BETWEEN, LIKE, ILIKE and SIMILAR TO, with or
 * without NOT. Statements and filters share it; each passes its own expression parser.
 */

import { semanticFault } from "../fault.ts";
import { isOneCharacter } from "../value/text-length.ts";
import { PRECEDENCE, rightOf } from "./operators.ts";
import type { ParseExpression } from "./parse-construct.ts";
import { parseSubquery } from "./parse-subquery.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { Expression, LikeNode, LiteralNode } from "./tree.ts";

export interface PredicateParsers {
  readonly parse: ParseExpression;
  /** Parses one element of the list after IN. */
  readonly parseElement: (cursor: TokenCursor) => Expression;
  /** Whether a subquery begins where elements can. */
  readonly isAtQuery?: (cursor: TokenCursor) => boolean;
}

export function parsePredicate(
  cursor: TokenCursor,
  operand: Expression,
  parsers: PredicateParsers,
): Expression {
  const { parse } = parsers;
  const { at } = operand;
  const isNegated = cursor.token.word === "NOT";
  if (isNegated) cursor.advance();
  const { word } = cursor.advance();
  switch (word) {
    case "IS":
      return parseIs(cursor, operand);
    case "IN":
      return { kind: "in", at, isNegated, operand, list: parseList(cursor, parsers) };
    case "BETWEEN": {
      const low = parse(cursor, rightOf(PRECEDENCE.comparison));
      cursor.expectWord("AND");
      const high = parse(cursor, rightOf(PRECEDENCE.comparison));
      return { kind: "between", at, isNegated, operand, low, high };
    }
    case "SIMILAR": {
      cursor.expectWord("TO");
      return parseLike(
        cursor,
        { kind: "like", at, operator: "similar", isNegated, operand },
        parse,
      );
    }
    default: {
      const operator = word === "LIKE" ? "like" : "ilike";
      return parseLike(cursor, { kind: "like", at, operator, isNegated, operand }, parse);
    }
  }
}

function parseLike(
  cursor: TokenCursor,
  head: Omit<LikeNode, "pattern">,
  parse: ParseExpression,
): Expression {
  const pattern = parse(cursor, rightOf(PRECEDENCE.like));
  if (!cursor.acceptWord("ESCAPE")) return { ...head, pattern };
  const escape = parse(cursor, rightOf(PRECEDENCE.comparison));
  if (escape.kind === "literal" && !isCharacter(escape)) {
    throw semanticFault("expected one character after ESCAPE", escape.at);
  }
  return { ...head, pattern, escape };
}

function isCharacter({ value }: LiteralNode): boolean {
  return typeof value === "string" && isOneCharacter(value);
}

function parseIs(cursor: TokenCursor, operand: Expression): Expression {
  const { at } = operand;
  const isNegated = cursor.acceptWord("NOT");
  const { word } = cursor.token;
  switch (word) {
    case "NULL":
    case "UNKNOWN":
      cursor.advance();
      return { kind: "is", at, what: "null", isNegated, operand };
    case "MISSING":
      cursor.advance();
      return { kind: "is", at, what: "missing", isNegated, operand };
    case "TRUE":
    case "FALSE":
    case "DISTINCT":
      throw semanticFault(`IS ${word} is not supported`, cursor.token.at, "compare with = or !=");
    default:
      cursor.note("NULL");
      throw cursor.fault("MISSING");
  }
}

/** Parses the right side of IN: parentheses hold a list, also with one element. */
function parseList(cursor: TokenCursor, parsers: PredicateParsers): Expression {
  const { parse, parseElement, isAtQuery } = parsers;
  const { type, at } = cursor.token;
  if (type !== "(") return parse(cursor, rightOf(PRECEDENCE.comparison));
  cursor.advance();
  if (isAtQuery?.(cursor) === true) return parseSubquery(cursor, "members", at);
  cursor.enter();
  const elements: Expression[] = [];
  do {
    elements.push(parseElement(cursor));
  } while (cursor.acceptComma());
  cursor.expect(")");
  cursor.leave();
  return { kind: "array", at, elements };
}
