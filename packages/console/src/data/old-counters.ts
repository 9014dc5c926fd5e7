/**
 * Counters of the older kind (PN_COUNTER). A document shows them as counters, but they have an
 * increment of their own and take fractions.
 */
import { fieldText, quoteName } from "../values/names.ts";
import { declarations, type EditStatement } from "./edit.ts";
import type { TypedField } from "./typed-fields.ts";

/** Reads the counters of a document that are of the older kind. Undefined if it has no counter. */
export function oldCounterStatement(
  { collection, id }: { readonly collection: string; readonly id: unknown },
  fields: readonly TypedField[],
): EditStatement | undefined {
  const counters = fields.filter(({ type }) => type === "counter");
  if (counters.length === 0) return undefined;
  const columns = counters.map(({ path }, i) => `${fieldText(collection, path)} AS v${i}`);
  const types = declarations(counters.map(({ path }) => ({ path, type: "pn_counter" })));
  const from = `COLLECTION ${quoteName(collection)} (${types})`;
  const where = `WHERE ${fieldText(collection, ["_id"])} = :id`;
  return { text: `SELECT ${columns.join(", ")} FROM ${from} ${where}`, args: { id } };
}

/** `row` is the row of the statement. */
export function markOldCounters(
  fields: readonly TypedField[],
  row: Readonly<Record<string, unknown>>,
): readonly TypedField[] {
  let count = 0;
  return fields.map((field) => {
    if (field.type !== "counter" || row[`v${count++}`] === undefined) return field;
    return { ...field, isOld: true };
  });
}
