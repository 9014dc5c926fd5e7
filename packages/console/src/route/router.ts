/**
 * Router: the current route as a signal, which follows the address of the page. A click on a link
 * inside the console changes the address without loading the page again.
 */
import { type Signal, signal } from "../kit/preact.ts";
import {
  changeQuery,
  formatRoute,
  type PageId,
  parseRoute,
  type Query,
  type Route,
} from "./route-state.ts";

export const route: Signal<Route> = signal(parseRoute(location.pathname, location.search));

export interface NavigateOptions {
  /** Whether the new address takes the place of the current one in the history. */
  readonly replace?: boolean;
}

export function navigate(next: Route, { replace = false }: NavigateOptions = {}): void {
  const address = formatRoute(next);
  if (address !== location.pathname + location.search) {
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  }
  route.value = next;
}

/** The app that the address names. */
export function appInRoute(): string | undefined {
  return route.value.query["app"];
}

/** The address of a page for the current app. */
export function hrefOf(page: PageId, query: Query = {}): string {
  return formatRoute({ page, query: withApp(query) });
}

/** Goes to a page for the current app. */
export function goTo(page: PageId, query: Query = {}): void {
  navigate({ page, query: withApp(query) });
}

/** Changes values of the current query; undefined removes one. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  options?: NavigateOptions,
): void {
  const { page, query } = route.value;
  navigate({ page, query: changeQuery(query, changes) }, options);
}

export function startRouter(): void {
  addEventListener("popstate", () => {
    route.value = parseRoute(location.pathname, location.search);
  });
  document.addEventListener("click", followLink);
}

function withApp(query: Query): Query {
  const app = appInRoute();
  return app === undefined ? query : { app, ...query };
}

function followLink(event: MouseEvent): void {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (event.defaultPrevented || !isPlain || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download")) return;
  const { origin, pathname, search, hash } = new URL(link.href);
  const next = parseRoute(pathname, search);
  const isOfConsole = origin === location.origin && hash === "" && isPage(pathname);
  if (!isOfConsole) return;
  event.preventDefault();
  navigate(next);
}

/** Other paths, such as `/docs/api`, are of the server. */
function isPage(pathname: string): boolean {
  return formatRoute({ ...parseRoute(pathname, ""), query: {} }) === pathname;
}
