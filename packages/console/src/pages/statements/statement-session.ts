/**
 * The work on statements of one app: the text, its arguments, and what ran last. It outlives the page
 * while the console is open; the text is in the storage of the browser and outlives that, too.
 */
import {
  outlineStatement,
  type StatementText,
  splitStatements,
  statementAt,
  type WholeCollectionWrite,
} from "@bigpeer/engine/language";
import { execute, type StatementResult } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { type Signal, signal } from "../../kit/preact.ts";
import { stored, update } from "../../kit/stored.ts";
import { placeIn } from "../../values/message-place.ts";
import type { ReadAs } from "../../values/read-as.ts";
import { readResult, type Shown } from "../../values/statement-result.ts";
import {
  readArguments,
  type StatementPrefix,
  withLimit,
  withoutPrefix,
  withPrefix,
} from "../../values/statement-text.ts";
import { keepInHistory } from "./kept-statements.ts";
import { confirmWholeCollection } from "./whole-collection.ts";

export interface FinishedRun {
  /** The text that was sent. */
  readonly statement: string;
  readonly ms: number;
  /** What it ran as, for a note. */
  readonly as: ReadAs | undefined;
}

export type Run =
  | { readonly kind: "running"; readonly statement: string; readonly startMs: number }
  | ({
      readonly kind: "done";
      readonly result: StatementResult<unknown>;
      readonly shown: Shown;
      /** Whether the console added a limit, and the result reached it. */
      readonly isCut: boolean;
      /** Of a PROFILE: how long the same statement took before. */
      readonly earlierMs: number | undefined;
    } & FinishedRun)
  | ({ readonly kind: "failed"; readonly error: ApiError } & FinishedRun)
  | ({ readonly kind: "cancelled" } & FinishedRun);

export interface RunOptions {
  readonly prefix?: StatementPrefix;
  /** Whether all rows are read, however many. */
  readonly isWhole?: boolean;
  readonly as?: ReadAs | undefined;
}

/** A place in the whole text to mark. */
export interface MarkedPlace {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** Rows of a query without LIMIT, so that none fills the browser by accident. */
export const ROWS_MAX = 1000;

interface Draft {
  readonly text: string;
  readonly args: string;
}

type Drafts = Readonly<Record<string, Draft>>;

const drafts: Signal<Drafts> = stored<Drafts>("drafts", {}, isDrafts);

/** The least recently changed draft goes first. */
const DRAFTS_MAX = 20;
const DRAFT_LENGTH_MAX = 500_000;

export class StatementSession {
  readonly app: string;
  readonly text: Signal<string>;
  /** Arguments as JSON. */
  readonly args: Signal<string>;
  /** The selection in the text; empty is the cursor. */
  readonly selection: Signal<{ readonly from: number; readonly to: number }>;
  readonly run: Signal<Run | undefined> = signal(undefined);
  readonly marked: Signal<MarkedPlace | undefined> = signal(undefined);
  readonly #profiled = new Map<string, number>();
  #running: AbortController | undefined;
  /** Whether a question about the statement is open. */
  #isAsking = false;

  constructor(app: string) {
    const { text = "", args = "" } = drafts.value[app] ?? {};
    this.app = app;
    this.text = signal(text);
    this.args = signal(args);
    this.selection = signal({ from: text.length, to: text.length });
  }

  write(text: string, args: string = this.args.value): void {
    this.text.value = text;
    this.args.value = args;
    this.marked.value = undefined;
    keepDraft(this.app, { text, args });
  }

  /** The selected text, otherwise the statement at the cursor. */
  current(): StatementText | undefined {
    const text = this.text.value;
    const { from, to } = this.selection.value;
    const selected = text.slice(from, to);
    if (selected.trim() === "") return statementAt(text, from);
    const [lead = ""] = /^\s*/.exec(selected) ?? [];
    const trimmed = selected.trim().replace(/;$/, "");
    const at = from + lead.length;
    return { text: trimmed, at, end: at + trimmed.length, line: 0 };
  }

  /** Which statement of the text runs, from 1. */
  position(): { readonly index: number; readonly count: number } {
    const all = splitStatements(this.text.value);
    const { from } = this.selection.value;
    const index = all.findLastIndex(({ at }) => at <= from);
    return { index: Math.max(index, 0) + 1, count: all.length };
  }

  async start(options: RunOptions = {}): Promise<void> {
    const chosen = this.current();
    const { args, fault } = readArguments(this.args.value);
    if (chosen === undefined || fault !== undefined || this.#isBusy) return;
    const { prefix, isWhole = false } = options;
    const written = prefix === undefined ? chosen.text : withPrefix(chosen.text, prefix);
    const outline = outlineStatement(written);
    if (!(await this.#isAllowed(outline?.wholeCollection))) return;
    const isLimited = outline?.prefix === undefined && outline?.isUnlimited === true && !isWhole;
    // One row more tells whether there are more.
    const statement = isLimited ? withLimit(written, ROWS_MAX + 1) : written;
    await this.#run({ chosen, written, statement, args, as: options.as });
  }

  get #isBusy(): boolean {
    return this.#running !== undefined || this.#isAsking;
  }

  async #isAllowed(write: WholeCollectionWrite | undefined): Promise<boolean> {
    if (write === undefined) return true;
    this.#isAsking = true;
    try {
      return await confirmWholeCollection(this.app, write);
    } finally {
      this.#isAsking = false;
    }
  }

  cancel(): void {
    this.#running?.abort();
  }

  async #run(call: Call): Promise<void> {
    const { written, statement, args, as } = call;
    const controller = new AbortController();
    this.#running = controller;
    this.marked.value = undefined;
    const startMs = performance.now();
    this.run.value = { kind: "running", statement: written, startMs };
    const finished = (): FinishedRun => {
      return { statement: written, ms: performance.now() - startMs, as };
    };
    try {
      const options = { args, signal: controller.signal, ...(as !== undefined && { as }) };
      const result = await execute<unknown>(this.app, statement, options);
      this.run.value = this.#doneRun(finished(), result, statement !== written);
      this.#remember(call, this.run.value);
    } catch (error) {
      if (controller.signal.aborted) this.run.value = { kind: "cancelled", ...finished() };
      else this.#fail(call, ApiError.from(error), finished());
    } finally {
      this.#running = undefined;
    }
  }

  #doneRun(run: FinishedRun, answer: StatementResult<unknown>, isLimited: boolean): Run {
    const isCut = isLimited && answer.items.length > ROWS_MAX;
    const result = isCut ? { ...answer, items: answer.items.slice(0, ROWS_MAX) } : answer;
    const shown = readResult(result.items);
    const statement = withoutPrefix(run.statement);
    const earlierMs = shown.profile && this.#profiled.get(statement);
    if (shown.profile !== undefined) this.#profiled.set(statement, shown.profile.elapsedMs);
    return { kind: "done", ...run, result, shown, isCut, earlierMs };
  }

  #fail({ chosen, written }: Call, error: ApiError, run: FinishedRun): void {
    this.run.value = { kind: "failed", error, ...run };
    this.#remember({ chosen }, this.run.value);
    const place = placeIn(error.message, written);
    if (place === undefined) return;
    // What the prefix moved to the right.
    const shift = written.length - chosen.text.length;
    const from = Math.max(chosen.at, chosen.at + place - shift);
    const to = wordEnd(this.text.value, from);
    this.marked.value = { from, to, message: error.message };
  }

  #remember({ chosen }: Pick<Call, "chosen">, run: Run): void {
    if (run.kind !== "done" && run.kind !== "failed") return;
    const rows = run.kind === "done" ? run.shown.rows.length : undefined;
    keepInHistory({
      app: this.app,
      text: chosen.text,
      args: this.args.value.trim(),
      at: Date.now(),
      ms: run.ms,
      ...(rows !== undefined && { rows }),
    });
  }
}

interface Call {
  readonly chosen: StatementText;
  /** With its prefix. */
  readonly written: string;
  /** With the limit of the console. */
  readonly statement: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly as: ReadAs | undefined;
}

const sessions = new Map<string, StatementSession>();

export function sessionOf(app: string): StatementSession {
  let session = sessions.get(app);
  if (session === undefined) {
    session = new StatementSession(app);
    sessions.set(app, session);
  }
  return session;
}

function keepDraft(app: string, draft: Draft): void {
  if (draft.text.length > DRAFT_LENGTH_MAX) return;
  update(drafts, (all) => {
    const others = Object.entries(all).filter(([name]) => name !== app);
    return Object.fromEntries([...others.slice(1 - DRAFTS_MAX), [app, draft]]);
  });
}

function isDrafts(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((draft: unknown) => {
    const { text, args } = (draft ?? {}) as Partial<Draft>;
    return typeof text === "string" && typeof args === "string";
  });
}

function wordEnd(text: string, from: number): number {
  const [word = ""] = /^(?:[\p{L}\p{N}_]+|.)?/u.exec(text.slice(from)) ?? [];
  return from + word.length;
}
