/**
 * Permissions as a form: for reading and writing either everything, or queries for collections.
 */
import { countText, plural } from "../../values/show-value.ts";

export interface Rule {
  readonly everything: boolean;
  readonly queriesByCollection: Readonly<Record<string, readonly string[]>>;
}

export interface Permissions {
  readonly remoteQuery: boolean;
  readonly read: Rule;
  readonly write: Rule;
}

export interface QueryRow {
  readonly collection: string;
  readonly query: string;
}

export type RuleKind = "nothing" | "everything" | "queries";

export interface RuleForm {
  readonly kind: RuleKind;
  /** Kept while another kind is chosen. */
  readonly rows: readonly QueryRow[];
}

export interface PermissionForm {
  readonly read: RuleForm;
  readonly write: RuleForm;
  readonly remoteQuery: boolean;
}

export const EMPTY_ROW: QueryRow = { collection: "", query: "" };

export const NEW_FORM: PermissionForm = {
  read: { kind: "queries", rows: [EMPTY_ROW] },
  write: { kind: "nothing", rows: [] },
  remoteQuery: false,
};

export function formOf(permissions: Permissions): PermissionForm {
  const { read, write, remoteQuery } = permissions;
  return { read: ruleForm(read), write: ruleForm(write), remoteQuery };
}

function ruleForm({ everything, queriesByCollection }: Rule): RuleForm {
  const rows = rowsOfQueries(queriesByCollection);
  if (everything) return { kind: "everything", rows };
  return { kind: rows.length === 0 ? "nothing" : "queries", rows };
}

export function rowsOfQueries(queries: Rule["queriesByCollection"]): QueryRow[] {
  return Object.entries(queries).flatMap(([collection, all]) =>
    all.map((query) => ({ collection, query })),
  );
}

/** Rows without a collection and a query count as absent. */
export function queriesOfRows(rows: readonly QueryRow[]): Record<string, string[]> {
  const queries: Record<string, string[]> = {};
  for (const row of filledRows(rows)) {
    const collection = row.collection.trim();
    const all = queries[collection] ?? [];
    queries[collection] = [...all, row.query.trim()];
  }
  return queries;
}

export function permissionsOf({ read, write, remoteQuery }: PermissionForm): Permissions {
  return { remoteQuery, read: ruleOf(read), write: ruleOf(write) };
}

/** The permissions without the queries that name the caller. */
export function withoutCaller({ read, write, remoteQuery }: Permissions): Permissions {
  return { remoteQuery, read: ruleWithoutCaller(read), write: ruleWithoutCaller(write) };
}

function ruleWithoutCaller({ everything, queriesByCollection }: Rule): Rule {
  const left = Object.entries(queriesByCollection)
    .map(([collection, all]) => [collection, all.filter((query) => !CALLER.test(query))] as const)
    .filter(([, all]) => all.length > 0);
  return { everything, queriesByCollection: Object.fromEntries(left) };
}

const CALLER = /:(userId|claims)\b/;

function ruleOf({ kind, rows }: RuleForm): Rule {
  const queriesByCollection = kind === "queries" ? queriesOfRows(rows) : {};
  return { everything: kind === "everything", queriesByCollection };
}

function filledRows(rows: readonly QueryRow[]): QueryRow[] {
  return rows.filter(({ collection, query }) => collection.trim() !== "" || query.trim() !== "");
}

export interface RowFaults {
  readonly collection?: string;
  readonly query?: string;
}

/** What a row lacks before the server is asked; undefined for one that is complete or empty. */
export function rowFaults({ collection, query }: QueryRow): RowFaults | undefined {
  const [hasCollection, hasQuery] = [collection.trim() !== "", query.trim() !== ""];
  if (hasCollection === hasQuery) return undefined;
  return hasCollection
    ? { query: "expected a query; true allows all documents" }
    : { collection: "expected a collection" };
}

export function isComplete({ read, write }: PermissionForm): boolean {
  return [read, write].every(
    ({ kind, rows }) => kind !== "queries" || rows.every((row) => rowFaults(row) === undefined),
  );
}

/** Such as `reads 2 collections, writes nothing`. */
export function summaryOf({ read, write, remoteQuery }: Permissions): string {
  const parts = [`reads ${scopeOf(read)}`, `writes ${scopeOf(write)}`];
  return [...parts, ...(remoteQuery ? ["remote statements"] : [])].join(", ");
}

function scopeOf({ everything, queriesByCollection }: Rule): string {
  if (everything) return "everything";
  const names = Object.keys(queriesByCollection);
  const [first] = names;
  if (first === undefined) return "nothing";
  return names.length === 1 ? `some of ${first}` : `some of ${plural(names.length, "collection")}`;
}

/** How many documents of a collection a permission reaches. */
export interface Trial {
  readonly collection: string;
  /** Null if it could not be counted; `error` says why. */
  readonly visible: number | null;
  readonly total: number;
  readonly error?: string;
}

/** Such as `12 of 40 would be visible`. */
export function trialText({ visible, total, error }: Trial, adjective: string): string {
  if (visible === null) return error ?? "not counted";
  if (total === 0) return "the collection has no documents yet";
  return `${countText(visible)} of ${countText(total)} would be ${adjective}`;
}

/** Whether the query probably says something else than its author means. */
export function isSuspicious({ visible, total }: Trial): boolean {
  return visible === null || (visible === 0 && total > 0);
}
