/**
 * Equality of two outcomes. They are equal if both have the same ids and rows, in order where the
 * statement sets one, or if both are errors. Integers and floats with the same value are equal.
 * Digits of floats after the twelfth depend on the mathematics library and are ignored.
 */
const DIGITS = 12;

export function textOf(value) {
  switch (typeof value) {
    case "undefined":
      return "MISSING";
    case "number":
      return numberText(value);
    case "bigint":
      return numberText(Number(value));
    case "object":
      if (value === null) return "null";
      if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString("hex")})`;
      if (Array.isArray(value)) return `[${value.map(textOf).join(",")}]`;
      return `{${Object.keys(value)
        .toSorted()
        .map((key) => `${JSON.stringify(key)}:${textOf(value[key])}`)
        .join(",")}}`;
    default:
      return JSON.stringify(value);
  }
}

/** JSON has no NaN and no infinity, so one engine returns null for them. */
function numberText(number) {
  if (!Number.isFinite(number)) return "null";
  return String(Number(number.toPrecision(DIGITS)) + 0);
}

/** The outcome of a statement as one text. */
export function describe(outcome, { isOrdered = false, onlyKeys = false } = {}) {
  if (outcome === undefined) return "the engine ended";
  if (outcome.error !== undefined) return "error";
  const rows = outcome.items.map((row) => (onlyKeys ? Object.keys(row).join() : textOf(row)));
  const ids = (outcome.ids ?? []).map(textOf).toSorted();
  const listed = isOrdered ? rows : rows.toSorted();
  return ids.length === 0 ? listed.join("\n") : `${listed.join("\n")}\nids ${ids.join()}`;
}
