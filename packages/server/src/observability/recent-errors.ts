/**
 * Recent errors: the last warnings and errors of the log, without secrets, in a list of fixed size.
 */

import { type Log, type LogLevel, withoutSecrets } from "./log.ts";

export interface RecentError {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
}

const KEPT_MAX = 50;
const MESSAGE_LENGTH_MAX = 1_000;

export class RecentErrors {
  readonly #kept: RecentError[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The same log, which also keeps its warnings and errors here. */
  watch(log: Log): Log {
    return (level, message, fields) => {
      if (level === "warn" || level === "error") this.#keep(level, message);
      log(level, message, fields);
    };
  }

  /** Newest first. */
  get list(): readonly RecentError[] {
    return this.#kept.toReversed();
  }

  #keep(level: LogLevel, message: string): void {
    const shown = withoutSecrets(message.slice(0, MESSAGE_LENGTH_MAX));
    this.#kept.push({ at: this.#now(), level, message: shown });
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
  }
}
