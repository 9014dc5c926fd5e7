/**
 * JSON text: a value as the reference SDK writes it. The fields are in order, an integer beyond 2^53
 * is a number, and binary data is an array of numbers.
 */

import type { Value } from "@bigpeer/protocol";

export function jsonText(value: Value): string {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return `[${value.join(",")}]`;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value as Readonly<Record<string, Value>>);
  const texts = fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${jsonText(field)}`);
  return `{${texts.join(",")}}`;
}
