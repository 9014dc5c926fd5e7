/**
 * Shows the page of the route: loads its code, then renders it. The last page stays until the next
 * one is there.
 */
import { ApiError } from "../api/request.ts";
import { useEffect, useRef, useState, type VNode } from "../kit/preact.ts";
import type { PageModule } from "../pages/page.ts";
import { PAGES, type PageDefinition } from "../pages/page-list.ts";
import type { PageId } from "../route/route-state.ts";
import { route } from "../route/router.ts";
import { ErrorMessage } from "../ui/error-message.tsx";

const loadedPages = new Map<PageId, PageModule>();

export function definitionOf(id: PageId): PageDefinition {
  const found = PAGES.find((page) => page.id === id);
  if (found === undefined) throw new Error(`there is no page ${id}`);
  return found;
}

export function PageHost({ app }: { readonly app: string }): VNode {
  const { page: id } = route.value;
  const definition = definitionOf(id);
  const [, setLoaded] = useState(0);
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    setError(undefined);
    if (loadedPages.has(id)) return;
    definition.load().then(
      (module) => {
        loadedPages.set(id, module);
        setLoaded((count) => count + 1);
      },
      () => setError(new ApiError(0, "Failed", "failed to load the page; reload it")),
    );
  }, [id]);
  useTitle(`${definition.title} · ${app} · Big Peer`);
  const heading = useFocusedHeading(id);
  const module = loadedPages.get(id);
  return (
    <main id="main" class={`page page-${id}`}>
      <h1 ref={heading} tabIndex={-1}>
        {definition.title}
      </h1>
      <ErrorMessage error={error} onRetry={() => location.reload()} />
      {module === undefined ? null : <module.Page key={`${id} ${app}`} app={app} />}
    </main>
  );
}

function useTitle(title: string): void {
  useEffect(() => {
    document.title = title;
  }, [title]);
}

/** After a change of the page, screen readers and the tab key begin at its heading. */
function useFocusedHeading(id: PageId): { current: HTMLHeadingElement | null } {
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(id);
  useEffect(() => {
    if (shown.current === id) return;
    shown.current = id;
    heading.current?.focus();
  }, [id]);
  return heading;
}
