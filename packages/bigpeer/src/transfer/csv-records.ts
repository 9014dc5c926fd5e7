/**
 * Splits CSV into rows, as RFC 4180 says: quoted cells may contain separators, quotes and line ends.
 * A line ends with CR LF, LF or CR.
 */

import { type Cell, type RecordGroups, SourceFault, type SourceRecord } from "./source-record.ts";

export async function* csvRecords(text: AsyncIterable<string>, separator: string): RecordGroups {
  const reader = new CsvReader(separator);
  for await (const piece of text) yield reader.take(piece);
  yield reader.end();
}

/** A document has at most 5 MiB; a longer row has a quote that is never closed. */
const ROW_LENGTH_MAX: number = 16 * 1024 * 1024;

/** A quote inside a quoted cell is one of two, or the end of the cell: the next letter tells. */
type State = "start" | "bare" | "quoted" | "quote";

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
    if (this.#state === "quoted") {
      throw new SourceFault('expected the end of this quoted cell (")', this.#quote);
    }
    if (this.#state === "start" && this.#cells.length === 0) return;
    const row = this.#endRow();
    if (row !== undefined) yield row;
  }

  #takeLetter(letter: string): SourceRecord | undefined {
    if (this.#state === "quoted") {
      if (letter === '"') this.#state = "quote";
      else this.#push(letter);
      return undefined;
    }
    if (letter === "\n" || letter === "\r") return this.#endRow();
    if (letter === this.#separator) this.#endCell();
    else if (letter === '"') this.#takeQuote();
    else {
      if (this.#state === "quote") throw this.#fault("expected a separator behind the quoted cell");
      this.#state = "bare";
      this.#push(letter);
    }
    return undefined;
  }

  /** A cell that is never closed must not fill the memory. */
  #push(letter: string): void {
    this.#cell.push(letter);
    if (++this.#length <= ROW_LENGTH_MAX) return;
    const at = this.#state === "quoted" ? this.#quote : this.#start;
    throw new SourceFault("expected the end of this row within 16 Mi letters", at);
  }

  #takeQuote(): void {
    if (this.#state === "bare") throw this.#fault('expected a quoted cell to begin with "');
    if (this.#state === "quote") this.#cell.push('"');
    else this.#quote = { line: this.#line, column: this.#column };
    this.#state = "quoted";
    this.#isQuoted = true;
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
    const isEmpty = cells.length === 1 && first?.text === "" && !first.isQuoted;
    if (!isEmpty) return { text: "", cells, ...this.#start };
    this.#start = { line: this.#line + 1, column: 1 };
    return undefined;
  }

  #fault(reason: string): SourceFault {
    return new SourceFault(reason, { line: this.#line, column: this.#column });
  }
}
