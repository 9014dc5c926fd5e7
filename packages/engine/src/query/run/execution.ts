/**
 * Execution: context of a running statement: its view, permissions, transaction and warnings.
 */

import type { Types, Value } from "@bigpeer/protocol";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { placeOf } from "../fault.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { RowWarnings, Run, Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import type { SystemContext } from "../system/system-collections.ts";
import type { Failure } from "../value/datum.ts";
import type { Choices } from "./early-choice.ts";
import type { Lookout } from "./lookout.ts";
import type { Profile } from "./profile.ts";

/**
 * A warning about a statement, or about one document for which a part of it could not be evaluated.
 *
 * @example
 * const describe = ({ description }: Warning): string => description;
 * const { warnings } = await peer.store.execute("SELECT * FROM taks");
 * const [first] = warnings.map(describe);
 * console.log(first); // unknown collection "taks" at line 1, column 15: no document was ever in it
 */
export interface Warning {
  /** Id of the document; absent if the warning is about the statement as a whole. */
  readonly _id?: Value;
  /** What happened, in words. */
  readonly description: string;
}

const WARNINGS_LISTED = 10;

/** Counts every warning and keeps the first few. */
export class Warnings implements RowWarnings {
  readonly list: Warning[] = [];
  total = 0;
  #ahead = 0;

  mark(): number {
    return this.total;
  }

  /** Removes all warnings since the mark. */
  rewind(mark: number): void {
    this.total = mark;
    if (this.list.length > mark) this.list.length = mark;
  }

  /** Appends the warnings of a part of the statement. */
  absorb({ list, total }: Warnings): void {
    for (const warning of list) if (!this.isFull) this.list.push(warning);
    this.total += total;
  }

  /** Whether the next warning is only counted, so that its text is not needed. */
  get isFull(): boolean {
    return this.list.length >= WARNINGS_LISTED;
  }

  /** Adds a warning about the whole statement, ahead of those about single rows. */
  addAhead(description: string): void {
    this.total++;
    if (this.#ahead >= WARNINGS_LISTED) return;
    this.list.splice(this.#ahead++, 0, { description });
    if (this.list.length > WARNINGS_LISTED) this.list.pop();
  }

  /** Whether the next warning ahead is only counted. */
  get isFullAhead(): boolean {
    return this.#ahead >= WARNINGS_LISTED;
  }

  add(description: string, id?: Value): void {
    this.total++;
    if (this.isFull) return;
    this.list.push(id === undefined ? { description } : { _id: id, description });
  }
}

export interface Execution {
  readonly run: Run;
  /** The text of the statement, for positions in warnings. */
  readonly text: string;
  /** Whether strict mode is on for this statement. */
  readonly isStrict: boolean;
  /** The documents that the caller may read. */
  readonly view: DocumentView;
  /** Checks the other permissions of the caller; undefined when the caller may do everything. */
  readonly checker: PermissionChecker | undefined;
  /** Present only while a mutation runs. */
  readonly transaction: Transaction | undefined;
  readonly warnings: Warnings;
  readonly system: SystemContext;
  /** Watches for probable mistakes; undefined when they are not reported. */
  readonly lookout?: Lookout | undefined;
  /** Source of the selections of a mutation; undefined: it selects in its transaction. */
  readonly choices?: Choices | undefined;
  /** Present only for PROFILE. */
  readonly profile?: Profile;
}

/** How a statement reads and writes the fields of a collection. */
export interface Typing {
  /** Strict mode: an undeclared field is a register. */
  readonly isStrict: boolean;
  readonly types: Types | undefined;
}

/** Result of a mutation; RETURNING projects `documents`. */
export interface MutationOutcome {
  readonly ids: readonly Value[];
  readonly documents: readonly StoredDocument[];
}

/** Warns that an expression failed for a row; the first term's document identifies the row. */
export function warnOf(execution: Execution, failure: Failure, slot: Slot): void {
  if (execution.warnings.isFull) {
    execution.warnings.total++;
    return;
  }
  const place = failure.at === undefined ? "" : ` at ${describeOffset(execution.text, failure.at)}`;
  const document = slot as RowDocument | undefined;
  execution.warnings.add(failure.reason + place, document?.id);
}

/** A position in the text of a statement, as warnings show it. */
export function describeOffset(text: string, offset: number): string {
  const { line, column } = placeOf(text, offset);
  return `line ${line}, column ${column}`;
}
