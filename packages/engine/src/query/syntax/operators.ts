/**
 * Operators: the one table of the infix operators of statements and of filters: the tokens that
 * write them, their precedence and their associativity. The parsers and the printer, which adds
 * parentheses where they are needed, read it.
 */

import type { BinaryOperator } from "./tree.ts";

/** Precedence by group, loosest first. Only the order matters. */
export const PRECEDENCE = {
  or: 5,
  and: 10,
  not: 15,
  is: 17,
  like: 19,
  comparison: 20,
  sum: 30,
  product: 40,
  sign: 50,
} as const;

export const BINARY_PRECEDENCE: Readonly<Record<BinaryOperator, number>> = {
  or: PRECEDENCE.or,
  and: PRECEDENCE.and,
  "=": PRECEDENCE.comparison,
  "!=": PRECEDENCE.comparison,
  "<": PRECEDENCE.comparison,
  "<=": PRECEDENCE.comparison,
  ">": PRECEDENCE.comparison,
  ">=": PRECEDENCE.comparison,
  "+": PRECEDENCE.sum,
  "-": PRECEDENCE.sum,
  "||": PRECEDENCE.sum,
  "*": PRECEDENCE.product,
  "/": PRECEDENCE.product,
  "%": PRECEDENCE.product,
};

/** Operators with a node of their own, because more than an operand can follow them. */
export type Predicate = "is" | "in" | "between" | "like";

export const PREDICATE_PRECEDENCE: Readonly<Record<Predicate, number>> = {
  is: PRECEDENCE.is,
  like: PRECEDENCE.like,
  in: PRECEDENCE.comparison,
  between: PRECEDENCE.comparison,
};

/**
 * Least precedence of an operand on the right, without parentheses. All infix operators are
 * left-associative, so it binds tighter than the operator.
 */
export function rightOf(precedence: number): number {
  return precedence + 1;
}

/** An operator between two operands. */
export interface Infix {
  readonly precedence: number;
  /** Undefined for a predicate. */
  readonly operator: BinaryOperator | undefined;
  /** Whether NOT can stand before it. */
  readonly isNegatable: boolean;
}

/** Infix operators by the token that writes them: its type, or a word in upper case. */
export type Infixes = ReadonlyMap<string, Infix>;

function binary(operator: BinaryOperator): Infix {
  return { precedence: BINARY_PRECEDENCE[operator], operator, isNegatable: false };
}

function predicate(kind: Predicate): Infix {
  const precedence = PREDICATE_PRECEDENCE[kind];
  // IS has its NOT behind it.
  return { precedence, operator: undefined, isNegatable: kind !== "is" };
}

const WORDS: Infixes = new Map([
  ["OR", binary("or")],
  ["AND", binary("and")],
  ["IS", predicate("is")],
  ["IN", predicate("in")],
  ["BETWEEN", predicate("between")],
  ["LIKE", predicate("like")],
  ["ILIKE", predicate("like")],
  ["SIMILAR", predicate("like")],
]);

/** Words that stand between operands. */
export const INFIX_WORDS: readonly string[] = [...WORDS.keys()];

/** Signs that statements and filters share. */
const SIGNS: Infixes = new Map([
  ["=", binary("=")],
  ["==", binary("=")],
  ["!=", binary("!=")],
  ["<>", binary("!=")],
  ["<", binary("<")],
  ["<=", binary("<=")],
  [">", binary(">")],
  [">=", binary(">=")],
  ["+", binary("+")],
  ["-", binary("-")],
  ["*", binary("*")],
  ["/", binary("/")],
  ["%", binary("%")],
]);

export const STATEMENT_INFIXES: Infixes = new Map([...WORDS, ...SIGNS, ["||", binary("||")]]);

export const FILTER_INFIXES: Infixes = new Map([
  ...WORDS,
  ...SIGNS,
  ["||", binary("or")],
  ["&&", binary("and")],
]);
