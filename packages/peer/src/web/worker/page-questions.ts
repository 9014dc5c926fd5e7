/**
 * Page questions: what a worker asks one page, and the answers that it waits for.
 *
 * A browser may freeze a page at any time, and others wait for its answer. So the worker pings a page
 * that it waits for, and gives it up after a while of silence.
 */

import type { Answers, Outcome, Question } from "../messages.ts";
import { errorFrom } from "../sent-error.ts";

/** How long a page may be silent while the worker waits for its answer. */
export const SILENT_MS_MAX = 5_000;

const PING_MS = 1_000;

/** Of a question that a frozen page does not answer. */
export class SilentPage extends Error {
  constructor() {
    super(`the page did not answer for ${SILENT_MS_MAX / 1000} s`);
  }
}

export interface PageQuestionsOptions {
  readonly send: (id: number, question: Question) => void;
  /** The page answers a ping at once, unless it is frozen. */
  readonly ping: () => void;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class PageQuestions {
  readonly #options: PageQuestionsOptions;
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  /** When the page last said something. */
  #heardMs = 0;
  /** With what it was closed. */
  end: Error | undefined;

  constructor(options: PageQuestionsOptions) {
    this.#options = options;
  }

  /** Rejects with the error of the page, with SilentPage, or with that of `close`. */
  async ask<Asked extends Question>(question: Asked): Promise<Answers[Asked["kind"]]> {
    if (this.end !== undefined) throw this.end;
    const id = ++this.#count;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#options.send(id, question);
    this.heard();
    const timer = setInterval(() => this.#watch(), PING_MS);
    try {
      return (await answer) as Answers[Asked["kind"]];
    } finally {
      clearInterval(timer);
    }
  }

  /** The page has said something. */
  heard(): void {
    this.#heardMs = performance.now();
  }

  /** Takes an answer. Ignores one for which nothing waits. */
  answer(id: number, outcome: Outcome): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (outcome.kind === "returned") waiting?.resolve(outcome.value);
    else waiting?.reject(errorFrom(outcome.error));
  }

  /** Nothing is answered any more. The first error holds. */
  close(error: Error): void {
    this.end ??= error;
    this.#rejectAll(this.end);
  }

  #watch(): void {
    if (performance.now() - this.#heardMs > SILENT_MS_MAX) this.#rejectAll(new SilentPage());
    else this.#options.ping();
  }

  #rejectAll(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
