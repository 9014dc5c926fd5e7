/**
 * A state: a word with a dot whose colour and shape repeat it.
 */
import type { ComponentChildren, VNode } from "../kit/preact.ts";

/** `idle` is neither good nor bad, `busy` is under way. */
export type StateKind = "ok" | "busy" | "warn" | "err" | "idle";

export interface StateBadgeProps {
  readonly kind: StateKind;
  readonly children: ComponentChildren;
  readonly title?: string;
}

export function StateBadge({ kind, children, title }: StateBadgeProps): VNode {
  return (
    <span class={`state ${kind}`} title={title}>
      <span class="state-dot" aria-hidden="true" />
      {children}
    </span>
  );
}
