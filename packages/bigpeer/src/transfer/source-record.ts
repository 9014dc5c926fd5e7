/**
 * SourceRecord: one document as it stands in a file, before it is parsed, with its place.
 */

import { CommandFailure } from "../program/failure.ts";

export interface SourceRecord {
  /** Of the JSON, or undefined for a row of CSV. */
  readonly text: string;
  /** Cells of a row of CSV. */
  readonly cells?: readonly Cell[];
  /** Set if it cannot be split into cells; the records behind it can be read all the same. */
  readonly fault?: SourceFault;
  /** Where it begins, both from 1. */
  readonly line: number;
  readonly column: number;
}

/**
 * The records of a file in its order, those of each piece that was read together: a step of an
 * asynchronous iterator for each record would take longer than the record itself. A fault is thrown
 * behind the records before it.
 */
export type RecordGroups = AsyncGenerator<Iterable<SourceRecord>, void, void>;

/** A cell of CSV; a quoted one is text whatever it looks like. */
export interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A fault in the file, with its place. */
export class SourceFault extends CommandFailure {
  readonly line: number;
  readonly column: number;
  readonly reason: string;

  constructor(reason: string, { line, column }: Pick<SourceRecord, "line" | "column">) {
    super(`line ${line}, column ${column}: ${reason}`);
    this.reason = reason;
    this.line = line;
    this.column = column;
  }
}
