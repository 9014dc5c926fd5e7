/**
 * A value in a cell: its short text, with the sign and the colour of its type.
 */
import type { VNode } from "../kit/preact.ts";
import { kindOf, shortText, type ValueKind } from "../values/show-value.ts";

/** Shown before the text, so that colour is not all that tells the types apart. */
const SIGNS: Partial<Readonly<Record<ValueKind, string>>> = { attachment: "📎" };

export function Value({ value }: { readonly value: unknown }): VNode {
  const kind = kindOf(value);
  const isEmptyText = value === "";
  const sign = SIGNS[kind] ?? "";
  return (
    <span class={`value ${kind}${isEmptyText ? " is-empty" : ""}`}>
      {sign === "" ? null : (
        <span class="value-sign" aria-hidden="true">
          {sign}
        </span>
      )}
      {shortText(value)}
    </span>
  );
}
