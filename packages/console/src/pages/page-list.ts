/**
 * The pages of the console in the order of the navigation. The code of a page is loaded when it is
 * shown first.
 */
import type { PageId } from "../route/route-state.ts";
import type { IconName } from "../ui/icon.tsx";
import type { PageModule } from "./page.ts";

export interface PageDefinition {
  readonly id: PageId & IconName;
  readonly title: string;
  /** Pressed after `g`. */
  readonly key: string;
  readonly load: () => Promise<PageModule>;
}

export const PAGES: readonly PageDefinition[] = [
  {
    id: "overview",
    title: "Overview",
    key: "o",
    load: () => import("./overview/overview-page.tsx"),
  },
  { id: "data", title: "Data", key: "d", load: () => import("./data/data-page.tsx") },
  {
    id: "statements",
    title: "Statements",
    key: "s",
    load: () => import("./statements/statements-page.tsx"),
  },
  { id: "live", title: "Live", key: "l", load: () => import("./live/live-page.tsx") },
  { id: "devices", title: "Devices", key: "e", load: () => import("./devices/devices-page.tsx") },
  { id: "access", title: "Access", key: "a", load: () => import("./access/access-page.tsx") },
  {
    id: "replication",
    title: "Replication",
    key: "r",
    load: () => import("./replication/replication-page.tsx"),
  },
  {
    id: "operations",
    title: "Operations",
    key: "p",
    load: () => import("./operations/operations-page.tsx"),
  },
];
