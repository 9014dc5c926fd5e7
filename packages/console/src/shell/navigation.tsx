/**
 * Navigation: one link for each page. In a narrow window a button shows it.
 */
import type { VNode } from "../kit/preact.ts";
import { PAGES } from "../pages/page-list.ts";
import { formatRoute } from "../route/route-state.ts";
import { route } from "../route/router.ts";
import { Icon } from "../ui/icon.tsx";

export interface NavigationProps {
  readonly app: string | undefined;
  readonly onFollow: () => void;
}

export function Navigation({ app, onFollow }: NavigationProps): VNode {
  const current = route.value.page;
  return (
    <nav id="navigation" aria-label="Pages">
      <ul>
        {PAGES.map(({ id, title }) => (
          <li key={id}>
            <a
              href={formatRoute({ page: id, query: app === undefined ? {} : { app } })}
              aria-current={id === current ? "page" : undefined}
              onClick={onFollow}
            >
              <Icon name={id} />
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
