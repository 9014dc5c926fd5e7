/**
 * Operator precedence, for the parser and for the printer, which adds parentheses where needed. The
 * right side of an operator takes only operators that bind tighter than it.
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
