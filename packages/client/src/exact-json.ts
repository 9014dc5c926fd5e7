/**
 * JSON without loss, for values of documents: whole numbers beyond 2^53 are bigint in both
 * directions, as the data API keeps 64 bits (H11 of docs/http-api.md), and -0 keeps its sign.
 *
 * The host's JSON does the work. Long integers pass through it as text behind a random mark.
 */

import { randomText } from "./random-text.ts";

/** Throws a SyntaxError. */
export function parseExact(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  const mark = randomText();
  let isMarked = false;
  const marked = text.replaceAll(TOKEN, (token) => {
    if (!/^-?[1-9]\d{15,}$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    isMarked = true;
    return `"${mark}${token}"`;
  });
  if (!isMarked) return JSON.parse(text) as unknown;
  JSON.parse(text); // A fault is one of the text itself, not of the marked one.
  return JSON.parse(marked, (_, one: unknown) =>
    typeof one === "string" && one.startsWith(mark) ? BigInt(one.slice(mark.length)) : one,
  ) as unknown;
}

/** A text, or what stands together as a number. */
const TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"|[-+.\w]+/g;

/** As JSON.stringify, where a value that it would lose may stand. */
export function stringifyExact(value: unknown, indent?: number): string {
  if (isPlain(value)) return JSON.stringify(value, undefined, indent);
  const mark = randomText();
  const text = JSON.stringify(
    value,
    (_, one: unknown) => (isPlainScalar(one) ? one : mark + numberText(one as number | bigint)),
    indent,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** Digits of a number or a bigint, as JSON has them. */
export function numberText(number: number | bigint): string {
  return Object.is(number, -0) ? "-0" : String(number);
}

/** A bigint only where a number would be rounded. */
export function wholeNumber(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** Whether the host's JSON loses nothing of it. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isPlainScalar(value);
  return Object.values(value).every(isPlain);
}

function isPlainScalar(value: unknown): boolean {
  return typeof value !== "bigint" && !Object.is(value, -0);
}
