/**
 * Tables of rows to read: a head that stays, numbers to the right, and one row that can be chosen.
 */
import type { ComponentChildren, VNode } from "../kit/preact.ts";
import { ScrollFrame } from "./scroll-frame.tsx";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Whether the title is for screen readers alone, as over buttons. */
  readonly isTitleHidden?: boolean;
}

export interface TableProps<Row> {
  /** Its name for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What takes the place of the rows when there are none. */
  readonly empty?: ComponentChildren;
}

export function Table<Row>(props: TableProps<Row>): VNode {
  const { label, columns, rows, keyOf, empty } = props;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <ScrollFrame label={label}>
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber = false, isTitleHidden = false }) => (
              <th key={title} scope="col" class={isNumber ? "number" : undefined}>
                <span class={isTitleHidden ? "visually-hidden" : undefined}>{title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber = false }) => (
                <td key={title} class={isNumber ? "number" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollFrame>
  );
}
