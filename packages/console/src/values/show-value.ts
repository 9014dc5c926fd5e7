/**
 * Values as short texts: null, an empty text and an absent value look different, and each type has a
 * sign of its own besides its colour.
 */
import { numberText, stringifyExact } from "@bigpeer/client/exact-json";

export type ValueKind =
  | "missing"
  | "null"
  | "boolean"
  | "number"
  | "text"
  | "array"
  | "object"
  | "attachment";

/** The longest text in a cell. */
const TEXT_MAX = 120;

export function kindOf(value: unknown): ValueKind {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "array";
  return isAttachment(value) ? "attachment" : "object";
}

export interface AttachmentToken {
  readonly id: string;
  readonly len: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export function isAttachment(value: unknown): value is AttachmentToken {
  if (typeof value !== "object" || value === null) return false;
  const { id, len } = value as Partial<AttachmentToken>;
  return typeof id === "string" && typeof len === "number" && id.length > 40;
}

/** One line. Long ones end in `…`. */
export function shortText(value: unknown): string {
  switch (kindOf(value)) {
    case "missing":
      return "—";
    case "null":
      return "null";
    case "text":
      return value === "" ? "empty text" : cut(String(value));
    case "attachment": {
      const { len, metadata } = value as AttachmentToken;
      return `${metadata?.["name"] ?? "attachment"} · ${sizeText(len)}`;
    }
    case "boolean":
      return String(value);
    case "number":
      return numberText(value as number | bigint);
    default:
      return cut(stringifyExact(value));
  }
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX - 1)}…` : line;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** `1.5 MB`: three digits at most, in the units of the health checks and of the command line. */
export function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (Math.round(size) >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit++;
  }
  const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return `${size.toFixed(digits).replace(/\.0+$/, "")} ${UNITS[unit]}`;
}

/** `12,345`, the same everywhere. */
export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : several}`;
}
