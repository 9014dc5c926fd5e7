/**
 * Splits CSV into rows, as RFC 4180 says: quoted cells may contain separators, quotes and line ends.
 */

import { type Cell, type RecordGroups, SourceFault, type SourceRecord } from "./source-record.ts";

export async function* csvRecords(text: AsyncIterable<string>, separator: string): RecordGroups {
  const reader = new CsvReader(separator);
  for await (const piece of text) yield reader.take(piece);
  yield reader.end();
}

/** A quote inside a quoted cell is one of two, or the end of the cell: the next letter tells. */
type State = "start" | "bare" | "quoted" | "quote";

class CsvReader {
  readonly #separator: string;
  #state: State = "start";
  #cells: Cell[] = [];
  #cell: string[] = [];
  #isQuoted = false;
  #line = 1;
  #column = 0;
  #start = { line: 1, column: 1 };
  #quote = { line: 1, column: 1 };

  constructor(separator: string) {
    this.#separator = separator;
  }

  *take(piece: string): Generator<SourceRecord> {
    for (const letter of piece) {
      this.#column++;
      const row = this.#takeLetter(letter);
      if (letter === "\n") {
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
      else this.#cell.push(letter);
      return undefined;
    }
    if (letter === "\n") return this.#endRow();
    if (letter === "\r" || letter === "\ufeff") return undefined;
    if (letter === this.#separator) this.#endCell();
    else if (letter === '"') this.#takeQuote();
    else {
      if (this.#state === "quote") throw this.#fault("expected a separator behind the quoted cell");
      this.#state = "bare";
      this.#cell.push(letter);
    }
    return undefined;
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
