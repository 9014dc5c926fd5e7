/**
 * Tabs of a page: links, because the chosen one is in the address.
 */
import { useEffect, useRef, type VNode } from "../kit/preact.ts";
import { countText } from "../values/show-value.ts";

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
  const chosen = useRef<HTMLLIElement>(null);
  // In a narrow window the tabs scroll sideways.
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [current]);
  return (
    <ul class="tabs" aria-label={label}>
      {tabs.map(({ id, title, href, count }) => (
        <li key={id} ref={id === current ? chosen : null}>
          <a href={href} aria-current={id === current ? "true" : undefined}>
            {title}
            {count === undefined ? null : <span class="count">{countText(count)}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}
