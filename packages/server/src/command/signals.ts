/**
 * Signals: the first SIGINT or SIGTERM stops the server. A later one ends a shutdown delay that is
 * under way, otherwise it ends the process at once. SIGHUP reloads the certificate, SIGUSR2 changes
 * the log level.
 *
 * Ctrl-C reaches every process of the terminal, and npm forwards it as well, so one keystroke may
 * arrive twice. A signal within a second of the one before it therefore counts as the same.
 */

const SAME_SIGNAL_MS = 1_000;

/** Exit codes as in shells: 128 plus the number of the signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export type StopSignal = keyof typeof EXIT_CODES;

/** The part of `process` that is used here. */
export interface SignalSource {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  on(signal: "SIGHUP" | "SIGUSR2", listener: () => void): unknown;
  exit(code: number): void;
}

/** Takes SIGINT and SIGTERM from when it is made. */
export class StopSignals {
  /** Resolves with the first signal. */
  readonly first: Promise<StopSignal>;
  readonly #source: SignalSource;
  readonly #now: () => number;
  #resolveFirst: (signal: StopSignal) => void = () => {};
  /** When the last signal came that counted. */
  #lastAtMs: number | undefined;
  #endDelay: (() => void) | undefined;

  constructor(source: SignalSource, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#now = now;
    this.first = new Promise((resolve) => {
      this.#resolveFirst = resolve;
    });
    source.on("SIGINT", (signal) => this.#take(signal));
    source.on("SIGTERM", (signal) => this.#take(signal));
  }

  /** Resolves after this time, or at the next signal, which then does not end the process. */
  async delay(ms: number): Promise<void> {
    if (ms === 0) return;
    await new Promise<void>((resolve) => {
      // A server that failed meanwhile must not wait for it.
      const timer = setTimeout(resolve, ms).unref();
      this.#endDelay = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endDelay = undefined;
  }

  #take(signal: StopSignal): void {
    const nowMs = this.#now();
    const lastAtMs = this.#lastAtMs;
    if (lastAtMs !== undefined && nowMs - lastAtMs < SAME_SIGNAL_MS) return;
    this.#lastAtMs = nowMs;
    if (lastAtMs === undefined) this.#resolveFirst(signal);
    else if (this.#endDelay !== undefined) this.#endDelay();
    else this.#source.exit(EXIT_CODES[signal]);
  }
}
