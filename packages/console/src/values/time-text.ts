/**
 * Times as texts that are relative to now, such as `5 min ago`.
 */

import { plural } from "./show-value.ts";

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [1, "s"],
  [60, "min"],
  [3600, "h"],
  [86_400, "d"],
];

const SOON_S = 3;

export function agoText(atMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - atMs) / 1000);
  if (Math.abs(seconds) < SOON_S) return "now";
  const text = durationText(Math.abs(seconds) * 1000);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** One unit, rounded down: `45 s`, `12 min`, `3 h`, `9 d`. Below a second `12 ms`. */
export function durationText(ms: number): string {
  if (ms < 1) return ms === 0 ? "0 ms" : `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  const [size, unit] = STEPS.findLast(([step]) => seconds >= step) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** A measured time with three digits: `0.42 ms`, `12.3 ms`, `1.04 s`. */
export function elapsedText(ms: number): string {
  const [value, unit] = ms < 1000 ? [ms, "ms"] : [ms / 1000, "s"];
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

export interface Lag {
  /** Null if the number is not known. */
  readonly transactions: number | null;
  readonly seconds: number | null;
}

/** How far one side is behind the other: `12 transactions, 4 s`. */
export function lagText({ transactions, seconds }: Lag): string {
  if (transactions === null) return "unknown";
  if (transactions === 0) return "0";
  const since = seconds === null ? "" : `, ${durationText(seconds * 1000)}`;
  return `${plural(transactions, "transaction")}${since}`;
}
