/**
 * The documents of a page as a table or as JSON. The id is a link that opens the document.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { Fields } from "../../api/execute.ts";
import type { Sort } from "../../data/document-page.ts";
import { formatSort, idText } from "../../data/document-page.ts";
import type { TargetedKeyboardEvent, VNode } from "../../kit/preact.ts";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Value } from "../../ui/value.tsx";
import { pathText, valueAt } from "../../values/names.ts";
import { kindOf } from "../../values/show-value.ts";
import { documentHref, openDocument, showFirstPage, shownColumns } from "./data-state.ts";

export interface DocumentTableProps {
  readonly rows: readonly Fields[];
  readonly sort: Sort | undefined;
  /** Of the document that is open. */
  readonly openId: unknown;
}

export function DocumentTable({ rows, sort, openId }: DocumentTableProps): VNode {
  const columns = shownColumns(rows);
  return (
    <div class="table-frame document-table" tabIndex={-1}>
      <table class="table" aria-label="Documents">
        <thead>
          <tr>
            {[["_id"], ...columns].map((path) => (
              <SortHead key={pathText(path)} path={path} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={walkRows}>
          {rows.map((row) => (
            <DocumentRow
              key={stringifyExact(row["_id"])}
              row={row}
              columns={columns}
              isOpen={isSameId(row["_id"], openId)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface DocumentRowProps {
  readonly row: Fields;
  readonly columns: readonly (readonly string[])[];
  readonly isOpen: boolean;
}

/** A click anywhere in a row opens it; for the keyboard there is the link. */
function DocumentRow({ row, columns, isOpen }: DocumentRowProps): VNode {
  return (
    <tr
      class={isOpen ? "is-open" : undefined}
      onClick={(event) => {
        if (!event.defaultPrevented && String(getSelection()) === "") openDocument(row["_id"]);
      }}
    >
      <td>
        <a class="code" href={documentHref(row["_id"])} aria-current={isOpen ? "true" : undefined}>
          {idText(row["_id"])}
        </a>
      </td>
      {columns.map((path) => {
        const value = valueAt(row, path);
        return (
          <td key={pathText(path)} class={kindOf(value) === "number" ? "number" : undefined}>
            <Value value={value} />
          </td>
        );
      })}
    </tr>
  );
}

interface SortHeadProps {
  readonly path: readonly string[];
  readonly sort: Sort | undefined;
}

/** The first press sorts upwards, the second downwards, the third not at all. */
function SortHead({ path, sort }: SortHeadProps): VNode {
  const name = pathText(path);
  const isSorted = sort !== undefined && pathText(sort.path) === name;
  const isDescending = isSorted && sort.isDescending;
  const next = isDescending ? undefined : formatSort({ path, isDescending: isSorted });
  return (
    <th scope="col" aria-sort={isSorted ? (isDescending ? "descending" : "ascending") : undefined}>
      <button type="button" class="sort-button" onClick={() => showFirstPage({ sort: next })}>
        {name}
        {isSorted ? <Icon name={isDescending ? "down" : "up"} /> : null}
      </button>
    </th>
  );
}

export function DocumentJson({ rows }: { readonly rows: readonly Fields[] }): VNode {
  return (
    <ul class="document-json" aria-label="Documents">
      {rows.map((row) => (
        <li key={stringifyExact(row["_id"])}>
          <a class="code" href={documentHref(row["_id"])}>
            {idText(row["_id"])}
          </a>
          <JsonView label={`Document ${idText(row["_id"])}`} value={row} />
        </li>
      ))}
    </ul>
  );
}

/** The arrows go from row to row. */
function walkRows(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("td:first-child a")];
  const at = links.findIndex((link) => link === document.activeElement);
  links[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  event.preventDefault();
}

function isSameId(a: unknown, b: unknown): boolean {
  return b !== undefined && stringifyExact(a) === stringifyExact(b);
}
