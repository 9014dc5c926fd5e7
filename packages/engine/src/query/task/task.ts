/**
 * Task: the processing of one request, from the text to the result. It begins the record and the
 * budget of the request, prepares it, checks the caller's permissions and arguments, runs it, and
 * ends both.
 *
 * It is also the context of its own preparation and runs: a request that is prepared already needs
 * few other objects, and no promise if it ends at once.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { IndexDefinition } from "../../store/index-entry.ts";
import { locate } from "../fault.ts";
import type { Budget } from "../frame/budget.ts";
import { checkArguments, requireParameters } from "../plan/parameters.ts";
import { explaining } from "../run/choose.ts";
import { loadedExplainer, type PlanOutline } from "../run/plan-explainer.ts";
import type { ActiveRequest } from "../system/requests.ts";
import type { Done } from "./answer.ts";
import { type Preparation, preparedBytes } from "./prepared-texts.ts";
import type { RunnerContext } from "./runner-context.ts";
import { isStrictFor, type Ready, type TaskKind, type TaskRequest } from "./task-kind.ts";
import { type TaskDetails, TaskRun } from "./task-run.ts";
import type { WorkHost } from "./work-host.ts";

export class Task<R extends TaskRequest, T, Result> implements Preparation, TaskDetails {
  readonly text: string;
  readonly request: R;
  readonly context: RunnerContext;
  readonly budget: Budget;
  readonly #kind: TaskKind<R, T, Result>;
  readonly #host: WorkHost<T>;
  readonly #active: ActiveRequest;

  /** Throws if the request has no time to run; otherwise it counts as active until it ends. */
  constructor(kind: TaskKind<R, T, Result>, request: R, context: RunnerContext, host: WorkHost<T>) {
    this.#kind = kind;
    this.#host = host;
    this.request = request;
    this.context = context;
    this.text = kind.textOf(request);
    this.budget = context.newBudget(request.timeoutMs);
    this.#active = context.requests.begin({
      id: request.requestId,
      text: kind.labelOf(request),
      requestType: kind.requestType,
      appId: context.appId,
      credential: request.caller ?? request.authority?.credential,
      budget: this.budget,
    });
  }

  get isStatement(): boolean {
    return this.#kind.isStatement;
  }

  get owner(): string | undefined {
    return this.request.owner;
  }

  get isAtOnce(): boolean {
    return this.#host.isAtOnce;
  }

  onParsed(): void {
    this.#active.setState("planning");
  }

  /** A promise only when there is something to wait for. To be called once. */
  start(): Result | Promise<Result> {
    try {
      this.budget.take(preparedBytes(this.text));
      const ready = this.#kind.prepare(this.request, this, this.context);
      if (!(ready instanceof Promise)) return this.#startReady(ready);
      const fail = (error: unknown): never => {
        throw this.#fail(error);
      };
      return ready.then((late) => this.#startReady(late), fail);
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #startReady(ready: Ready<T>): Result | Promise<Result> {
    try {
      const done = this.#run(ready);
      if (!(done instanceof Promise)) return this.#complete(done, ready);
      const ended = done.then(
        (late) => this.#complete(late, ready),
        (error: unknown) => {
          throw this.#fail(error);
        },
      );
      // The task goes on to its end, also if its caller is answered before.
      return ready.work.kind === "write" ? this.context.store.answered(ended) : ended;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #run(ready: Ready<T>): Done<T> | Promise<Done<T>> {
    const { request, budget } = this;
    const active = this.#active;
    const { text, plan } = ready;
    if (text !== undefined) active.setText(text);
    active.setQueryType(ready.kind);
    // Before any data is read: a collection without a rule may exist or not.
    request.authority?.require(ready.access);
    if (plan !== undefined) active.setPlan(() => this.#explain(plan));
    const args = checkArguments(request.args);
    requireParameters(ready.parameters, args);
    active.setState("running");
    const { platform } = this.context;
    const run = new TaskRun(this, { args, platform, budget, request: active });
    return this.#host.run(ready, run);
  }

  /** Chooses by the current indexes: the plan may be shown after the request has ended. */
  #explain(plan: PlanOutline): Value | undefined {
    const isStrict = isStrictFor(this, this.request, this.context.settings);
    const view = { indexesOf: (collection: string) => this.#indexesOf(collection) };
    return loadedExplainer(this.context.platform)?.explain(plan, explaining({ isStrict, view }));
  }

  #indexesOf(collection: string): readonly IndexDefinition[] {
    // A restricted caller may not know all indexes; finding the permitted ones takes too long.
    if (this.request.authority?.isReadingAll === false) return [];
    try {
      return this.context.store.read((snapshot) => snapshot.indexesOf(collection));
    } catch (error) {
      if (error instanceof PeerError) return [];
      throw error;
    }
  }

  #complete(done: Done<T>, ready: Ready<T>): Result {
    this.#active.finish({ resultCount: this.#kind.countOf(done.result) });
    this.budget.end();
    return this.#kind.resultOf(done, ready);
  }

  /** Records the error, ends the budget and returns the error for the caller. Idempotent. */
  #fail(error: unknown): unknown {
    const placed = locate(error, this.text);
    this.#active.finish({ error: placed });
    this.budget.end();
    return placed;
  }
}
