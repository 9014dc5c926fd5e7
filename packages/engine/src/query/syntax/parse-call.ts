/**
 * Parser of function calls. Special forms with keywords become plain calls:
 *
 * - `TRIM([BOTH] s FROM x)` is `trim(x, s)`, with LEADING `ltrim`, with TRAILING `rtrim`. Without a
 *   set of characters, x is the only argument.
 * - `SUBSTRING(x FROM a FOR b)` is `substring(x, a, b)`. A comma can replace either word.
 * - `POSITION(a IN b)` is `position(a, b)`.
 *
 * `CAST(x AS t)` has a node of its own, because its type is a word; `cast(x, 't')` is a call.
 */

import { semanticFault } from "../fault.ts";
import { castTypeOf } from "../value/cast.ts";
import { PRECEDENCE, rightOf } from "./operators.ts";
import type { ParseExpression } from "./parse-construct.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { CallNode, Expression } from "./tree.ts";

/** Parses a call. The cursor is at the name; a parenthesis follows it. */
export function parseCall(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { at, text, word } = cursor.advance();
  cursor.expect("(");
  cursor.enter();
  const call = parseForm(cursor, word, at, parse) ?? parsePlain(cursor, text, at, parse);
  cursor.expect(")");
  cursor.leave();
  if (cursor.token.word === "OVER" && cursor.peek().type === "(") {
    throw semanticFault("window functions are not supported", cursor.token.at);
  }
  return call;
}

/** Parses a name and plain arguments, for EXECUTE FUNCTION. */
export function parsePlainCall(cursor: TokenCursor, parse: ParseExpression): CallNode {
  const { at } = cursor.token;
  const name = cursor.expectName("the name of a function");
  cursor.expect("(");
  cursor.enter();
  const call = parsePlain(cursor, name, at, parse);
  cursor.expect(")");
  cursor.leave();
  return call;
}

type Form = (cursor: TokenCursor, at: number, parse: ParseExpression) => Expression;

const FORMS: ReadonlyMap<string, Form> = new Map<string, Form>([
  ["CAST", parseCast],
  ["TRIM", parseTrim],
  ["SUBSTRING", parseSubstring],
  ["POSITION", parsePosition],
]);

/** Parses a special form; undefined if this is a plain call. */
function parseForm(
  cursor: TokenCursor,
  word: string,
  at: number,
  parse: ParseExpression,
): Expression | undefined {
  if (cursor.token.type === ")") return undefined;
  return FORMS.get(word)?.(cursor, at, parse);
}

function parseCast(cursor: TokenCursor, at: number, parse: ParseExpression): Expression {
  const operand = parse(cursor);
  if (!cursor.acceptWord("AS"))
    return parseRest(cursor, { name: "cast", at, args: [operand] }, parse);
  const type = castTypeOf(cursor.token.word);
  if (type === undefined) {
    throw cursor.fault("one of the types INT, FLOAT, STRING, BOOLEAN, BINARY");
  }
  cursor.advance();
  return { kind: "cast", at, operand, type };
}

function parseTrim(cursor: TokenCursor, at: number, parse: ParseExpression): Expression {
  const { word } = cursor.token;
  const isSided =
    (word === "BOTH" || word === "LEADING" || word === "TRAILING") && !isArgumentEnd(cursor);
  const name = isSided && word !== "BOTH" ? (word === "LEADING" ? "ltrim" : "rtrim") : "trim";
  if (isSided) cursor.advance();
  if (isSided && cursor.acceptWord("FROM"))
    return { kind: "call", at, name, args: [parse(cursor)] };
  const first = parse(cursor);
  if (cursor.acceptWord("FROM")) {
    return { kind: "call", at, name, args: [parse(cursor), first] };
  }
  if (isSided) return { kind: "call", at, name, args: [first] };
  return parseRest(cursor, { name, at, args: [first] }, parse);
}

/** Whether the word is a whole argument or a path: then it is the name of a field. */
function isArgumentEnd(cursor: TokenCursor): boolean {
  const { type } = cursor.peek();
  return type === ")" || type === "," || type === ".";
}

function parseSubstring(cursor: TokenCursor, at: number, parse: ParseExpression): Expression {
  const args = [parse(cursor)];
  if (cursor.acceptWord("FROM") || cursor.acceptComma()) args.push(parse(cursor));
  else if (cursor.token.word === "FOR") args.push({ kind: "literal", at, value: 0 });
  if (args.length === 2 && (cursor.acceptWord("FOR") || cursor.acceptComma())) {
    args.push(parse(cursor));
  }
  return parseRest(cursor, { name: "substring", at, args }, parse);
}

function parsePosition(cursor: TokenCursor, at: number, parse: ParseExpression): Expression {
  // The IN between the arguments belongs to the form.
  const first = parse(cursor, rightOf(PRECEDENCE.comparison));
  if (cursor.acceptWord("IN")) {
    return { kind: "call", name: "position", at, args: [first, parse(cursor)] };
  }
  return parseRest(cursor, { name: "position", at, args: [parse(cursor, 0, first)] }, parse);
}

type Head = Pick<CallNode, "name" | "at" | "args">;

/** Parses the remaining arguments. */
function parseRest(cursor: TokenCursor, head: Head, parse: ParseExpression): Expression {
  const args = [...head.args];
  while (cursor.acceptComma()) args.push(parse(cursor));
  return { kind: "call", ...head, args };
}

function parsePlain(
  cursor: TokenCursor,
  name: string,
  at: number,
  parse: ParseExpression,
): CallNode {
  const kind = "call";
  const lower = name.toLowerCase();
  const args: Expression[] = [];
  if (cursor.token.type === ")") return { kind, at, name: lower, args };
  const isDistinct = acceptQuantity(cursor);
  if (cursor.accept("*")) {
    return { kind, at, name: lower, args, isStar: true, ...(isDistinct && { isDistinct }) };
  }
  do {
    args.push(parseArgument(cursor, parse));
  } while (cursor.acceptComma());
  return isDistinct ? { kind, at, name: lower, args, isDistinct } : { kind, at, name: lower, args };
}

/** Accepts DISTINCT, or ALL, which has no effect. At the end of an argument both are names. */
function acceptQuantity(cursor: TokenCursor): boolean {
  const { word } = cursor.token;
  if ((word !== "DISTINCT" && word !== "ALL") || isArgumentEnd(cursor)) return false;
  cursor.advance();
  return word === "DISTINCT";
}

/** Parses an argument, also `name => value`; the name has no effect. */
function parseArgument(cursor: TokenCursor, parse: ParseExpression): Expression {
  const { type } = cursor.token;
  if ((type === "word" || type === "quoted") && cursor.peek().type === "=>") {
    cursor.advance();
    cursor.advance();
  }
  return parse(cursor);
}
