/**
 * Links to the pages of a list, as its answer counts them.
 */
import type { VNode } from "../kit/preact.ts";
import { setQuery } from "../route/router.ts";
import { Button } from "./button.tsx";

export interface PageMeta {
  readonly page: number;
  readonly size: number;
  readonly totalPages: number;
}

function go(to: number): void {
  setQuery({ page: to === 1 ? undefined : String(to) });
}

/** The page is in the query, as `page`. Nothing with one page. */
export function Pager({ meta }: { readonly meta: PageMeta }): VNode | null {
  const { page, totalPages } = meta;
  if (totalPages <= 1) return null;
  return (
    <div class="toolbar" role="group" aria-label="Pages of the list">
      <Button icon="left" isDisabled={page <= 1} onClick={() => go(page - 1)}>
        Newer
      </Button>
      <span class="muted">
        Page {page} of {totalPages}
      </span>
      <Button icon="right" isDisabled={page >= totalPages} onClick={() => go(page + 1)}>
        Older
      </Button>
    </div>
  );
}
