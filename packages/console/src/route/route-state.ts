/**
 * The state of the console as an address: the path names the page, and the query has everything
 * else, so a link opens what the sender sees.
 */

export const PAGE_IDS = [
  "overview",
  "data",
  "statements",
  "live",
  "devices",
  "access",
  "replication",
  "operations",
] as const;

export type PageId = (typeof PAGE_IDS)[number];

/** Values of the query by their names. An empty text counts as absent. */
export type Query = Readonly<Record<string, string>>;

export interface Route {
  readonly page: PageId;
  readonly query: Query;
}

/** The overview is at `/`. An unknown path is the overview, too. */
export function parseRoute(pathname: string, search: string): Route {
  const name = pathname.split("/")[1] ?? "";
  const page = PAGE_IDS.find((id) => id === name) ?? "overview";
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = value;
  return { page, query };
}

export function formatRoute({ page, query }: Route): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== "") parameters.set(key, value);
  const search = parameters.toString();
  return `/${page === "overview" ? "" : page}${search === "" ? "" : `?${search}`}`;
}

/** The query with changes; undefined removes a value. */
export function changeQuery(
  query: Query,
  changes: Readonly<Record<string, string | undefined>>,
): Query {
  const changed: Record<string, string> = {};
  for (const [key, value] of Object.entries({ ...query, ...changes })) {
    if (value !== undefined && value !== "") changed[key] = value;
  }
  return changed;
}

/** Which part of a page is shown. The rest of a query, such as a filter, means nothing in another app. */
const PARTS: ReadonlySet<string> = new Set(["tab", "view", "log", "hide", "search"]);

export function queryOfOtherApp(query: Query, app: string): Query {
  return { ...Object.fromEntries(Object.entries(query).filter(([key]) => PARTS.has(key))), app };
}
