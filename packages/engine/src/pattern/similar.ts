/**
 * SIMILAR TO: translates a pattern of standard SQL into a regular expression.
 *
 * `%` is any text, `_` any character; `| ( ) [ ] * + ? {n} {n,} {n,m}` mean what they do in regular
 * expressions. Everything else stands for itself, also `.` and the backslash. The whole text must
 * match.
 */

const REPEAT = /\{\d{1,4}(?:,\d{0,4})?\}/y;
const CLASS_NAME = /\[:[a-z]{1,10}:\]/y;
const PUNCTUATION = /^[!-/:-@[-`{-~]$/;

/** A regular expression for the flag `s`; undefined for an invalid pattern. */
export function similarSource(pattern: string, escape?: string): string | undefined {
  const body = new Translation(pattern, escape).translate();
  return body === undefined ? undefined : `\\A(?:${body})\\z`;
}

/** The preceding part: only a part can be repeated, and only once. */
type Before = "nothing" | "something" | "repeat";

class Translation {
  readonly #pattern: string;
  readonly #escape: string | undefined;
  #position = 0;
  #depth = 0;
  #before: Before = "nothing";

  constructor(pattern: string, escape: string | undefined) {
    this.#pattern = pattern;
    this.#escape = escape;
  }

  translate(): string | undefined {
    let source = "";
    while (this.#position < this.#pattern.length) {
      const part = this.#part();
      if (part === undefined || this.#depth < 0) return undefined;
      source += part;
    }
    return this.#depth === 0 ? source : undefined;
  }

  #part(): string | undefined {
    const character = this.#take();
    if (character === this.#escape) return this.#something(this.#escaped());
    switch (character) {
      case "%":
        return this.#something("(?:.*)");
      case "_":
        return this.#something(".");
      case "(":
        this.#depth++;
        this.#before = "nothing";
        return "(?:";
      case ")":
        this.#depth--;
        return this.#something(")");
      case "|":
        this.#before = "nothing";
        return "|";
      case "*":
      case "+":
      case "?":
        return this.#repeat(character);
      case "{":
        this.#position--;
        return this.#repeat(this.#match(REPEAT));
      case "[":
        return this.#something(this.#class());
      case "]":
      case "}":
        return undefined;
      default:
        return this.#something(quote(character));
    }
  }

  #something(source: string | undefined): string | undefined {
    this.#before = "something";
    return source;
  }

  #repeat(sign: string | undefined): string | undefined {
    if (this.#before !== "something") return undefined;
    this.#before = "repeat";
    return sign;
  }

  /** The escaped character; an escape at the end of the pattern stands for nothing. */
  #escaped(): string {
    return this.#position < this.#pattern.length ? quote(this.#take()) : "";
  }

  /** Parses a class after `[`: characters, ranges and names such as `[:alpha:]`; `^` negates it. */
  #class(): string | undefined {
    let source = "[";
    if (this.#pattern[this.#position] === "^") source += this.#take();
    const start = this.#position;
    while (this.#position < this.#pattern.length) {
      const name = this.#match(CLASS_NAME);
      const character = name ?? this.#take();
      if (character === "]") return this.#position - 1 > start ? `${source}]` : undefined;
      const part = this.#classPart(character, name !== undefined);
      if (part === undefined) return undefined;
      source += part;
    }
    return undefined;
  }

  #classPart(character: string, isName: boolean): string | undefined {
    if (isName || character === "-") return character;
    return character === this.#escape ? this.#escaped() : quote(character);
  }

  #take(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#position) ?? 0);
    this.#position += character.length;
    return character;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#pattern)?.[0];
    if (found !== undefined) this.#position += found.length;
    return found;
  }
}

/** Quotes a character so that it stands for itself. */
function quote(character: string): string {
  return PUNCTUATION.test(character) ? `\\${character}` : character;
}
