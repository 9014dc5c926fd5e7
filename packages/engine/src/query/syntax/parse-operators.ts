/**
 * Operator parser: precedence climbing over the operators of a language. Statements and filters
 * share it; each passes its own table of operators and its own parser of operands.
 *
 * A chain of operators is a loop, so that only nesting recurses.
 */

import type { Token } from "./lexer.ts";
import { BINARY_PRECEDENCE, type Infix, type Infixes, rightOf } from "./operators.ts";
import { type PredicateParsers, parsePredicate } from "./parse-predicate.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { BinaryNode, Expression } from "./tree.ts";
import { joinConditions } from "./tree-shape.ts";

export interface OperatorGrammar extends PredicateParsers {
  readonly infixes: Infixes;
  /** Replaces the node of an operator that is written with this token. */
  readonly rewrite?: (node: BinaryNode, token: Token) => Expression;
  /** Throws if these two operands of AND or OR cannot be meant. */
  readonly checkConditions?: (left: Expression, right: Expression, token: Token) => void;
}

/** The operator at the cursor, with NOT before it or without; undefined if there is none. */
export function infixAt(cursor: TokenCursor, infixes: Infixes): Infix | undefined {
  const { type, word } = cursor.token;
  if (type !== "word") return infixes.get(type);
  if (word !== "NOT") return infixes.get(word);
  const negated = infixes.get(cursor.peek().word);
  return negated?.isNegatable === true ? negated : undefined;
}

/** Parses operators of at least this precedence, after their first operand. */
export function parseOperators(
  cursor: TokenCursor,
  first: Expression,
  least: number,
  grammar: OperatorGrammar,
): Expression {
  let left = first;
  for (;;) {
    const infix = infixAt(cursor, grammar.infixes);
    if (infix === undefined || infix.precedence < least) break;
    left = parseInfix(cursor, left, infix, grammar);
  }
  if (least === 0) cursor.note("an operator");
  return left;
}

function parseInfix(
  cursor: TokenCursor,
  left: Expression,
  { operator, precedence }: Infix,
  grammar: OperatorGrammar,
): Expression {
  if (operator === undefined) return parsePredicate(cursor, left, grammar);
  if (operator === "and" || operator === "or") {
    return parseConditions(cursor, left, operator, grammar);
  }
  const token = cursor.advance();
  const right = grammar.parse(cursor, rightOf(precedence));
  const node: BinaryNode = { kind: "binary", at: left.at, operator, left, right };
  return grammar.rewrite === undefined ? node : grammar.rewrite(node, token);
}

/** Parses all operands of a chain of AND or of OR, in any spelling. */
function parseConditions(
  cursor: TokenCursor,
  first: Expression,
  operator: "and" | "or",
  grammar: OperatorGrammar,
): Expression {
  const least = rightOf(BINARY_PRECEDENCE[operator]);
  const operands = [first];
  let last = first;
  while (infixAt(cursor, grammar.infixes)?.operator === operator) {
    const token = cursor.advance();
    const next = grammar.parse(cursor, least);
    grammar.checkConditions?.(last, next, token);
    operands.push(next);
    last = next;
  }
  return joinConditions(operands, operator);
}
