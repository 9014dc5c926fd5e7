/**
 * What the page Data shows, as the address says it.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { columnsOf, type Row } from "../../data/columns.ts";
import {
  type Cursor,
  parseCursor,
  parseId,
  parseSort,
  type Sort,
} from "../../data/document-page.ts";
import {
  type Condition,
  conditionOf,
  EVERYTHING,
  type FilterRow,
  parseRows,
} from "../../data/filter.ts";
import { hrefOf, route, setQuery } from "../../route/router.ts";

export interface DataState {
  readonly collection: string | undefined;
  readonly tab: "documents" | "indexes";
  readonly rows: readonly FilterRow[];
  /** A condition in the words of a statement; it takes the place of the rows. */
  readonly where: string | undefined;
  readonly condition: Condition;
  readonly sort: Sort | undefined;
  readonly cursor: Cursor | undefined;
  readonly columns: string | undefined;
  readonly view: "table" | "json";
  /** Of the document that is open; undefined if there is none. */
  readonly id: unknown;
  /** How the open document is shown. */
  readonly panel: "fields" | "json";
}

export function dataState(): DataState {
  const { query } = route.value;
  const rows = parseRows(query["filter"]);
  const where = query["where"];
  return {
    collection: query["collection"],
    tab: query["tab"] === "indexes" ? "indexes" : "documents",
    rows,
    where,
    condition:
      where === undefined
        ? conditionOf(query["collection"] ?? "", rows)
        : where.trim() === ""
          ? EVERYTHING
          : { text: where, args: {} },
    sort: parseSort(query["sort"]),
    cursor: parseCursor(query),
    columns: query["columns"],
    view: query["view"] === "json" ? "json" : "table",
    id: parseId(query["id"]),
    panel: query["panel"] === "json" ? "json" : "fields",
  };
}

/** Of another order or another filter, there is another first page. */
export function showFirstPage(changes: Readonly<Record<string, string | undefined>>): void {
  setQuery({ ...changes, after: undefined, before: undefined, offset: undefined });
}

export function collectionHref(collection: string): string {
  return hrefOf("data", { collection });
}

/** The address of a document beside the list that is shown. */
export function documentHref(id: unknown): string {
  return hrefOf("data", { ...route.value.query, id: stringifyExact(id) });
}

export function openDocument(id: unknown): void {
  setQuery({ id: stringifyExact(id) });
}

export function closeDocument(): void {
  setQuery({ id: undefined, panel: undefined });
}

export function shownColumns(rows: readonly Row[]): readonly (readonly string[])[] {
  return columnsOf(rows, route.value.query["columns"]);
}
