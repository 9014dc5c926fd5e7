/**
 * What a page is: a module with a component `Page`.
 */
import type { VNode } from "../kit/preact.ts";

export interface PageProps {
  /** The name of the current app. */
  readonly app: string;
}

export interface PageModule {
  readonly Page: (props: PageProps) => VNode | null;
}
