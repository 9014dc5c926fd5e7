/**
 * A value in a cell: its short text, with the sign and the colour of its type.
 */
import type { VNode } from "../kit/preact.ts";
import { kindOf, shortText } from "../values/show-value.ts";
import { Icon } from "./icon.tsx";

export function Value({ value }: { readonly value: unknown }): VNode {
  const kind = kindOf(value);
  const isEmptyText = value === "";
  return (
    <span class={`value ${kind}${isEmptyText ? " is-empty" : ""}`}>
      {kind === "attachment" ? <Icon name="attachment" /> : null}
      {shortText(value)}
    </span>
  );
}
