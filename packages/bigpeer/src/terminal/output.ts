/**
 * Output: data on standard output in the form that the user wants, and everything else on standard
 * error. Rows are a table on a terminal and JSON elsewhere.
 */

import { resolve } from "node:path";
import { isObject, stringifyJson, type Value } from "@bigpeer/protocol";
import type { ProgramHost } from "../program/host.ts";
import { csvLine, flatten } from "./csv.ts";
import { OutputFile, type OutputFileOptions } from "./output-file.ts";
import { type Style, styleOf } from "./style.ts";
import { tableText, verticalText } from "./table.ts";

export const FORMATS = ["table", "vertical", "json", "ndjson", "csv"] as const;

export type Format = (typeof FORMATS)[number];

export interface OutputOptions {
  readonly format?: Format | undefined;
  /** File in place of standard output, which `open` opens. */
  readonly file?: string | undefined;
  readonly fileOptions?: OutputFileOptions;
  readonly isQuiet?: boolean;
  readonly isPlain?: boolean;
}

export class Output {
  readonly style: Style;
  readonly errorStyle: Style;
  readonly format: Format;
  /** The format that the user named. */
  readonly chosenFormat: Format | undefined;
  readonly isTerminal: boolean;
  readonly #host: ProgramHost;
  readonly #options: OutputOptions;
  #file: OutputFile | undefined;

  constructor(host: ProgramHost, options: OutputOptions = {}) {
    this.#host = host;
    this.#options = options;
    this.isTerminal = host.output.isTerminal && options.file === undefined;
    this.chosenFormat = options.format;
    this.format = options.format ?? (this.isTerminal ? "table" : "json");
    const isPlain = options.isPlain ?? false;
    this.style = this.isTerminal ? styleOf(host, host.output, isPlain) : (_, text) => text;
    this.errorStyle = styleOf(host, host.errors, isPlain);
  }

  /** Writes to standard output, or to the file of `--output`. */
  async write(content: string | Uint8Array): Promise<void> {
    await (this.#file ?? this.#host.output).write(content);
  }

  /** Opens the file of `--output`. Throws CommandFailure when it cannot be written. */
  async open(): Promise<void> {
    const { file, fileOptions } = this.#options;
    if (file === undefined) return;
    this.#file = await OutputFile.open(resolve(this.#host.folder, file), fileOptions);
  }

  /**
   * The file of `--output` is whole, and nothing more is written. If the command failed before it
   * had any data, what was there stays.
   */
  async close({ isFailed = false }: { readonly isFailed?: boolean } = {}): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (isFailed && file?.isUsed === false) await file.abandon();
    else await file?.finish();
  }

  /** Of a command that failed. */
  async abandon(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.abandon();
  }

  /** Many rows, or none. */
  async rows(
    rows: readonly Value[],
    { empty = "" }: { readonly empty?: string } = {},
  ): Promise<void> {
    await this.write(this.#rowsText(rows));
    if (rows.length === 0 && empty !== "" && this.format === "table") this.note(empty);
  }

  /** One thing. On a terminal, a field on each line. */
  async item(item: Value, chosen: Format = this.format): Promise<void> {
    const format = chosen === "table" ? "vertical" : chosen;
    if (format === "json" || format === "ndjson") await this.write(`${stringifyJson(item)}\n`);
    else await this.write(this.#rowsText([item], format));
  }

  /** A sentence for people, on standard error. */
  note(text: string): void {
    if (this.#options.isQuiet !== true) void this.#host.errors.write(`${text}\n`);
  }

  warn(text: string): void {
    void this.#host.errors.write(`${this.errorStyle("yellow", "warning:")} ${text}\n`);
  }

  #rowsText(rows: readonly Value[], format: Format = this.format): string {
    const options = { style: this.style, columns: this.columns };
    switch (format) {
      case "table":
        return tableText(rows, options);
      case "vertical":
        return verticalText(rows, options);
      case "ndjson":
        return rows.map((row) => `${stringifyJson(row)}\n`).join("");
      case "csv":
        return csvText(rows);
      default:
        return `[${rows.map((row) => stringifyJson(row)).join(",\n ")}]\n`;
    }
  }

  /** Width of the terminal; undefined elsewhere. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#host.output.columns : undefined;
  }
}

function csvText(rows: readonly Value[]): string {
  const cells = rows.map((row) => flatten(isObject(row) ? row : { value: row }));
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))];
  if (names.length === 0) return "";
  const lines = cells.map((row) => csvLine(names.map((name) => row.get(name))));
  return csvLine(names) + lines.join("");
}
