/**
 * Whose permission a read has, as a value of the address and as a short text.
 */
import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";

type Fields = Readonly<Record<string, unknown>>;

/** Whose permission a read has, instead of full permission. */
export type ReadAs =
  | { readonly key: string }
  | { readonly provider: string; readonly userId: string; readonly claims?: Fields }
  | { readonly permissions: unknown; readonly userId?: string; readonly claims?: Fields };

export function formatReadAs(as: ReadAs | undefined): string | undefined {
  return as === undefined ? undefined : stringifyExact(as);
}

/** Undefined if the text names no one. */
export function parseReadAs(text: string | undefined): ReadAs | undefined {
  try {
    const as: unknown = parseExact(text ?? "");
    if (typeof as !== "object" || as === null) return undefined;
    const { key, provider, permissions } = as as Readonly<Record<string, unknown>>;
    const isNamed = [key, provider].some((each) => typeof each === "string");
    return isNamed || permissions !== undefined ? (as as ReadAs) : undefined;
  } catch {
    return undefined;
  }
}

export function readAsName(as: ReadAs): string {
  if ("key" in as) return `key ${as.key}`;
  if ("provider" in as) return `${as.userId} of ${as.provider}`;
  return "permissions";
}
