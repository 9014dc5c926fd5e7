/**
 * Signals: the first SIGINT or SIGTERM asks the server to stop, a later one ends it at once. SIGHUP
 * asks it to read its certificate again.
 *
 * Ctrl-C reaches every process of the terminal, and npm hands it on as well, so one keystroke may
 * arrive twice. What comes within a second of the first is therefore part of it.
 */

const SAME_SIGNAL_MS = 1_000;

/** Exit codes by the custom of shells: 128 and the number of the signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export type StopSignal = keyof typeof EXIT_CODES;

/** What is asked of the process; `process` is one. */
export interface SignalSource {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  on(signal: "SIGHUP", listener: () => void): unknown;
  exit(code: number): void;
}

/** Resolves with the first signal. From then on another one, a second later or more, exits. */
export function waitForStop(
  source: SignalSource,
  now: () => number = () => performance.now(),
): Promise<StopSignal> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const take = (signal: StopSignal): void => {
      if (firstAtMs === undefined) {
        firstAtMs = now();
        resolve(signal);
      } else if (now() - firstAtMs >= SAME_SIGNAL_MS) {
        source.exit(EXIT_CODES[signal]);
      }
    };
    source.on("SIGINT", take);
    source.on("SIGTERM", take);
  });
}
