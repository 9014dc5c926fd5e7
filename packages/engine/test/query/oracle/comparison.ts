/**
 * The slow obvious evaluator: how two values compare under `=` and `<`.
 *
 * Only values of one type compare. A null inside an array or an object leaves the answer open.
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
  const order = orderOf(a, b);
  if (order === "none") return undefined;
  if (order === "open") return null;
  switch (operator) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
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

export function isSameType(a: PresentDatum, b: PresentDatum): boolean {
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
  if (isNumeric(a) && isNumeric(b)) return sign(compareNumbers(unboxNumber(a), unboxNumber(b)));
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

/** Equal if the same keys hold equal values; else the lists of values decide, as it was recorded. */
function objectOrder(a: DatumObject, b: DatumObject): Order {
  const keys = Object.keys(a).sort(compareText);
  const others = Object.keys(b).sort(compareText);
  const order = listOrder(fieldsOf(a, keys), fieldsOf(b, others));
  return order === 0 ? sign(compareText(others.join("\0"), keys.join("\0"))) : order;
}

function fieldsOf(object: DatumObject, keys: readonly string[]): PresentDatum[] {
  return keys.map((key) => object[key] ?? null);
}

function sign(difference: number): -1 | 0 | 1 {
  if (difference === 0) return 0;
  return difference < 0 ? -1 : 1;
}
