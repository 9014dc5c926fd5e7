/**
 * CSV as RFC 4180 has it: a first line of names, quotes around what has commas, quotes or line ends.
 *
 * A cell without quotes that reads as a number, `true`, `false`, `null`, an object or an array is
 * that value; `""` is an empty text, and an empty cell is no field. So an export that is imported
 * gives the same documents, except for a text that is itself JSON of an object or an array.
 */

import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import { setOwn, valueAt } from "../values/names.ts";

export type CsvRow = Readonly<Record<string, unknown>>;

/** Cells of one line; a cell that was quoted is text. */
interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Reads CSV in pieces, as a file arrives. */
export class CsvReader {
  #rest = "";
  #names: readonly string[] | undefined;

  /** The documents of all lines that are complete. */
  push(piece: string): readonly CsvRow[] {
    this.#rest += piece;
    return this.#read(false);
  }

  end(): readonly CsvRow[] {
    return this.#read(true);
  }

  #read(isEnd: boolean): readonly CsvRow[] {
    const rows: CsvRow[] = [];
    for (;;) {
      const end = lineEnd(this.#rest);
      if (end === undefined && (!isEnd || this.#rest === "")) return rows;
      const line = this.#rest.slice(0, end?.at);
      this.#rest = end === undefined ? "" : this.#rest.slice(end.next);
      const row = this.#rowOf(line.replace(/^\uFEFF/, ""));
      if (row !== undefined) rows.push(row);
    }
  }

  #rowOf(line: string): CsvRow | undefined {
    if (line === "") return undefined;
    const cells = cellsOf(line);
    if (this.#names === undefined) {
      this.#names = cells.map(({ text }) => text);
      return undefined;
    }
    const row: Record<string, unknown> = {};
    for (const [i, cell] of cells.entries()) {
      const value = valueOf(cell);
      const name = this.#names[i];
      if (name !== undefined && value !== undefined) setOwn(row, name, value);
    }
    return row;
  }
}

/** The first line end outside of quotes. A `\r` at the end may have its `\n` in the next piece. */
function lineEnd(text: string): { readonly at: number; readonly next: number } | undefined {
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === "\n") return { at: i, next: i + 1 };
    if (character === "\r" && i + 1 < text.length) {
      return { at: i, next: text[i + 1] === "\n" ? i + 2 : i + 1 };
    }
  }
  return undefined;
}

function cellsOf(line: string): readonly Cell[] {
  const pattern = /"((?:[^"]|"")*)"|([^,]*)/y;
  const cells: Cell[] = [];
  for (let at = 0; at <= line.length; at++) {
    pattern.lastIndex = at;
    const [found = "", quoted, plain] = pattern.exec(line) ?? [];
    const text = quoted?.replaceAll('""', '"') ?? plain ?? "";
    cells.push({ text, isQuoted: quoted !== undefined });
    at += found.length;
  }
  return cells;
}

function valueOf({ text, isQuoted }: Cell): unknown {
  // JSON of an object may have commas, which separate the cells: it is always quoted.
  const isJson = isQuoted ? /^[[{]/.test(text) : /^(true|false|null|-?\d[\d.eE+-]*)$/.test(text);
  if (text === "" && !isQuoted) return undefined;
  if (!isJson) return text;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

export function csvLine(names: readonly string[], row: CsvRow): string {
  return names.map((name) => cellText(valueAt(row, [name]))).join(",");
}

function cellText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value !== "string") {
    const json = stringifyExact(value);
    return typeof value === "object" && value !== null ? inQuotes(json) : json;
  }
  const isPlain = /^[^",\r\n]+$/.test(value) && !/^(true|false|null|-?\d.*)$/.test(value);
  return isPlain && !/^\s|\s$/.test(value) ? value : inQuotes(value);
}

export function csvHead(names: readonly string[]): string {
  return names.map((name) => (/^[^",\r\n]+$/.test(name) ? name : inQuotes(name))).join(",");
}

function inQuotes(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
