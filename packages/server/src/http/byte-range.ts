/**
 * Byte range: parses the header `Range` of a download.
 */

export type ByteRange =
  | { readonly kind: "whole" }
  /** `end` is inclusive. */
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

const WHOLE: ByteRange = { kind: "whole" };

/** One range of bytes. Several ranges, other units and invalid headers are ignored. */
const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

export function byteRange(header: string | undefined, size: number): ByteRange {
  const [, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  // An empty content has no part.
  if ((first === "" && last === "") || size === 0) return WHOLE;
  if (first === "") return suffix(Number(last), size);
  const start = Number(first);
  const end = last === "" ? Number.POSITIVE_INFINITY : Number(last);
  if (end < start) return WHOLE;
  if (start >= size) return { kind: "unsatisfiable" };
  return { kind: "part", start, end: Math.min(end, size - 1) };
}

/** The last `length` bytes, or all if there are fewer. */
function suffix(length: number, size: number): ByteRange {
  if (length === 0) return { kind: "unsatisfiable" };
  return { kind: "part", start: Math.max(0, size - length), end: size - 1 };
}
