/**
 * Splits CSV into rows, as RFC 4180 says: quoted cells may contain separators, quotes and line ends.
 * A line ends with CR LF, LF or CR.
 *
 * A row that is no CSV is a record with a fault, and the next line begins the next row. So a quote
 * that is never closed takes one line and not the rest of the file.
 */

import { type Cell, type RecordGroups, SourceFault, type SourceRecord } from "./source-record.ts";

export async function* csvRecords(text: AsyncIterable<string>, separator: string): RecordGroups {
  const reader = new CsvReader(separator);
  for await (const piece of text) yield reader.take(piece);
  yield reader.end();
}

/** A document has at most 5 MiB; a longer row has a quote that is never closed. */
const ROW_LENGTH_MAX: number = 16 * 1024 * 1024;

/**
 * A quote inside a quoted cell is one of two, or the end of the cell: the next letter tells. `broken`
 * is the rest of a line behind a fault.
 */
type State = "start" | "bare" | "quoted" | "quote" | "broken";

class CsvReader {
  readonly #separator: string;
  #state: State = "start";
  #cells: Cell[] = [];
  #cell: string[] = [];
  #isQuoted = false;
  #isAfterReturn = false;
  #length = 0;
  #line = 1;
  #column = 0;
  #start = { line: 1, column: 1 };
  #quote = { line: 1, column: 1 };
  /** Of the row, in the state `broken`. */
  #broken: SourceFault | undefined;
  /** Lines to read again, because a quoted cell of an earlier line had them without an end. */
  #again: string | undefined;

  constructor(separator: string) {
    this.#separator = separator;
  }

  *take(piece: string): Generator<SourceRecord> {
    for (const letter of piece) {
      // The second half of a line end.
      if (letter === "\n" && this.#isAfterReturn) {
        this.#isAfterReturn = false;
        if (this.#state === "quoted") this.#push(letter);
        continue;
      }
      this.#column++;
      const row = this.#takeLetter(letter);
      if (this.#again !== undefined) {
        if (row !== undefined) yield row;
        yield* this.#takeAgain();
        continue;
      }
      this.#isAfterReturn = letter === "\r";
      if (letter === "\n" || letter === "\r") {
        this.#line++;
        this.#column = 0;
      }
      if (row !== undefined) {
        yield row;
        this.#start = { line: this.#line, column: this.#column + 1 };
      }
    }
  }

  *end(): Generator<SourceRecord> {
    while (this.#state === "quoted") {
      yield this.#unclosed(
        new SourceFault('expected the end of this quoted cell (")', this.#quote),
      );
      yield* this.#takeAgain();
    }
    if (this.#state === "start" && this.#cells.length === 0) return;
    const row = this.#endRow();
    if (row !== undefined) yield row;
  }

  #takeLetter(letter: string): SourceRecord | undefined {
    if (this.#state === "quoted") {
      if (letter === '"') this.#state = "quote";
      else this.#push(letter);
      return this.#length > ROW_LENGTH_MAX ? this.#unclosed(this.#tooLong(this.#quote)) : undefined;
    }
    if (letter === "\n" || letter === "\r") return this.#endRow();
    if (this.#state === "broken") this.#push(letter);
    else if (letter === this.#separator) this.#endCell();
    else if (letter === '"') this.#takeQuote();
    else if (this.#state === "quote") {
      this.#break("expected a separator behind the quoted cell", letter);
    } else {
      this.#state = "bare";
      this.#push(letter);
    }
    if (this.#length > ROW_LENGTH_MAX) throw this.#tooLong(this.#start);
    return undefined;
  }

  #push(letter: string): void {
    this.#cell.push(letter);
    this.#length++;
  }

  /** A row without an end must not fill the memory. */
  #tooLong(at: { readonly line: number; readonly column: number }): SourceFault {
    return new SourceFault("expected the end of this row within 16 Mi letters", at);
  }

  #takeQuote(): void {
    if (this.#state === "bare") return this.#break('expected a quoted cell to begin with "', '"');
    if (this.#state === "quote") this.#cell.push('"');
    else this.#quote = { line: this.#line, column: this.#column };
    this.#state = "quoted";
    this.#isQuoted = true;
  }

  /** The rest of the line belongs to the fault. */
  #break(reason: string, letter: string): void {
    this.#broken = new SourceFault(reason, { line: this.#line, column: this.#column });
    this.#state = "broken";
    this.#push(letter);
  }

  /** Ends the row at the line of its open quote; the lines behind that one are read again. */
  #unclosed(fault: SourceFault): SourceRecord {
    // As it stands in the file.
    const text = this.#cell.join("").replaceAll('"', '""');
    const { index, 0: lineEnd } = /\r\n|[\r\n]/.exec(text) ?? { index: text.length, 0: "" };
    this.#again = text.slice(index + lineEnd.length);
    this.#cell = [text.slice(0, index)];
    this.#broken = fault;
    const record = this.#endRow();
    this.#line = this.#quote.line + (lineEnd === "" ? 0 : 1);
    this.#column = lineEnd === "" ? this.#quote.column + text.length : 0;
    this.#start = { line: this.#line, column: this.#column + 1 };
    this.#isAfterReturn = false;
    return record as SourceRecord;
  }

  *#takeAgain(): Generator<SourceRecord> {
    const text = this.#again ?? "";
    this.#again = undefined;
    yield* this.take(text);
  }

  #endCell(): void {
    this.#cells.push({ text: this.#cell.join(""), isQuoted: this.#isQuoted });
    this.#cell = [];
    this.#isQuoted = false;
    this.#state = "start";
  }

  /** Undefined for an empty line. */
  #endRow(): SourceRecord | undefined {
    this.#endCell();
    const cells = this.#cells;
    this.#cells = [];
    this.#length = 0;
    const [first] = cells;
    const fault = this.#broken;
    this.#broken = undefined;
    if (fault !== undefined) return { text: "", cells, fault, ...this.#start };
    const isEmpty = cells.length === 1 && first?.text === "" && !first.isQuoted;
    if (!isEmpty) return { text: "", cells, ...this.#start };
    this.#start = { line: this.#line + 1, column: 1 };
    return undefined;
  }
}
