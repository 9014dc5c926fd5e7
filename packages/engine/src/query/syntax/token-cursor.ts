/**
 * Token cursor: the position of a parser in a text, with one token of lookahead and error
 * reporting.
 *
 * The cursor remembers the words that the parser tried at the current token, so an error there
 * names all of them. It also counts nesting, because every part of the parser recurses.
 */

import { nearest } from "@bigpeer/protocol";
import { NESTING_MAX, SUBQUERIES_MAX, SUBQUERY_DEPTH_MAX, TOKENS_MAX } from "../../limits.ts";
import { Fault, syntaxFault, withHint } from "../fault.ts";
import { habitHint } from "./habit-hints.ts";
import { CLAUSE_WORDS, NO_ALIAS, OPERATOR_WORDS } from "./keywords.ts";
import { Lexer, shorten, type Token, type TokenType } from "./lexer.ts";
import type { LiteralNode, Query } from "./tree.ts";

export type ParseQuery = (cursor: TokenCursor) => Query;

export class TokenCursor {
  readonly #text: string;
  readonly #lexer: Lexer;
  #ahead: Token | undefined;
  #nesting = 0;
  /** Alternatives tried at the current token: the first `#triedCount` entries. */
  readonly #tried: string[] = [];
  #triedCount = 0;
  /** The last word that was read as an alias without AS. */
  #guessed: Token | undefined;
  #previous: Token | undefined;

  /** The current token. */
  token: Token;
  /** Number of tokens consumed. */
  passed = 0;
  readonly #tokensMax: number;
  /** Value of `passed` at which the limit is reached. */
  #passedMax: number;
  /** The last literal that absorbed a sign: a second sign before it is an error. */
  signed: LiteralNode | undefined;

  /** Parser of subqueries; undefined where there are none. */
  readonly parseQuery: ParseQuery | undefined;
  #queries = 0;
  #queryDepth = 0;

  constructor(text: string, parseQuery?: ParseQuery, tokensMax: number = TOKENS_MAX) {
    this.#text = text;
    this.parseQuery = parseQuery;
    this.#tokensMax = tokensMax;
    this.#passedMax = tokensMax;
    this.#lexer = new Lexer(text);
    this.token = this.#lexer.next();
  }

  get directives(): readonly string[] {
    return this.#lexer.directives;
  }

  /** The last consumed token. */
  get previous(): Token | undefined {
    return this.#previous;
  }

  /** The token after the current one. */
  peek(): Token {
    this.#ahead ??= this.#lexer.next();
    return this.#ahead;
  }

  /** The current token and those after it, lexed again for an error. */
  ahead(count: number): readonly Token[] {
    const lexer = new Lexer(this.#text.slice(this.token.at));
    return Array.from({ length: count }, () => lexer.next());
  }

  /** Consumes the current token and returns it. */
  advance(): Token {
    const passed = this.token;
    this.token = this.#ahead ?? this.#lexer.next();
    this.#ahead = undefined;
    this.#previous = passed;
    this.#triedCount = 0;
    if (++this.passed > this.#passedMax) throw this.#tooMany();
    return passed;
  }

  /** Starts a piece of work with a token limit of its own. */
  startPiece(): void {
    this.#passedMax = this.passed + this.#tokensMax;
  }

  #tooMany(): Fault {
    const message = `the text has more than ${this.#tokensMax} tokens; send long lists and documents as parameters`;
    return new Fault("query.too_large", message, this.token.at);
  }

  accept(type: TokenType): boolean {
    if (this.token.type !== type) return false;
    this.advance();
    return true;
  }

  acceptWord(word: string): boolean {
    if (this.token.word === word) {
      this.advance();
      return true;
    }
    this.note(word);
    return false;
  }

  /** Accepts two words such as `GROUP BY`; the first one decides. */
  acceptWords(words: string): boolean {
    const { word } = this.token;
    if (word !== "" && words.startsWith(word) && words[word.length] === " ") {
      this.advance();
      this.expectWord(words.slice(word.length + 1));
      return true;
    }
    this.note(words);
    return false;
  }

  expect(type: TokenType): Token {
    if (this.token.type !== type) throw this.fault(`"${type}"`);
    return this.advance();
  }

  expectWord(word: string): Token {
    if (this.token.word !== word) throw this.fault(word);
    return this.advance();
  }

  /** Accepts a comma before another item of a list. */
  acceptComma(): boolean {
    if (this.accept(",")) return true;
    this.note('","');
    return false;
  }

  /**
   * Consumes a name and returns its text. Before one of `followers`, which can only follow a name,
   * every word is a name.
   */
  expectName(what: string, followers: ReadonlySet<string> = NO_WORDS): string {
    if (!this.isName() && !this.#isFollowed(followers)) throw this.fault(what);
    return this.advance().text;
  }

  #isFollowed(followers: ReadonlySet<string>): boolean {
    if (this.token.type !== "word") return false;
    const { type, word } = this.peek();
    return followers.has(type === "word" ? word : type);
  }

  /** Whether the current token can be a name. A keyword can, where only a name fits. */
  isName(): boolean {
    const { type, word } = this.token;
    if (type === "quoted") return true;
    if (type !== "word") return false;
    const isKeyword = CLAUSE_WORDS.has(word) || OPERATOR_WORDS.has(word);
    return !isKeyword || endsName(this.peek(), word);
  }

  /** Accepts an alias: a name after AS, or a word that can be nothing else. */
  acceptAlias(): string | undefined {
    if (this.acceptWord("AS")) {
      const { type, word } = this.token;
      const isKeyword = type === "word" && (OPERATOR_WORDS.has(word) || CLAUSE_WORDS.has(word));
      if (isKeyword || (type !== "word" && type !== "quoted")) throw this.fault("an alias");
      return this.advance().text;
    }
    const { type, word } = this.token;
    if (type !== "quoted" && (type !== "word" || NO_ALIAS.has(word))) return undefined;
    if (type === "word") this.#guessed = this.token;
    return this.advance().text;
  }

  expectEnd(what: string): void {
    if (this.token.type !== "end") throw this.fault(what);
  }

  /** Records an alternative that would be valid here, for a later error. */
  note(expected: string): void {
    this.#tried[this.#triedCount++] = expected;
  }

  /** Error at the current token: expected `expected` or a recorded alternative. */
  fault(expected: string): Fault {
    const { type, at, fault } = this.token;
    if (type === "invalid" && fault !== undefined) return fault;
    const wanted = [...new Set([...this.#tried.slice(0, this.#triedCount), expected])];
    return syntaxFault(listOf(wanted), this.#found(), at, this.#hint(wanted));
  }

  /** Like `fault`, with a hint of the caller. */
  hintedFault(expected: string, hint: string | undefined): Fault {
    const fault = this.fault(expected);
    return hint === undefined ? fault : withHint(fault, hint);
  }

  enter(): void {
    if (++this.#nesting <= NESTING_MAX) return;
    const message = `the statement nests deeper than ${NESTING_MAX} levels`;
    throw new Fault("query.too_large", message, this.token.at);
  }

  leave(): void {
    this.#nesting--;
  }

  /** Counts a subquery or an arm of a UNION; their number is limited. */
  countQuery(): void {
    if (++this.#queries <= SUBQUERIES_MAX) return;
    const message = `the statement holds more than ${SUBQUERIES_MAX} queries`;
    throw new Fault("query.too_large", message, this.token.at);
  }

  enterQuery(): void {
    this.countQuery();
    this.enter();
    if (++this.#queryDepth <= SUBQUERY_DEPTH_MAX) return;
    const message = `the statement nests queries deeper than ${SUBQUERY_DEPTH_MAX} levels`;
    throw new Fault("query.too_large", message, this.token.at);
  }

  leaveQuery(): void {
    this.#queryDepth--;
    this.leave();
  }

  #found(): string {
    const { type, at, end } = this.token;
    if (type === "end") return "the end";
    const source = shorten(this.#text.slice(at, end));
    if (type === "string" || type === "quoted") return source;
    const isForeign = type === "invalid" && /\p{L}/u.test(source);
    return `"${source}"${isForeign ? ", which a name may hold only in backticks" : ""}`;
  }

  /** Hint at the probable meaning. */
  #hint(wanted: readonly string[]): string | undefined {
    const { type, at, word } = this.token;
    const previous = this.#previous;
    if (type === "string" && previous?.type === "string" && previous.end === at) {
      return "a quote inside a string is written with a backslash before it";
    }
    if (this.#isForeignParameter()) return PARAMETER_HINT;
    if (type === "-") return this.#dashHint();
    const habit = habitHint(this.token, previous, wanted);
    if (habit !== undefined) return habit;
    const near = nearKeyword(word, wanted);
    if (near !== undefined) return wanted.length > 1 ? `did you mean ${near}?` : undefined;
    const guessed = this.#guessed;
    if (guessed === undefined || guessed !== previous) return undefined;
    const clause = nearKeyword(guessed.word, wanted);
    return clause === undefined
      ? undefined
      : `did you mean ${clause} instead of "${guessed.text}"?`;
  }

  /** Whether a parameter of another language stands here: `?`, `$1`, `$name` or `@name`. */
  #isForeignParameter(): boolean {
    const { type, at, end } = this.token;
    if (type === "invalid") return /^[?@]$/.test(this.#text.slice(at, end));
    return type === "$" && /^[0-9A-Za-z_]/.test(this.#text.slice(end, end + 1));
  }

  /** Hint for `my-name` where nothing can be subtracted. */
  #dashHint(): string | undefined {
    const { at, end } = this.token;
    const previous = this.#previous;
    if (previous?.type !== "word" || previous.end !== at) return undefined;
    const rest = /^[0-9A-Za-z_-]{1,64}/.exec(this.#text.slice(end, end + 64))?.[0];
    if (rest === undefined) return undefined;
    return `a name with - stands in backticks: \`${shorten(`${previous.text}-${rest}`)}\``;
  }
}

const PARAMETER_HINT =
  "a parameter is written :name, and its value is the field name of the arguments";

/** The expected keyword that a word resembles. Typos rarely change the first letter. */
function nearKeyword(word: string, wanted: readonly string[]): string | undefined {
  if (word === "") return undefined;
  const keywords = wanted.map((each) => each.split(" ", 1)[0] ?? "");
  const near = nearest(
    word,
    keywords.filter((each) => each[0] === word[0]),
  );
  return near === word ? undefined : near;
}

const NO_WORDS: ReadonlySet<string> = new Set();

/** Whether a keyword before this token can only be a name. */
function endsName(next: Token, word: string): boolean {
  switch (next.type) {
    case "word":
      return NO_ALIAS.has(next.word) && next.word !== "NOT";
    case "end":
      return word !== "FROM";
    case "quoted":
    case "string":
    case "number":
    case "invalid":
    case "(":
    case "[":
    case "{":
    case ":":
    case "*":
      return false;
    default:
      return true;
  }
}

/** `a, b or c`. */
function listOf(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} or ${last}`;
}
