/**
 * JSON without loss: integers beyond 2^53 are bigint in both directions, as the data API keeps 64
 * bits (H11 of docs/http-api.md).
 *
 * JSON has no binary, NaN or infinity. A request with one of them is refused here, with its place,
 * rather than sent as something else. The host's JSON does the work; long integers pass through it
 * as text behind a random mark.
 */

import { BigPeerError } from "./error.ts";

/** The server accepts 64 levels of nesting. Deeper values may be endless. */
const DEPTH_MAX = 100;

/** Throws a BigPeerError `value.invalid` for a value that JSON cannot hold. */
export function stringify(value: unknown): string {
  if (!hasBigint(value, "", 0)) return JSON.stringify(value);
  const mark = randomText();
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === "bigint" ? mark + String(one) : one,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** Throws a SyntaxError. */
export function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  const mark = randomText();
  let isMarked = false;
  const marked = text.replaceAll(TOKEN, (token) => {
    if (!/^-?\d{16,}$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    isMarked = true;
    return `"${mark}${token}"`;
  });
  if (!isMarked) return JSON.parse(text) as unknown;
  return JSON.parse(marked, (_, one: unknown) =>
    typeof one === "string" && one.startsWith(mark) ? BigInt(one.slice(mark.length)) : one,
  ) as unknown;
}

/** A text or a number. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** 128 random bits. `crypto.randomUUID` is absent on pages without TLS. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function hasBigint(value: unknown, at: string, depth: number): boolean {
  if (typeof value === "bigint") return true;
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw invalid(`expected a finite number, found ${value}`, at);
  }
  if (typeof value !== "object" || value === null) return false;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw invalid("expected a value that JSON can hold, found binary", at);
  }
  if (value instanceof Map || value instanceof Set) {
    throw invalid("expected a plain object or an array, found a Map or Set", at);
  }
  // A date, for instance, says itself what it is in JSON.
  if ("toJSON" in value) return false;
  if (depth > DEPTH_MAX) throw invalid(`expected at most ${DEPTH_MAX} levels`, at.slice(0, 80));
  let isFound = false;
  for (const [name, inner] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`;
    if (hasBigint(inner, place, depth + 1)) isFound = true;
  }
  return isFound;
}

function invalid(message: string, at: string): BigPeerError {
  return new BigPeerError("value.invalid", `${message} at ${at}`, { at });
}
