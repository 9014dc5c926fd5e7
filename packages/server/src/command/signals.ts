/**
 * Signals: the first SIGINT or SIGTERM stops the server, a later one ends the process at once.
 * SIGHUP reloads the certificate.
 *
 * Ctrl-C reaches every process of the terminal, and npm forwards it as well, so one keystroke may
 * arrive twice. A signal within a second of the first therefore counts as the same.
 */

const SAME_SIGNAL_MS = 1_000;

/** Exit codes as in shells: 128 plus the number of the signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export type StopSignal = keyof typeof EXIT_CODES;

/** The part of `process` that is used here. */
export interface SignalSource {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  on(signal: "SIGHUP", listener: () => void): unknown;
  exit(code: number): void;
}

/** Resolves with the first signal. Another one, a second later or more, exits the process. */
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
