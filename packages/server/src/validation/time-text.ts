/**
 * Time format: converts RFC 3339 in bodies of the management API to milliseconds since 1970 and
 * back.
 */

import { PeerError } from "@bigpeer/protocol";
import { kindOf } from "./schema-fault.ts";

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Throws PeerError `value.invalid` with the place. */
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

/** Null for an undefined time. */
export function showOptionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : showTime(ms);
}
