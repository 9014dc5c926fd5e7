/**
 * Rows of a result as a table, a hundred at a time. The id of a document is a link to it.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { StatementResult } from "../../api/execute.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { hrefOf } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Value } from "../../ui/value.tsx";
import { valueAt } from "../../values/names.ts";
import { countText } from "../../values/show-value.ts";
import { columnsOf, isNumberColumn } from "../../values/statement-result.ts";
import { collectionOf } from "../../values/statement-text.ts";
import type { FinishedRun } from "./statement-session.ts";

const PAGE_ROWS = 100;

export interface RowsTableProps {
  readonly rows: readonly unknown[];
  readonly result: StatementResult<unknown>;
  readonly run: FinishedRun;
}

interface IndexedRow {
  readonly row: unknown;
  readonly index: number;
}

export function RowsTable({ rows, result, run }: RowsTableProps): VNode {
  const [count, setCount] = useState(PAGE_ROWS);
  const ids = result.mutatedDocumentIds;
  if (rows.length === 0 && ids.length === 0) return <Empty title="No rows" />;
  const collection = collectionOf(run.statement);
  // A write without RETURNING answers ids alone.
  const all = rows.length > 0 ? rows : ids.map((_id) => ({ _id }));
  const shown = all.slice(0, count).map((row, index): IndexedRow => ({ row, index }));
  const rest = all.length - shown.length;
  return (
    <>
      <Table
        label="Rows"
        columns={columnsFor(all, collection)}
        rows={shown}
        keyOf={({ index }) => String(index)}
      />
      {rest > 0 ? (
        <div class="toolbar">
          <Button onClick={() => setCount(count + PAGE_ROWS)}>
            Show {Math.min(rest, PAGE_ROWS)} more
          </Button>
          <span class="hint">{countText(rest)} not shown</span>
        </div>
      ) : null}
    </>
  );
}

function columnsFor(
  rows: readonly unknown[],
  collection: string | undefined,
): readonly Column<IndexedRow>[] {
  const names = columnsOf(rows);
  const number: Column<IndexedRow> = {
    title: "#",
    isNumber: true,
    cell: ({ index }) => <span class="muted">{countText(index + 1)}</span>,
  };
  if (names.length === 0) {
    return [number, { title: "Value", cell: ({ row }) => <Value value={row} /> }];
  }
  return [
    number,
    ...names.map((name): Column<IndexedRow> => {
      return {
        title: name,
        isNumber: isNumberColumn(rows, name),
        cell: ({ row }) => cellOf(row, name, collection),
      };
    }),
  ];
}

function cellOf(row: unknown, name: string, collection: string | undefined): VNode {
  const value = valueAt(row, [name]);
  if (name !== "_id" || collection === undefined || value === undefined) {
    return <Value value={value} />;
  }
  const href = hrefOf("data", { collection, id: stringifyExact(value) });
  return (
    <a class="id-link" href={href}>
      <Value value={value} />
    </a>
  );
}
