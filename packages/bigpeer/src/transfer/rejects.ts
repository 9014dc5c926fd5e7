/**
 * Rejects: a file with the records that were not imported, each with its line and the reason.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import type { SourceRecord } from "./source-record.ts";

export class Rejects {
  readonly path: string;
  readonly #isContinued: boolean;
  #file: number | undefined;

  /** A continued import adds to the file; another one replaces it. */
  constructor(path: string, isContinued: boolean) {
    this.path = path;
    this.#isContinued = isContinued;
  }

  /** At once on disk, before the checkpoint says that the record is done. */
  add({ text, cells, line, column }: SourceRecord, reason: string): void {
    this.#file ??= openSync(this.path, this.#isContinued ? "a" : "w", 0o600);
    const record = cells === undefined ? text : cells.map((cell) => cell.text);
    writeSync(this.#file, `${JSON.stringify({ line, column, reason, record })}\n`);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
