/**
 * PermissionChecker: evaluates the permissions of one caller on documents, for one statement.
 *
 * A check has a memory limit of its own, so that its result does not depend on what the statement
 * has used before. Its work and time count for the statement. It has the time limit of a row.
 */

import { type DocumentOperation, PeerError } from "@bigpeer/protocol";
import { REFERENCES_CHECKED_MAX } from "../../limits.ts";
import { attachmentOf, attachmentReferences } from "../../store/attachment-view.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import { Fault } from "../fault.ts";
import { Budget, isTimeout } from "../frame/budget.ts";
import { type Evaluate, type Frame, newFrame, type Run } from "../frame/frame.ts";
import { Pace } from "../frame/pace.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { underMeter } from "../value/cost-meter.ts";
import type { CallerRules, DocumentChecks } from "./caller-rules.ts";
import { applyChecked } from "./checked-write.ts";
import { type CollectionRule, NO_RULE } from "./collection-rule.ts";
import { attachmentDenied, documentDenied } from "./denial.ts";
import { NarrowedView } from "./narrowed-view.ts";

/** Memory for the check of one document: far more than any sensible rule needs. */
const JUDGEMENT_BYTES_MAX = 16 * 1024 * 1024;

export class PermissionChecker implements DocumentChecks {
  readonly authority: CallerRules;
  readonly #statement: Budget;
  readonly #budget: Budget;
  readonly #run: Run;
  #frame: Frame;
  /** Steps of checks that the statement has counted. */
  #charged = 0;
  /** The current check; the closure below is created once instead of for each document. */
  #rule: CollectionRule = NO_RULE;
  #document: StoredDocument | undefined;
  readonly #check = (): boolean => this.#matchesAny();

  constructor(authority: CallerRules, run: Run) {
    this.authority = authority;
    const statement = run.budget;
    this.#statement = statement;
    // It has no clock of its own: each reading is one of the statement's, which ends both.
    let isJudging = false;
    const elapsed = (): number => {
      if (isJudging) this.#charge();
      statement.look();
      return 0;
    };
    const limits = { timeMsMax: Infinity, bytesMax: JUDGEMENT_BYTES_MAX };
    this.#budget = new Budget({ elapsed, ...limits });
    isJudging = true;
    this.#run = { args: {}, platform: run.platform, budget: this.#budget, request: run.request };
    this.#frame = newFrame(this.#run, 1);
  }

  /** The documents of a view that the caller may read. */
  narrow(view: View): NarrowedView {
    return new NarrowedView(view, this);
  }

  mayRead(collection: string, document: StoredDocument): boolean {
    return this.#allows(this.authority.readRule(collection), document);
  }

  mayWrite(collection: string, document: StoredDocument): boolean {
    return this.#allows(this.authority.writeRule(collection), document);
  }

  /** Throws unless the caller may read and write the existing document. */
  requireWritable(collection: string, before: StoredDocument): void {
    if (this.mayRead(collection, before) && this.mayWrite(collection, before)) return;
    throw documentDenied(collection);
  }

  /** Throws for a token of content that the caller neither uploaded nor may read. */
  requireAttachment(id: string, view: View): void {
    if (!this.mayReadAttachment(id, view)) throw attachmentDenied();
  }

  /** Checks writes before and after `apply` has applied them to `view`. */
  applyChecked<T>(
    view: View,
    operations: readonly DocumentOperation[],
    apply: () => Steps<T>,
  ): Steps<T> {
    return applyChecked(this, view, operations, apply);
  }

  /** Steps of the whole statement so far. */
  get work(): number {
    return this.#statement.work;
  }

  /** The same as checkAttachment without pauses, and therefore limited to so many documents. */
  mayReadAttachment(id: string, view: View): boolean {
    return finish(this.checkAttachment(id, view, REFERENCES_CHECKED_MAX));
  }

  /**
   * Whether the caller uploaded the content, or may read a document with a token of it. The time of
   * the check must not reveal documents of others: a timeout means no.
   */
  *checkAttachment(id: string, view: View, checkedMax: number = Infinity): Steps<boolean> {
    const { authority } = this;
    if (authority.isReadingAll) return true;
    if (attachmentOf(view, id)?.by.includes(authority.credential) === true) return true;
    // A timeout of the request itself is reported as such.
    this.#statement.look();
    try {
      return yield* this.#checkReferring(id, view, checkedMax);
    } catch (error) {
      if (isTimeout(error)) return false;
      throw error;
    }
  }

  *#checkReferring(id: string, view: View, checkedMax: number): Steps<boolean> {
    const pace = new Pace(this);
    let judged = 0;
    for (const { collection, id: referring } of attachmentReferences(view, id)) {
      this.#statement.step();
      if (this.authority.hasReadRule(collection)) {
        if (judged++ >= checkedMax) return false;
        const document = view.get(collection, referring);
        if (document !== undefined && this.mayRead(collection, document)) return true;
      }
      if (pace.isPauseDue()) yield;
    }
    return false;
  }

  #allows(rule: CollectionRule, document: StoredDocument): boolean {
    if (rule.isWhole) return true;
    this.#statement.startPiece();
    this.#rule = rule;
    this.#document = document;
    try {
      return underMeter(this.#budget, this.#check);
    } finally {
      this.#budget.release();
      this.#statement.endPiece();
      this.#charge(1);
    }
  }

  /** Counts the steps since the last call, and `more`, for the statement. */
  #charge(more: number = 0): void {
    const { work } = this.#budget;
    const steps = work - this.#charged;
    this.#charged = work;
    this.#statement.step(more + steps);
  }

  #matchesAny(): boolean {
    for (const { evaluate, slots } of this.#rule.filters) {
      if (this.#frame.slots.length < slots) this.#frame = newFrame(this.#run, slots);
      this.#frame.slots[0] = this.#document;
      if (isTrue(evaluate, this.#frame)) return true;
    }
    return false;
  }
}

/** A failure does not allow the document. Only the end of the statement is thrown on. */
function isTrue(evaluate: Evaluate, frame: Frame): boolean {
  try {
    return evaluate(frame) === true;
  } catch (error) {
    if (error instanceof Fault) return false;
    if (error instanceof PeerError && error.code === "query.too_large") return false;
    throw error;
  }
}
