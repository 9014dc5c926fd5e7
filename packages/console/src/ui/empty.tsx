/**
 * What a place shows that has nothing yet: why it is empty, and what would fill it.
 */
import type { ComponentChildren, VNode } from "../kit/preact.ts";

export interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
