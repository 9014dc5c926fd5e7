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

import { assert, equalValues, PeerError } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { Draft } from "../../store/store.ts";
import type { Transaction } from "../../store/transaction.ts";
import { Fault, semanticFault } from "../fault.ts";
import { finish, type Steps } from "../frame/steps.ts";
import type { StatementRequest, StatementResult } from "../request.ts";
import type { Execution } from "../run/execution.ts";
import { budgeted } from "../run/time-slicer.ts";
import type { StatementOutput, Work } from "../statement/work.ts";
import { type Done, doneAt } from "./answer.ts";
import type { RunnerContext } from "./runner-context.ts";
import { STATEMENT } from "./statement-task.ts";
import { Task } from "./task.ts";
import type { Ready } from "./task-kind.ts";
import type { TaskRun } from "./task-run.ts";
import type { WorkHost } from "./work-host.ts";

type ReadyStatement = Ready<StatementOutput>;

/** The result of a statement as the caller saw it. */
type Seen =
  | { readonly kind: "done"; readonly output: StatementOutput }
  | { readonly kind: "failed"; readonly message: string };

/** A statement that was run, with everything needed to run it again. */
interface Played {
  readonly ready: ReadyStatement;
  readonly taskRun: TaskRun;
  readonly draws: readonly Uint8Array[];
  readonly seen: Seen;
}

const KINDS: ReadonlySet<string> = new Set(["select", "union", "insert", "update", "remove"]);

/** Thrown to leave a transaction of the store without effect. */
const CHANGED: unique symbol = Symbol("changed");

export class StatementTransaction {
  readonly #context: RunnerContext;
  readonly #draft: Draft;
  readonly #host: WorkHost<StatementOutput>;
  readonly #played: Played[] = [];
  #isWriting = false;
  #isOver = false;
  /** A statement failed after a write: the draft no longer shows a valid state. */
  #failure: unknown;

  constructor(context: RunnerContext) {
    this.#context = context;
    this.#draft = context.store.draft();
    this.#host = { isAtOnce: true, run: (ready, taskRun) => this.#play(ready, taskRun) };
  }

  /** Runs a statement on the results of those before it. Throws if it is refused. */
  execute(request: StatementRequest): StatementResult {
    if (this.#isOver) throw new PeerError("store.closed", "the transaction has ended");
    if (this.#failure !== undefined) throw this.#failure;
    const result = new Task(STATEMENT, request, this.#context, this.#host).start();
    assert(!(result instanceof Promise), "a statement that runs at once");
    return result;
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
      const { txnId } = await this.#context.store.transactInSteps(function* playAll(transaction) {
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

  #play(ready: ReadyStatement, taskRun: TaskRun): Done<StatementOutput> {
    const { work } = ready;
    const { run } = taskRun;
    checkKind(ready);
    const { transaction, txnId } = this.#draft;
    const draws: Uint8Array[] = [];
    const platform = platformOf(run.platform, (size) => {
      const drawn = run.platform.random(size);
      draws.push(drawn);
      return drawn;
    });
    const execution = taskRun.again({ platform }).execution(transaction.view, transaction);
    let written = 0;
    try {
      const output = finish(perform(work, execution, transaction, () => written++));
      this.#isWriting ||= work.kind === "write";
      this.#played.push({ ready, taskRun, draws, seen: { kind: "done", output } });
      return doneAt(output, execution.warnings, txnId);
    } catch (error) {
      // A failure before any write has no effect, and the caller may continue.
      if (written > 0) this.#failure = error;
      else {
        const seen = { kind: "failed", message: messageOf(error) } as const;
        this.#played.push({ ready, taskRun, draws, seen });
      }
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
function* playAgain(played: Played, transaction: Transaction): Steps<void> {
  const { ready, taskRun, draws, seen } = played;
  const { run } = taskRun;
  const budget = taskRun.newBudget();
  let next = 0;
  let written = 0;
  const platform = platformOf(run.platform, (size) => {
    const drawn = draws[next++];
    return drawn?.length === size ? drawn : run.platform.random(size);
  });
  try {
    const again = taskRun.again({ platform, budget });
    const execution = again.execution(transaction.view, transaction);
    const output = yield* perform(ready.work, execution, transaction, () => written++);
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
    explainer: () => platform.explainer(),
  };
}
