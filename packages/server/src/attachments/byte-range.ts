/**
 * Byte range: which part of a content a header `Range` asks for.
 */

export type ByteRange =
  | { readonly kind: "whole" }
  /** `end` is the last byte of it. */
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

const WHOLE: ByteRange = { kind: "whole" };

/** One range of bytes. Several, other units and what is no range at all may be passed over. */
const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

export function byteRange(header: string | undefined, size: number): ByteRange {
  const [, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  // No range can name a part of nothing.
  if ((first === "" && last === "") || size === 0) return WHOLE;
  if (first === "") return suffix(Number(last), size);
  const start = Number(first);
  const end = last === "" ? Number.POSITIVE_INFINITY : Number(last);
  if (end < start) return WHOLE;
  if (start >= size) return { kind: "unsatisfiable" };
  return { kind: "part", start, end: Math.min(end, size - 1) };
}

/** The last bytes, as many as there are. */
function suffix(length: number, size: number): ByteRange {
  if (length === 0) return { kind: "unsatisfiable" };
  return { kind: "part", start: Math.max(0, size - length), end: size - 1 };
}
