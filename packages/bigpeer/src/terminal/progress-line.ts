/**
 * ProgressLine: one line on standard error that is drawn again as work goes on. Nothing where there
 * is no terminal.
 */

import type { ProgramHost } from "../program/host.ts";

const DRAW_MS = 200;

export interface ProgressState {
  readonly done: number;
  /** Part of the whole, from 0 to 1; undefined if the whole is unknown. */
  readonly part?: number | undefined;
}

export class ProgressLine {
  readonly #host: ProgramHost;
  readonly #what: string;
  readonly #isShown: boolean;
  readonly #startMs: number = performance.now();
  #drawnMs = 0;
  #isDrawn = false;

  /** `what` is counted, such as `documents`. */
  constructor(host: ProgramHost, what: string, isQuiet: boolean) {
    this.#host = host;
    this.#what = what;
    this.#isShown = host.errors.isTerminal && !isQuiet;
  }

  get seconds(): number {
    return (performance.now() - this.#startMs) / 1000;
  }

  update(state: ProgressState): void {
    const nowMs = performance.now();
    if (!this.#isShown || nowMs - this.#drawnMs < DRAW_MS) return;
    this.#drawnMs = nowMs;
    this.#isDrawn = true;
    void this.#host.errors.write(`\r\u001b[K${this.text(state)}`);
  }

  text({ done, part }: ProgressState): string {
    const { seconds } = this;
    const rate = seconds > 0 ? Math.round(done / seconds) : 0;
    const line = `${count(done)} ${this.#what}, ${count(rate)}/s`;
    if (part === undefined || part <= 0) return line;
    const left = Math.max(0, seconds / part - seconds);
    return `${line}, ${Math.floor(part * 100)} %, ${duration(left)} left`;
  }

  clear(): void {
    if (this.#isDrawn) void this.#host.errors.write("\r\u001b[K");
    this.#isDrawn = false;
  }
}

export function count(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
