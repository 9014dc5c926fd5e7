/**
 * JSON of requests, without loss (exact-json.ts). JSON has no binary, NaN or infinity: a request
 * with one of them is refused here, with its place, rather than sent as something else.
 */

import { BigPeerError } from "./error.ts";
import { stringifyExact } from "./exact-json.ts";

/** The server accepts 64 levels of nesting. Deeper values may be endless. */
const DEPTH_MAX = 100;

/** Throws a BigPeerError `value.invalid` for a value that JSON cannot hold. */
export function stringify(value: unknown): string {
  requireJson(value, "", 0);
  return stringifyExact(value);
}

function requireJson(value: unknown, at: string, depth: number): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw invalid(`expected a finite number, found ${value}`, at);
  }
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw invalid("expected a value that JSON can hold, found binary", at);
  }
  if (value instanceof Map || value instanceof Set) {
    throw invalid("expected a plain object or an array, found a Map or Set", at);
  }
  // A date, for instance, says itself what it is in JSON.
  if ("toJSON" in value) return;
  if (depth > DEPTH_MAX) throw invalid(`expected at most ${DEPTH_MAX} levels`, at.slice(0, 80));
  for (const [name, inner] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`;
    requireJson(inner, place, depth + 1);
  }
}

function invalid(message: string, at: string): BigPeerError {
  return new BigPeerError("value.invalid", `${message} at ${at}`, { at });
}
