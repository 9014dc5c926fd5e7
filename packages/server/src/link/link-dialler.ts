/**
 * Link dialler: dials an address of an app's replications again and again, with back-off (S8).
 *
 * waiting ──time──> connecting ──> up ──end──> waiting
 *
 * It only decides when to dial; its owner reports how each attempt ended. The first attempt is
 * immediate, later ones wait a random time that doubles from 0.5 s up to 60 s. A link that lasted
 * resets this time. After an error that will not pass soon it is 60 s at once.
 */

/** How an attempt or a link ended. */
export interface LinkEnd {
  /** A code of `bye`, `unreachable` without a connection, or `lost` if it ended without `bye`. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds that the other side asked this one to wait. */
  readonly afterMs?: number | undefined;
}

export interface LinkDiallerOptions {
  /** As configured. */
  readonly address: string;
  /** Dials the address. `ended` must be called with the result, once. */
  readonly dial: (dialler: LinkDialler) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A random number from 0 to 1, without 1. */
  readonly chance: () => number;
}

export type DiallerState = "waiting" | "connecting" | "up";

const FIRST_MS = 500;
const MOST_MS = 60_000;

/** Number of failures from which on the wait is longest. */
const FAILURES_SLOWEST = 8;

/** A shorter link is not retried at once. */
const SHORT_LIFE_MS = 1_000;

/** Ends that would recur at once: one side cannot accept what the other sends, or is. */
const SLOW_CODES: ReadonlySet<string> = new Set(["unauthorized", "version", "duplicate"]);
const FAULT_CODES: ReadonlySet<string> = new Set(["malformed", "too_slow"]);

/** The longest time that the other side may ask for. */
const AFTER_MS_MAX = 600_000;

export class LinkDialler {
  readonly address: string;
  readonly #options: LinkDiallerOptions;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #state: DiallerState = "waiting";
  #sinceMs: number;
  #nextMs: number | undefined;
  #isStopped = false;

  constructor(options: LinkDiallerOptions) {
    this.#options = options;
    this.address = options.address;
    this.#sinceMs = options.now();
    this.#plan(0);
  }

  get state(): DiallerState {
    return this.#state;
  }

  /** When it entered its state, in milliseconds since 1970. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** When it dials again, in milliseconds since 1970; undefined unless it waits. */
  get nextMs(): number | undefined {
    return this.#nextMs;
  }

  /** The link is up: both sides have proved the secret. */
  up(): void {
    this.#enter("up");
  }

  /** How the attempt, or the link that came of it, ended. */
  ended({ code, afterMs = 0 }: LinkEnd): void {
    const livedMs = this.#state === "up" ? this.#options.now() - this.#sinceMs : 0;
    const hasIncarnation = livedMs >= SHORT_LIFE_MS && !FAULT_CODES.has(code);
    if (SLOW_CODES.has(code)) this.#failures = FAILURES_SLOWEST;
    else this.#failures = hasIncarnation ? 0 : this.#failures + 1;
    this.#enter("waiting");
    this.#plan(Math.max(this.#waitMs(), Math.min(afterMs, AFTER_MS_MAX)));
  }

  /** Something has changed: dials at once, if it waits. */
  hurry(): void {
    if (this.#state !== "waiting" || this.#isStopped) return;
    this.#failures = 0;
    this.#plan(0);
  }

  /** Stops dialling. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#nextMs = undefined;
  }

  /** A random wait between half the span and all of it, so that not all reconnect together. */
  #waitMs(): number {
    if (this.#failures === 0) return 0;
    const span = Math.min(MOST_MS, FIRST_MS * 2 ** (this.#failures - 1));
    return Math.round((span / 2) * (1 + this.#options.chance()));
  }

  #plan(waitMs: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#nextMs = this.#options.now() + waitMs;
    this.#timer = setTimeout(() => this.#dial(), waitMs);
    this.#timer.unref();
  }

  #dial(): void {
    this.#nextMs = undefined;
    this.#enter("connecting");
    this.#options.dial(this);
  }

  #enter(state: DiallerState): void {
    this.#state = state;
    this.#sinceMs = this.#options.now();
  }
}
