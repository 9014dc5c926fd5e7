/**
 * Link dialler: one address of the replications of an app, called again and again, for ever.
 *
 *   waiting ──time──> connecting ──> up ──end──> waiting
 *
 * It decides when. What is said on the connection is a matter of others, who tell it how that ended:
 * the first attempt is made at once, then after a random time that doubles from 0.5 s up to 60 s; a
 * link that has lived starts this over; after what will not be better soon it is 60 s at once (S8).
 */

/** How an attempt or a link ended. */
export interface LinkEnd {
  /** Of `bye`, or `unreachable` for one that was none, `lost` for one that ended without a word. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds that the other side asked for. */
  readonly afterMs?: number | undefined;
}

export interface LinkDiallerOptions {
  /** As it was configured. */
  readonly address: string;
  /** Calls the address. It is told to `ended` how that went, once. */
  readonly dial: (dialler: LinkDialler) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 to 1, without 1. */
  readonly chance: () => number;
}

export type DiallerState = "waiting" | "connecting" | "up";

const FIRST_MS = 500;
const MOST_MS = 60_000;

/** As after very many failures. */
const FAILURES_SLOWEST = 8;

/** A link that ends sooner is not tried again at once. */
const SHORT_LIFE_MS = 1_000;

/** What would come again at once: the one side cannot take what the other does, or is. */
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

  /** Since when it is in its state, milliseconds since 1970. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** When it calls again, milliseconds since 1970; undefined unless it waits. */
  get nextMs(): number | undefined {
    return this.#nextMs;
  }

  /** The other side was found, and both have proved who they are. */
  up(): void {
    this.#enter("up");
  }

  /** How the attempt, or the link that came of it, ended. */
  ended({ code, afterMs = 0 }: LinkEnd): void {
    const livedMs = this.#state === "up" ? this.#options.now() - this.#sinceMs : 0;
    const hasLived = livedMs >= SHORT_LIFE_MS && !FAULT_CODES.has(code);
    if (SLOW_CODES.has(code)) this.#failures = FAILURES_SLOWEST;
    else this.#failures = hasLived ? 0 : this.#failures + 1;
    this.#enter("waiting");
    this.#plan(Math.max(this.#waitMs(), Math.min(afterMs, AFTER_MS_MAX)));
  }

  /** Something is another now: it calls at once, if it waits. */
  hurry(): void {
    if (this.#state !== "waiting" || this.#isStopped) return;
    this.#failures = 0;
    this.#plan(0);
  }

  /** Does not call again. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#nextMs = undefined;
  }

  /** Between half of the span and the whole: those that lost one server do not come back as one. */
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
