/**
 * Tabs of a page: links, because the chosen one is in the address.
 */
import type { VNode } from "../kit/preact.ts";

export interface Tab {
  readonly id: string;
  readonly title: string;
  readonly href: string;
  readonly count?: number;
}

export interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}

export function Tabs({ label, tabs, current }: TabsProps): VNode {
  return (
    <ul class="tabs" aria-label={label}>
      {tabs.map(({ id, title, href, count }) => (
        <li key={id}>
          <a href={href} aria-current={id === current ? "true" : undefined}>
            {title}
            {count === undefined ? null : <span class="count">{count}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}
