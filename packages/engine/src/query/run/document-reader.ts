/**
 * DocumentReader: reads the documents of one FROM term.
 */

import type { Found } from "../frame/document-view.ts";
import type { Frame } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { Access } from "../plan/access.ts";
import type { Execution } from "./execution.ts";

/** How the documents of a term are read. */
export interface Reading {
  readonly access: Access;
  /** How many documents are enough, as far as known. */
  readonly wanted: number;
}

/** Reads the documents of one term, with the types that the statement declares. */
export type DocumentReader = (
  execution: Execution,
  frame: Frame,
  reading: Reading,
) => Found<RowDocument>;
