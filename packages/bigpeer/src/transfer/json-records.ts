/**
 * Splits text into JSON values: those of a list, or those that follow each other (NDJSON). Only one
 * value is in memory at a time.
 *
 * It finds the end of each value by its brackets and texts, and leaves the syntax inside to the
 * parser. A line of NDJSON ends at the line break, so a broken line does not swallow the next one.
 */

import { type RecordGroups, SourceFault, type SourceRecord } from "./source-record.ts";

/** A document has at most 5 MiB; a longer value is a text or a bracket that is never closed. */
const RECORD_LENGTH_MAX: number = 64 * 1024 * 1024;

export async function* lineRecords(text: AsyncIterable<string>): RecordGroups {
  let rest = "";
  let line = 1;
  for await (const piece of text) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield recordsOf(lines, line);
    line += lines.length;
    if (rest.length > RECORD_LENGTH_MAX) throw tooLong(line, 1);
  }
  yield recordsOf([rest], line);
}

function recordsOf(lines: readonly string[], from: number): SourceRecord[] {
  return lines
    .map((line, index) => lineRecord(line, from + index))
    .filter((record) => record !== undefined);
}

function lineRecord(text: string, line: number): SourceRecord | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return { text: trimmed, line, column: text.length - text.trimStart().length + 1 };
}

function tooLong(line: number, column: number): SourceFault {
  return new SourceFault("expected the end of this value within 64 MiB", { line, column });
}

/** The elements of the list that the text is; `behind` may stand after it, and nothing else. */
export async function* listRecords(text: AsyncIterable<string>, behind = ""): RecordGroups {
  const splitter = new ListSplitter(behind);
  for await (const piece of text) yield splitter.take(piece);
  splitter.end();
}

type State = "before" | "element or end" | "element" | "separator" | "after";

class ListSplitter {
  #behind: string;
  #state: State = "before";
  #line = 1;
  #column = 0;
  #parts: string[] = [];
  #length = 0;
  #start = { line: 1, column: 1 };
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #isAfterComma = false;

  constructor(behind: string) {
    this.#behind = behind;
  }

  *take(piece: string): Generator<SourceRecord> {
    // Of the element within this piece; before it when the element began in an earlier one.
    let from = 0;
    let begin = -1;
    for (let at = 0; at < piece.length; at++) {
      const letter = piece[at] as string;
      if (letter === "\n") {
        this.#line++;
        this.#column = 0;
      } else this.#column++;
      if (this.#state !== "element") {
        if (this.#outside(letter)) begin = from = at;
        continue;
      }
      if (at === begin || !this.#endsElement(letter)) continue;
      this.#add(piece.slice(from, at + 1));
      yield this.#record();
      this.#state = "separator";
    }
    if (this.#state === "element") this.#add(piece.slice(from));
  }

  /** Throws SourceFault when the list is not closed. */
  end(): void {
    if (this.#state === "after") return;
    if (this.#state === "element") {
      throw new SourceFault(
        "expected the end of this value, found the end of the file",
        this.#start,
      );
    }
    throw this.#fault(`expected "]", found the end of the file`);
  }

  /** Returns whether an element begins. */
  #outside(letter: string): boolean {
    if (/\s/.test(letter) || letter === "\ufeff") return false;
    switch (this.#state) {
      case "before":
        if (letter !== "[") throw this.#fault(`expected "[", found "${letter}"`);
        this.#state = "element or end";
        return false;
      case "separator":
        if (letter === ",") {
          this.#state = "element or end";
          this.#isAfterComma = true;
        } else if (letter === "]") this.#state = "after";
        else throw this.#fault(`expected "," or "]", found "${letter}"`);
        return false;
      case "after":
        if (letter === this.#behind) {
          this.#behind = "";
          return false;
        }
        throw this.#fault(`expected the end of the file, found "${letter}"`);
      default:
        return this.#begin(letter);
    }
  }

  #begin(letter: string): boolean {
    if (letter === "]" && !this.#isAfterComma) {
      this.#state = "after";
      return false;
    }
    if (letter !== "{") throw this.#fault(`expected a document, found "${letter}"`);
    this.#state = "element";
    this.#start = { line: this.#line, column: this.#column };
    this.#depth = 1;
    return true;
  }

  #endsElement(letter: string): boolean {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (letter === "\\") this.#isEscaped = true;
      else if (letter === '"') this.#isText = false;
      return false;
    }
    if (letter === '"') this.#isText = true;
    else if (letter === "{" || letter === "[") this.#depth++;
    else if (letter === "}" || letter === "]") return --this.#depth === 0;
    return false;
  }

  #add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length > RECORD_LENGTH_MAX) throw tooLong(this.#start.line, this.#start.column);
  }

  #record(): SourceRecord {
    const text = this.#parts.join("");
    this.#parts = [];
    this.#length = 0;
    return { text, ...this.#start };
  }

  #fault(reason: string): SourceFault {
    return new SourceFault(reason, { line: this.#line, column: Math.max(1, this.#column) });
  }
}
