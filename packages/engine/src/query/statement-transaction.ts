/**
 * StatementTransaction: interactive transaction of several statements, with optimistic concurrency
 * control.
 *
 * Each statement runs at once on a draft: a durable state plus the writes of the statements before
 * it. The commit runs all of them again inside one transaction of the store, with the same
 * arguments, time and random numbers. If each gives its earlier result, the caller would have
 * issued the same statements, so the transaction is serializable. If one gives another result,
 * nothing is written and the caller must try again.
 */

import { equalValues, PeerError } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { Draft, Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import type { View } from "../store/view.ts";
import type { Answer } from "./command/answer.ts";
import { Fault, semanticFault } from "./fault.ts";
import type { Budget } from "./frame/budget.ts";
import type { Run } from "./frame/frame.ts";
import { finish, type Steps } from "./frame/steps.ts";
import type { CollectionUse } from "./permission/collection-use.ts";
import type { StatementRequest, StatementResult } from "./request.ts";
import type { Choices } from "./run/early-choice.ts";
import type { Execution } from "./run/execution.ts";
import { budgeted } from "./run/time-slicer.ts";
import type { StatementOutput, Work } from "./statement/work.ts";

export type Begin = (view: View, transaction?: Transaction, choices?: Choices) => Execution;

/** A statement with everything needed to run it, any number of times. */
export interface ReadyStatement<T = StatementOutput> {
  readonly kind: string;
  readonly work: Work<T>;
  /** The collections of documents that it names. */
  readonly access: readonly CollectionUse[];
  readonly run: Run;
  readonly begin: (run: Run) => Begin;
  /** A budget as for a new statement. */
  readonly again: () => Budget;
}

export type PlayStatement<T = StatementOutput> = (ready: ReadyStatement<T>) => Answer<T>;

/** Passes a request to `play` when it is ready. Throws if the statement is refused. */
export type Ask = (request: StatementRequest, play: PlayStatement) => StatementResult;

/** The result of a statement as the caller saw it. */
type Seen =
  | { readonly kind: "done"; readonly output: StatementOutput }
  | { readonly kind: "failed"; readonly message: string };

interface Played {
  readonly ready: ReadyStatement;
  readonly draws: readonly Uint8Array[];
  readonly seen: Seen;
}

const KINDS: ReadonlySet<string> = new Set(["select", "union", "insert", "update", "remove"]);

/** Thrown to leave a transaction of the store without effect. */
const CHANGED: unique symbol = Symbol("changed");

export class StatementTransaction {
  readonly #store: Store;
  readonly #ask: Ask;
  readonly #draft: Draft;
  readonly #played: Played[] = [];
  #isWriting = false;
  #isOver = false;
  /** A statement failed after a write: the draft no longer shows a valid state. */
  #failure: unknown;

  constructor(store: Store, ask: Ask) {
    this.#store = store;
    this.#ask = ask;
    this.#draft = store.draft();
  }

  /** Runs a statement on the results of those before it. Throws if it is refused. */
  execute(request: StatementRequest): StatementResult {
    if (this.#isOver) throw new PeerError("store.closed", "the transaction has ended");
    if (this.#failure !== undefined) throw this.#failure;
    const result = this.#ask(request, (ready) => this.#play(ready));
    return { ...result, transactionId: this.#draft.txnId };
  }

  /**
   * Makes everything durable, and ends. Returns the transaction, or the state that was read if
   * nothing was written; undefined when another write has changed an earlier result.
   */
  async commit(): Promise<number | undefined> {
    if (this.#isOver) throw new PeerError("store.closed", "the transaction has ended");
    this.close();
    if (this.#failure !== undefined) throw this.#failure;
    // All reads were of one state.
    if (!this.#isWriting) return this.#draft.txnId;
    try {
      const played = this.#played;
      const { txnId } = await this.#store.transactInSteps(function* playAll(transaction) {
        for (const each of played) yield* playAgain(each, transaction);
      });
      return txnId;
    } catch (error) {
      if (error === CHANGED) return undefined;
      throw error;
    }
  }

  /** Ends the transaction; without a commit it has no effect. Idempotent. */
  close(): void {
    this.#isOver = true;
    this.#draft.close();
  }

  #play(ready: ReadyStatement): Answer<StatementOutput> {
    const { work, run } = ready;
    checkKind(ready);
    const { transaction } = this.#draft;
    const draws: Uint8Array[] = [];
    const platform = platformOf(run.platform, (size) => {
      const drawn = run.platform.random(size);
      draws.push(drawn);
      return drawn;
    });
    const execution = ready.begin({ ...run, platform })(transaction.view, transaction);
    let written = 0;
    try {
      const output = finish(perform(work, execution, transaction, () => written++));
      this.#isWriting ||= work.kind === "write";
      this.#played.push({ ready, draws, seen: { kind: "done", output } });
      const { list, total } = execution.warnings;
      return { result: output, warnings: list, totalWarnings: total };
    } catch (error) {
      // A failure before any write has no effect, and the caller may continue.
      if (written > 0) this.#failure = error;
      else this.#played.push({ ready, draws, seen: { kind: "failed", message: messageOf(error) } });
      throw error;
    }
  }
}

/** DELETE of finished requests cannot be rolled back, so it is refused. */
function checkKind({ kind, work }: ReadyStatement): void {
  if (KINDS.has(kind) && (kind !== "remove" || work.kind === "write")) return;
  const expected = "SELECT, INSERT, UPDATE, DELETE, EVICT or TOMBSTONE";
  throw semanticFault(`expected ${expected} of documents in a transaction`, 0);
}

/** Runs a statement from beginning to end. */
function perform(
  work: Work,
  execution: Execution,
  transaction: Transaction,
  onWrite: () => void,
): Steps<StatementOutput> {
  const { budget } = execution.run;
  transaction.watch(() => {
    budget.step();
    onWrite();
  });
  return budgeted(work.run(execution), budget);
}

/** Throws CHANGED when the result differs from the earlier one. */
function* playAgain({ ready, draws, seen }: Played, transaction: Transaction): Steps<void> {
  const { run, work } = ready;
  const budget = ready.again();
  let next = 0;
  let written = 0;
  const platform = platformOf(run.platform, (size) => {
    const drawn = draws[next++];
    return drawn?.length === size ? drawn : run.platform.random(size);
  });
  try {
    const execution = ready.begin({ ...run, platform, budget })(transaction.view, transaction);
    const output = yield* perform(work, execution, transaction, () => written++);
    const isSame = seen.kind === "done" && isEqual(output, seen.output);
    // Data of the host, outside of collections, may change at any time.
    if (!isSame && ready.access.length > 0) throw CHANGED;
  } catch (error) {
    const isSame = seen.kind === "failed" && messageOf(error) === seen.message;
    if (isSame && written === 0) return;
    throw isOfDocuments(error) ? CHANGED : error;
  } finally {
    budget.end();
  }
}

function isEqual(a: StatementOutput, b: StatementOutput): boolean {
  return equalValues([...a.items], [...b.items]) && equalValues([...a.ids], [...b.ids]);
}

/** Whether an error is caused by the documents, not by the time or memory that is left. */
function isOfDocuments(error: unknown): boolean {
  if (error instanceof Fault) return true;
  return error instanceof PeerError && /^(operation|value|id)\./.test(error.code);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function platformOf(platform: Platform, random: (size: number) => Uint8Array): Platform {
  return {
    now: () => platform.now(),
    elapsed: () => platform.elapsed(),
    pause: () => platform.pause(),
    random,
    sha256: (bytes) => platform.sha256(bytes),
    pattern: (source, flags) => platform.pattern(source, flags),
  };
}
