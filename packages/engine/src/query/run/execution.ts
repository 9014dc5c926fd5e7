/**
 * Execution: context of a running statement: its view, permissions, transaction and warnings.
 */

import type { Types, Value } from "@bigpeer/protocol";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { placeOf } from "../fault.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { Run, Slot } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import type { SystemContext } from "../system/system-collections.ts";
import type { Failure } from "../value/datum.ts";
import type { Lookout } from "./lookout.ts";
import type { Profile } from "./profile.ts";
import type { Warnings } from "./warnings.ts";

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

/** How a write selects its documents. */
export interface Chooser<T> {
  /** Collections whose documents may decide; undefined if it reads outside of collections. */
  readonly reads: readonly string[] | undefined;
  /** The collection whose documents each decide only for themselves; these are what is selected. */
  readonly each: string | undefined;
  readonly choose: (execution: Execution) => Steps<readonly T[]>;
}

/** Source of the selections of one write (early-choice.ts). */
export interface Choices {
  /** Starts an evaluation. */
  begin(): void;
  /** The next selection of the write, in the order in which it makes them. */
  take<T>(chooser: Chooser<T>, execution: Execution): Steps<readonly T[]>;
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
