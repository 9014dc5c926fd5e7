/**
 * How tightly operators bind: what the parser goes by, and what tells the printer where parentheses
 * are needed. The right side of an operator takes only what binds tighter than the operator itself.
 */

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
