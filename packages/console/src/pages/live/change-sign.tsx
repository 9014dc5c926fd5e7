/**
 * The sign of what happened to a document: a word, a sign of its own and a colour.
 */
import type { VNode } from "../../kit/preact.ts";
import type { ChangeType } from "../../values/live-change.ts";

const SIGNS: Readonly<Record<ChangeType, string>> = {
  insert: "+",
  update: "~",
  delete: "−",
  leave: "→",
};

export function ChangeSign({ type }: { readonly type: ChangeType }): VNode {
  return (
    <span class={`change-sign ${type}`}>
      <span class="change-mark" aria-hidden="true">
        {SIGNS[type]}
      </span>
      {type}
    </span>
  );
}
