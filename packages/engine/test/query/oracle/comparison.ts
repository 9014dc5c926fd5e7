/**
 * The slow obvious evaluator: how two values compare under `=` and `<`.
 *
 * Only values of one type compare, and NaN with nothing. Arrays and objects go by the first of their
 * parts that are not equal: there a null leaves the answer open.
 */
import { compareBytes, compareNumbers, compareText, unreachable } from "@bigpeer/protocol";
import type { ComparisonOperator } from "../../../src/query/syntax/tree.ts";
import {
  type Datum,
  type DatumObject,
  isDatumArray,
  isDatumObject,
  isNumeric,
  type PresentDatum,
  unboxNumber,
} from "../../../src/query/value/datum.ts";

/** Below, equal, above; `open` because of a null; `none` between types. */
type Order = -1 | 0 | 1 | "open" | "none";

/** True, false, null, or MISSING. Neither operand is null or MISSING. */
export function compareBy(
  operator: ComparisonOperator,
  a: PresentDatum,
  b: PresentDatum,
): boolean | null | undefined {
  if (operator === "=" || operator === "!=") {
    const isEqual = equality(a, b);
    return typeof isEqual === "boolean" ? isEqual === (operator === "=") : isEqual;
  }
  const order = orderOf(a, b);
  if (order === "none") return undefined;
  if (order === "open") return null;
  switch (operator) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    default:
      return unreachable(operator);
  }
}

function isSameType(a: PresentDatum, b: PresentDatum): boolean {
  return kindOf(a) === kindOf(b);
}

function kindOf(datum: Datum): string {
  if (isNumeric(datum)) return "number";
  if (datum instanceof Uint8Array) return "binary";
  if (isDatumArray(datum)) return "array";
  return isDatumObject(datum) ? "object" : typeof datum;
}

function orderOf(a: PresentDatum, b: PresentDatum): Order {
  if (a === null || b === null) return "open";
  if (!isSameType(a, b)) return "none";
  if (typeof a === "boolean") return sign(Number(a) - Number(b));
  if (typeof a === "string") return sign(compareText(a, b as string));
  if (isNumeric(a) && isNumeric(b)) {
    const [x, y] = [unboxNumber(a), unboxNumber(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? "none" : sign(compareNumbers(x, y));
  }
  if (a instanceof Uint8Array) return sign(compareBytes(a, b as Uint8Array));
  if (isDatumArray(a)) return listOrder(a, b as readonly PresentDatum[]);
  return objectOrder(a as DatumObject, b as DatumObject);
}

function listOrder(a: readonly PresentDatum[], b: readonly PresentDatum[]): Order {
  for (const [i, element] of a.entries()) {
    const other = b[i];
    if (other === undefined) break;
    const order = orderOf(element, other);
    if (order !== 0) return order;
  }
  return sign(a.length - b.length);
}

/** The first key at which they differ decides; to lack it is to be less. */
function objectOrder(a: DatumObject, b: DatumObject): Order {
  for (const key of Object.keys({ ...a, ...b }).sort(compareText)) {
    if (!Object.hasOwn(a, key)) return -1;
    if (!Object.hasOwn(b, key)) return 1;
    const order = orderOf(a[key] ?? null, b[key] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

/** The first parts that are not equal say what the whole is, then whether there are more of them. */
function equality(a: PresentDatum, b: PresentDatum): boolean | null | undefined {
  if (a === null || b === null) return null;
  if (!isSameType(a, b)) return undefined;
  const isPlain = !isDatumArray(a) && !isDatumObject(a);
  if (isPlain || a instanceof Uint8Array) {
    const order = orderOf(a, b);
    return order === "none" ? undefined : order === 0;
  }
  const [parts, others] = [entriesOf(a), entriesOf(b as typeof a)];
  for (const [i, [key, part]] of parts.entries()) {
    const other = others[i];
    if (other === undefined) break;
    const isEqual = key === other[0] ? equality(part, other[1]) : false;
    if (isEqual !== true) return isEqual;
  }
  return parts.length === others.length;
}

function entriesOf(of: readonly PresentDatum[] | DatumObject): [string, PresentDatum][] {
  const entries: [string, PresentDatum][] = Object.entries(of);
  return isDatumArray(of) ? entries : entries.sort(([a], [b]) => compareText(a, b));
}

function sign(difference: number): -1 | 0 | 1 {
  if (difference === 0) return 0;
  return difference < 0 ? -1 : 1;
}
