/**
 * Times in bodies of the management API: RFC 3339 outside, milliseconds since 1970 inside.
 */

import { PeerError } from "@bigpeer/protocol";
import { kindOf } from "../schema-fault.ts";

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Throws PeerError `value.invalid`, which names the place. */
export function readTime(text: string, at: string): number {
  const [, year, month, day] = TIME.exec(text) ?? [];
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (isDay.getUTCMonth() === Number(month) - 1 && isDay.getUTCDate() === Number(day)) {
    return Date.parse(text.toUpperCase());
  }
  const message = `expected a time like 2030-12-31T23:59:59Z, found ${kindOf(text)}`;
  throw new PeerError("value.invalid", message, { at });
}

export function showTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Null for a time that there is not. */
export function showOptionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : showTime(ms);
}
