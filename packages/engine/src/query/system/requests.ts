/**
 * Requests: the registry of running requests and a bounded history of finished ones.
 *
 * `system:active_requests` and `system:request_history` show them. A request is cancelled through
 * its budget. The registry keeps the text of a request, never its arguments: they are user data.
 */

import { PeerError, stringifyJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { IndexedSet, type Placed } from "../../indexed-set.ts";
import type { Platform } from "../../platform.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { Budget } from "../frame/budget.ts";
import type { RequestInfo } from "../frame/frame.ts";
import type { IndexReads, IndexUses } from "../frame/index-uses.ts";
import { uuidOf } from "../uuid.ts";
import type { HistoryQualifiers, Settings } from "./settings.ts";
import { systemDocument } from "./system-document.ts";

/** Maximum characters of a statement that the history keeps. */
export const REQUEST_TEXT_MAX = 4096;

/** Maximum approximate bytes of the whole history, at any number of requests. */
export const HISTORY_BYTES_MAX: number = 8 * 1024 * 1024;

const ERROR_TEXT_MAX = 512;
const ROW_BYTES = 400;

/** The history keeps the plan of a request that took at least this long: plans are large. */
const PLAN_KEPT_MS = 1000;

const NANOSECONDS_PER_MS = 1_000_000;

export type ActiveState = "parsing" | "planning" | "running";
export type FinalState = "completed" | "failed" | "cancelled" | "timed_out";

export interface RequestStart {
  /** External id of the request. Default: a generated id. */
  readonly id?: string | undefined;
  readonly text: string;
  readonly appId: string;
  /** Credential of the caller, if known. */
  readonly credential?: string | undefined;
  readonly budget: Budget;
  /** Kind of request. Default: `execute`. */
  readonly requestType?: string;
}

export interface RequestOutcome {
  /** Number of rows returned or documents changed. */
  readonly resultCount?: number;
  /** The error, if the request failed. */
  readonly error?: unknown;
}

export interface RequestsOptions {
  readonly platform: Pick<Platform, "now" | "elapsed" | "random">;
  readonly settings: Settings;
  /** Counts the indexes that requests read; undefined if no one asks for them. */
  readonly indexUses?: IndexUses | undefined;
  /**
   * Called with the row of a request that took longer than dql_slow_request_warn_seconds or
   * exceeded its time limit.
   */
  readonly onSlow?: (row: StoredDocument) => void;
}

export interface RequestTotals {
  readonly active: number;
  readonly completed: number;
  /** Requests that failed, were cancelled or timed out. */
  readonly failed: number;
  readonly remembered: number;
}

/** Record of a request, all that the history keeps; a row is made from it on demand. */
class RequestRecord {
  id = "";
  credential: string | undefined;
  appId = "";
  text = "";
  requestType = "";
  startMs = 0;
  state: ActiveState | FinalState = "parsing";
  resultCount = 0;
  queryType: string | undefined;
  error: string | undefined;
  elapsedMs = 0;
  parseMs = 0;
  planMs = 0;
  runMs = 0;
  plan: Value | undefined;
  /** Why the history keeps a finished request. */
  qualifier: string | undefined;
}

const CANCELLED = "the request was cancelled";

export class Requests {
  readonly #options: RequestsOptions;
  readonly #active = new IndexedSet<ActiveRequest>();
  /** Oldest first, from #first on: earlier entries are dropped and await compaction. */
  #finished: RequestRecord[] = [];
  #first = 0;
  /**
   * The last dropped record, for reuse. Objects that live for thousands of requests and then die
   * cost the garbage collector more than all else that a request does here.
   */
  #spare: RequestRecord | undefined;
  #bytes = 0;
  #completed = 0;
  #failed = 0;
  readonly #idPrefix: string;
  #begun = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
    // One random draw for all ids: it costs more than all else at the start of a request.
    this.#idPrefix = uuidOf((size) => options.platform.random(size));
  }

  /** Starts a request. The caller must call `finish` in every case. */
  begin(start: RequestStart): ActiveRequest {
    const number = ++this.#begun;
    const id = start.id ?? `${this.#idPrefix}-${number}`;
    const request = new ActiveRequest(id, number, start, this);
    this.#active.add(request);
    return request;
  }

  /** Cancels a running request at its next budget check; false if there is none. */
  cancel(id: string, reason: string = CANCELLED): boolean {
    const request = this.#find(id);
    request?.cancel(reason);
    return request !== undefined;
  }

  /** Cancels running requests; returns the ids of those that ran. */
  cancelAll(ids: Iterable<Value>, credential?: string): readonly Value[] {
    return Array.from(ids).filter((id) => {
      if (typeof id !== "string") return false;
      const request = this.#find(id, credential);
      request?.cancel(CANCELLED);
      return request !== undefined;
    });
  }

  /**
   * Rows of active requests in order of their start. Here and below, `credential` selects the
   * requests of one caller; without it the requests of all callers are meant.
   */
  activeRows(credential?: string): readonly StoredDocument[] {
    const active = this.#active.list().filter((request) => isOf(credential, request));
    return active.sort((a, b) => a.number - b.number).map((request) => request.row());
  }

  /** Rows of finished requests, oldest first. */
  historyRows(credential?: string): readonly StoredDocument[] {
    this.#trim();
    const finished = this.#finished.slice(this.#first);
    return finished.filter((record) => isOf(credential, record)).map(rowOf);
  }

  /** Removes finished requests; returns the ids of those that existed. */
  remove(ids: Iterable<Value>, credential?: string): readonly Value[] {
    const unwanted = new Set(ids);
    const removed: Value[] = [];
    const kept = this.#finished.slice(this.#first).filter((record) => {
      const { id } = record;
      if (!unwanted.has(id) || !isOf(credential, record)) return true;
      removed.push(id);
      return false;
    });
    this.#keep(kept);
    return removed;
  }

  get totals(): RequestTotals {
    this.#trim();
    return {
      active: this.#active.size,
      completed: this.#completed,
      failed: this.#failed,
      remembered: this.#finished.length - this.#first,
    };
  }

  get platform(): RequestsOptions["platform"] {
    return this.#options.platform;
  }

  get indexUses(): IndexUses | undefined {
    return this.#options.indexUses;
  }

  /** Called by a request when it ends. */
  end(request: ActiveRequest): void {
    const { settings, onSlow } = this.#options;
    this.#active.remove(request);
    if (request.isCompleted) this.#completed++;
    else this.#failed++;
    const slowMs = settings.slowRequestMs;
    const isSlow = slowMs !== undefined && request.elapsedMs >= slowMs;
    if (isSlow || request.isTimedOut) onSlow?.(request.row());
    const qualifier = qualifierOf(request, settings.historyQualifiers);
    if (qualifier === undefined || settings.historySize === 0) return;
    const record = this.#spare ?? new RequestRecord();
    this.#spare = undefined;
    request.keepIn(record, qualifier);
    this.#finished.push(record);
    this.#bytes += bytesOf(record);
    this.#trim();
  }

  #find(id: string, credential?: string): ActiveRequest | undefined {
    // Linear search: requests are rarely cancelled, but start and end all the time.
    return this.#active.list().find((each) => each.id === id && isOf(credential, each));
  }

  #trim(): void {
    const { historySize } = this.#options.settings;
    const finished = this.#finished;
    while (finished.length - this.#first > historySize || this.#bytes > HISTORY_BYTES_MAX) {
      const dropped = finished[this.#first++];
      if (dropped === undefined) continue;
      this.#bytes -= bytesOf(dropped);
      this.#spare = dropped;
    }
    // Compacts rarely: moving the rest for each request would cost the whole length.
    if (this.#first > 16 && this.#first > finished.length / 2) {
      this.#keep(finished.slice(this.#first));
    }
  }

  #keep(finished: RequestRecord[]): void {
    this.#finished = finished;
    this.#first = 0;
    this.#bytes = finished.reduce((sum, record) => sum + bytesOf(record), 0);
  }
}

/** A running request, with its state and timings; also the request information of its Run. */
export class ActiveRequest implements RequestInfo, Placed {
  place = -1;
  readonly id: string;
  /** Sequence number of the request in its store. */
  readonly number: number;
  readonly appId: string;
  readonly startMs: number;
  readonly #start: RequestStart;
  #text: string;
  readonly #requests: Requests;
  readonly #beginMs: number;
  /** Milliseconds spent in each past state. */
  readonly #phases: { [state in ActiveState]: number } = { parsing: 0, planning: 0, running: 0 };
  #state: ActiveState | FinalState = "parsing";
  #stateMs: number;
  #endMs: number | undefined;
  #queryType: string | undefined;
  #plan: (() => Value | undefined) | undefined;
  #resultCount = 0;
  #error: string | undefined;
  #isCancelled = false;
  #indexReads: IndexReads | undefined;

  constructor(id: string, number: number, start: RequestStart, requests: Requests) {
    this.id = id;
    this.number = number;
    this.appId = start.appId;
    this.startMs = requests.platform.now();
    this.#start = start;
    this.#text = start.text;
    this.#requests = requests;
    this.#beginMs = start.budget.startMs;
    this.#stateMs = this.#beginMs;
  }

  get budget(): Budget {
    return this.#start.budget;
  }

  get credential(): string | undefined {
    return this.#start.credential;
  }

  get elapsedMs(): number {
    return (this.#endMs ?? this.#requests.platform.elapsed()) - this.#beginMs;
  }

  /** Made on use: most requests read no index. */
  get indexReads(): IndexReads | undefined {
    this.#indexReads ??= this.#requests.indexUses?.begin(this.startMs);
    return this.#indexReads;
  }

  get isCompleted(): boolean {
    return this.#state === "completed";
  }

  get isTimedOut(): boolean {
    return this.#state === "timed_out";
  }

  get isFinished(): boolean {
    return this.#endMs !== undefined;
  }

  get resultCount(): number {
    return this.#resultCount;
  }

  /** Changes the state; the time in the previous state counts for its phase. */
  setState(state: ActiveState): void {
    if (!this.isFinished) this.#leaveFor(state);
  }

  /** Replaces the text by the same string of the statement cache, so the history holds no copy. */
  setText(text: string): void {
    this.#text = text;
  }

  /** Type of the statement (`select`, `insert`, …), set once it is parsed. */
  setQueryType(queryType: string): void {
    this.#queryType = queryType;
  }

  /**
   * Sets how the plan is shown, during the run or after a long one. `plan` never throws. It returns
   * undefined while the host has not loaded the explainer.
   */
  setPlan(plan: () => Value | undefined): void {
    this.#plan = plan;
  }

  cancel(reason: string): void {
    this.#isCancelled = true;
    this.budget.cancel(reason);
  }

  /** Ends the request. Only the first call has an effect. */
  finish({ resultCount, error }: RequestOutcome = {}): void {
    if (this.isFinished) return;
    if (resultCount !== undefined) this.#resultCount = resultCount;
    if (error !== undefined) this.#error = cut(messageOf(error), ERROR_TEXT_MAX).toWellFormed();
    this.#leaveFor(this.#finalState(error));
    this.#endMs = this.#stateMs;
    this.#requests.end(this);
  }

  row(): StoredDocument {
    const record = new RequestRecord();
    this.#fill(record);
    record.plan = this.#plan?.();
    return rowOf(record);
  }

  /** Fills a record for the history; `qualifier` is the reason to keep it. */
  keepIn(record: RequestRecord, qualifier: string): void {
    this.#fill(record);
    record.plan = this.elapsedMs < PLAN_KEPT_MS ? undefined : this.#plan?.();
    record.qualifier = qualifier;
  }

  #fill(record: RequestRecord): void {
    const { parsing, planning, running } = this.#phases;
    record.id = this.id;
    record.credential = this.credential;
    record.appId = this.appId;
    record.text = cut(this.#text, REQUEST_TEXT_MAX);
    record.requestType = this.#start.requestType ?? "execute";
    record.startMs = this.startMs;
    record.state = this.#state;
    record.resultCount = this.#resultCount;
    record.queryType = this.#queryType;
    record.error = this.#error;
    record.elapsedMs = this.elapsedMs;
    record.parseMs = parsing;
    record.planMs = planning;
    record.runMs = running;
  }

  #leaveFor(state: ActiveState | FinalState): void {
    const now = this.#requests.platform.elapsed();
    const left = this.#state as ActiveState;
    this.#phases[left] += now - this.#stateMs;
    this.#state = state;
    this.#stateMs = now;
  }

  #finalState(error: unknown): FinalState {
    if (error === undefined) return "completed";
    const isStopped = error instanceof PeerError && error.code === "query.timeout";
    if (!isStopped) return "failed";
    return this.#isCancelled ? "cancelled" : "timed_out";
  }
}

function isOf(
  credential: string | undefined,
  request: { readonly credential: string | undefined },
): boolean {
  return credential === undefined || credential === request.credential;
}

function rowOf(record: RequestRecord): StoredDocument {
  const { queryType, plan, error, qualifier } = record;
  return systemDocument(record.id, {
    app_id: record.appId,
    text: record.text.toWellFormed(),
    state: record.state,
    requestType: record.requestType,
    requestTime: record.startMs,
    resultCount: record.resultCount,
    times: timesOf(record),
    ...(queryType === undefined ? {} : { queryType }),
    ...(plan === undefined ? {} : { plan }),
    ...(error === undefined ? {} : { error }),
    ...(qualifier === undefined ? {} : { "~qualifier": qualifier }),
  });
}

/** Times in milliseconds; phases that took none are omitted. */
function timesOf({ elapsedMs, parseMs, planMs, runMs }: RequestRecord): ValueObject {
  return {
    elapsed: rounded(elapsedMs),
    ...phaseTime("parse", parseMs),
    ...phaseTime("plan", planMs),
    ...phaseTime("run", runMs),
  };
}

/** Approximate memory: two bytes for each character, twice that for a plan. */
function bytesOf({ text, error, plan }: RequestRecord): number {
  const planLength = plan === undefined ? 0 : stringifyJson(plan).length;
  return ROW_BYTES + 2 * (text.length + (error?.length ?? 0)) + 4 * planLength;
}

/** Why the history keeps a finished request; undefined if it does not. */
function qualifierOf(request: ActiveRequest, wanted: HistoryQualifiers): string | undefined {
  if (Object.keys(wanted).length === 0) return "all";
  if (wanted.failed === true && !request.isCompleted) return "failed";
  const { elapsed_ms: elapsedMs, result_count: resultCount } = wanted;
  if (elapsedMs !== undefined && request.elapsedMs >= elapsedMs) return "elapsed_ms";
  if (resultCount !== undefined && request.resultCount >= resultCount) return "result_count";
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function phaseTime(name: string, ms: number): ValueObject {
  const time = rounded(ms);
  return time === 0 ? {} : { [name]: time };
}

/** Rounds to a microsecond. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

export function nanoseconds(ms: number): number {
  return Math.round(ms * NANOSECONDS_PER_MS);
}

/** The beginning of a text, copied: a slice would keep the whole text alive. */
function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text
    .slice(0, lengthMax - 1)
    .split("")
    .join("")}…`;
}
