/**
 * Stamp: hybrid logical timestamp of a write: its time and its site. Stamps order all writes.
 *
 * Time is milliseconds since 2024 times 4096, plus a count: one exact JS number until 2093. A site
 * is 64 bits as 16 hexadecimal digits and belongs to one incarnation of one store. NONE is below
 * all stamps ("never"), ZERO is the stamp of INITIAL, and site 0 belongs to no store.
 */

import { PeerError } from "./error.ts";
import type { Value } from "./value.ts";

export type Site = string;

export interface Stamp {
  readonly time: number;
  readonly site: Site;
}

export const EPOCH_MS = 1_704_067_200_000; // 2024-01-01T00:00:00Z
export const TICKS_PER_MS = 4096;
export const TIME_MAX: number = Number.MAX_SAFE_INTEGER;

export const NO_SITE: Site = "0000000000000000";
export const NONE: Stamp = { time: -1, site: NO_SITE };
export const ZERO: Stamp = { time: 0, site: NO_SITE };

export function compareStamps(a: Stamp, b: Stamp): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.site === b.site) return 0;
  return a.site < b.site ? -1 : 1;
}

export function isAfter(a: Stamp, b: Stamp): boolean {
  return a.time > b.time || (a.time === b.time && a.site > b.site);
}

export function latest(a: Stamp, b: Stamp): Stamp {
  return isAfter(b, a) ? b : a;
}

/** The least stamp of the same tick: the floor that a clean insert sets below itself. */
export function beforeStamp(stamp: Stamp): Stamp {
  return { time: stamp.time, site: NO_SITE };
}

export function isSite(text: unknown): text is Site {
  return typeof text === "string" && /^[0-9a-f]{16}$/.test(text) && text !== NO_SITE;
}

export function siteOfBytes(bytes: Uint8Array): Site {
  let site = "";
  for (const byte of bytes.subarray(0, 8)) site += byte.toString(16).padStart(2, "0");
  // All zero is reserved; one in 2^64 draws lands here.
  return site === NO_SITE ? "0000000000000001" : site;
}

export function timeOfMs(ms: number): number {
  return (Math.floor(ms) - EPOCH_MS) * TICKS_PER_MS;
}

export function msOfTime(time: number): number {
  return Math.floor(time / TICKS_PER_MS) + EPOCH_MS;
}

/** A stamp inside an operation: `[time, site]`. */
export function stampToValue(stamp: Stamp): Value {
  return [stamp.time, stamp.site];
}

export function stampOfValue(value: Value | undefined, at: string): Stamp {
  if (Array.isArray(value) && value.length === 2) {
    const [time, site] = value as readonly Value[];
    const isTime = typeof time === "number" && Number.isSafeInteger(time) && time >= 0;
    if (isTime && typeof site === "string" && /^[0-9a-f]{16}$/.test(site)) return { time, site };
  }
  throw new PeerError("operation.invalid", "expected a stamp [time, site]", { at });
}
