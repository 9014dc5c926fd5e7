/**
 * Execution: one statement at work on one state of the store.
 */

import type { Types, Value } from "@bigpeer/protocol";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { placeOf } from "../fault.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { RowWarnings, Run, Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { Judge } from "../permission/judge.ts";
import type { SystemContext } from "../system/system-collections.ts";
import type { Failure } from "../value/datum.ts";
import type { Choices } from "./early-choice.ts";
import type { Lookout } from "./lookout.ts";
import type { Profile } from "./profile.ts";

export interface Warning {
  /** The document that it is about. */
  readonly _id?: Value;
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

  /** Forgets all warnings since the mark. */
  rewind(mark: number): void {
    this.total = mark;
    if (this.list.length > mark) this.list.length = mark;
  }

  /** Those of a part of the statement, behind what is there. */
  absorb({ list, total }: Warnings): void {
    for (const warning of list) if (!this.isFull) this.list.push(warning);
    this.total += total;
  }

  /** Whether the next one would only be counted: then its text need not be made. */
  get isFull(): boolean {
    return this.list.length >= WARNINGS_LISTED;
  }

  /** One about the statement as a whole: it stands before those about single rows. */
  addAhead(description: string): void {
    this.total++;
    if (this.#ahead >= WARNINGS_LISTED) return;
    this.list.splice(this.#ahead++, 0, { description });
    if (this.list.length > WARNINGS_LISTED) this.list.pop();
  }

  /** Whether the next one ahead would only be counted. */
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
  /** The text of the statement, for places in warnings. */
  readonly text: string;
  /** Whether strict mode is on for this statement. */
  readonly isStrict: boolean;
  /** What the caller may read. */
  readonly view: DocumentView;
  /** What else he may do; undefined when he may do everything. */
  readonly judge: Judge | undefined;
  /** Only while a mutation runs. */
  readonly transaction: Transaction | undefined;
  readonly warnings: Warnings;
  readonly system: SystemContext;
  /** Looks out for mistakes; undefined where nobody is told of them. */
  readonly lookout?: Lookout | undefined;
  /** Where a mutation gets from what it chooses; undefined: it chooses where it stands. */
  readonly choices?: Choices | undefined;
  /** Only for PROFILE. */
  readonly profile?: Profile;
}

/** How the fields of a collection are read and written in one statement. */
export interface Typing {
  /** Strict mode: what is not declared is a register. */
  readonly isStrict: boolean;
  readonly types: Types | undefined;
}

/** What a mutation did; `documents` are those that RETURNING projects. */
export interface MutationOutcome {
  readonly ids: readonly Value[];
  readonly documents: readonly StoredDocument[];
}

/** Warns that an expression failed for a row; the row is known by the document of its first term. */
export function warnOf(execution: Execution, failure: Failure, slot: Slot): void {
  if (execution.warnings.isFull) {
    execution.warnings.total++;
    return;
  }
  const place = failure.at === undefined ? "" : ` at ${describeOffset(execution.text, failure.at)}`;
  const document = slot as RowDocument | undefined;
  execution.warnings.add(failure.reason + place, document?.id);
}

/** A place in the text of a statement, as warnings name it. */
export function describeOffset(text: string, offset: number): string {
  const { line, column } = placeOf(text, offset);
  return `line ${line}, column ${column}`;
}
