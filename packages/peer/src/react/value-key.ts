/**
 * Value key: a text that is the same for equal values, whatever the order of their fields is.
 */

/** Of values as a peer takes them; others differ at least from those. */
export function valueKey(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "bigint" || (typeof each === "number" && !Number.isFinite(each))) {
      return { "\0": `${typeof each} ${each}` };
    }
    if (each instanceof Uint8Array) return { "\0": [...each] };
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Whether two values have the same content. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isList(a) || isList(b)) {
    if (!isList(a) || !isList(b) || a.constructor !== b.constructor) return false;
    return a.length === b.length && a.every((each, i) => isSameValue(each, b[i]));
  }
  const keys = Object.keys(a) as (keyof typeof a)[];
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSameValue(a[key], b[key]));
}

interface List {
  readonly length: number;
  readonly [index: number]: unknown;
  every(check: (each: unknown, index: number) => boolean): boolean;
}

function isList(value: object): value is List {
  return Array.isArray(value) || value instanceof Uint8Array;
}
