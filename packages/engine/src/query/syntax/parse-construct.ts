/**
 * Parser of expressions that end with END: CASE, quantifiers (ANY, EVERY) and comprehensions
 * (ARRAY, OBJECT).
 *
 * Callers pass the expression parser, because expressions and these constructs contain each other.
 */

import type { TokenCursor } from "./token-cursor.ts";
import type { Binding, Expression, WhenClause } from "./tree.ts";

/** Parses operators of at least this precedence, after the first operand `given`, if any. */
export type ParseExpression = (
  cursor: TokenCursor,
  least?: number,
  given?: Expression,
) => Expression;

/** Parses `CASE [subject] WHEN … THEN … [ELSE …] END`. */
export function parseCase(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at } = cursor.expectWord("CASE");
  cursor.enter();
  const subject = isAtWhen(cursor) ? undefined : parse(cursor);
  const whens: WhenClause[] = [];
  do {
    cursor.expectWord("WHEN");
    const when = parse(cursor);
    cursor.expectWord("THEN");
    whens.push({ when, result: parse(cursor) });
  } while (cursor.token.word === "WHEN");
  cursor.note("WHEN");
  const otherwise = cursor.acceptWord("ELSE") ? parse(cursor) : undefined;
  cursor.expectWord("END");
  cursor.leave();
  return {
    kind: "case",
    at,
    ...(subject && { subject }),
    whens,
    ...(otherwise && { otherwise }),
  };
}

/** Also true at END: then the error reports the missing WHEN. */
function isAtWhen({ token }: TokenCursor): boolean {
  return token.word === "WHEN" || token.word === "END";
}

/** Parses `ANY|EVERY|ANY AND EVERY binding SATISFIES condition END`. */
export function parseQuantifier(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at, word } = cursor.advance();
  const isBoth = word === "ANY" && cursor.acceptWord("AND");
  if (isBoth) cursor.expectWord("EVERY");
  cursor.enter();
  const binding = parseBinding(cursor, parse);
  cursor.expectWord("SATISFIES");
  const condition = parse(cursor);
  cursor.expectWord("END");
  cursor.leave();
  const quantifier = isBoth ? "any_and_every" : word === "ANY" ? "any" : "every";
  return { kind: "quantifier", at, quantifier, binding, condition };
}

/** Parses `ARRAY value FOR binding [WHEN condition] END`, or `OBJECT key : value FOR …`. */
export function parseComprehension(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at, word } = cursor.advance();
  cursor.enter();
  const first = parse(cursor);
  const isObject = word === "OBJECT";
  if (isObject) cursor.expect(":");
  const value = isObject ? parse(cursor) : first;
  cursor.expectWord("FOR");
  const binding = parseBinding(cursor, parse);
  const condition = cursor.acceptWord("WHEN") ? parse(cursor) : undefined;
  cursor.expectWord("END");
  cursor.leave();
  return {
    kind: "comprehension",
    at,
    ...(isObject && { key: first }),
    value,
    binding,
    ...(condition && { condition }),
  };
}

/** Parses `[position :] value IN|WITHIN source`. */
function parseBinding(cursor: TokenCursor, parse: ParseExpression): Binding {
  const first = cursor.expectName("the name of a variable");
  const isPair = cursor.accept(":");
  const value = isPair ? cursor.expectName("the name of a variable") : first;
  const isDeep = cursor.acceptWord("WITHIN");
  if (!isDeep) cursor.expectWord("IN");
  const source = parse(cursor);
  return { ...(isPair && { position: first }), value, isDeep, source };
}
