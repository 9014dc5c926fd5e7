/**
 * The filter of a list of documents: rows of field, operator and value, or a condition in the words
 * of a statement.
 */
import type { Fields } from "../../api/execute.ts";
import { fieldsOf } from "../../data/columns.ts";
import {
  conditionText,
  type FilterRow,
  faultOf,
  formatRows,
  needsValue,
  OPERATORS,
  type Operator,
  VALUE_TYPES,
  type ValueType,
} from "../../data/filter.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { quoteName } from "../../values/names.ts";
import { dataState, showFirstPage } from "./data-state.ts";

const NEW_ROW: FilterRow = { field: "", operator: "=", type: "text", value: "" };

export interface FilterBarProps {
  readonly collection: string;
  /** Documents of the page that is shown: their fields are suggested. */
  readonly rows: readonly Fields[];
}

export function FilterBar({ collection, rows }: FilterBarProps): VNode {
  const { where } = dataState();
  const fields = ["_id", ...fieldsOf(rows).map(quoteName)];
  return where === undefined ? (
    <RowFilter collection={collection} fields={fields} />
  ) : (
    <StatementFilter key={collection} where={where} />
  );
}

interface RowFilterProps {
  readonly collection: string;
  readonly fields: readonly string[];
}

function RowFilter({ collection, fields }: RowFilterProps): VNode {
  const { rows: applied } = dataState();
  const [rows, setRows] = useState<readonly FilterRow[]>(applied);
  const [isTried, setTried] = useState(applied.some((row) => faultOf(row) !== undefined));
  const text = formatRows(applied);
  useEffect(() => setRows(applied), [text]);
  const change = (at: number, next: FilterRow): void => setRows(rows.with(at, next));
  const apply = (next: readonly FilterRow[]): void => {
    setTried(true);
    if (next.every((row) => faultOf(row) === undefined)) {
      setTried(false);
      showFirstPage({ filter: formatRows(next) });
    }
  };
  const remove = (at: number): void => {
    const next = rows.toSpliced(at, 1);
    setRows(next);
    apply(next);
  };
  const asStatement = (): void => {
    showFirstPage({ filter: undefined, where: conditionText(collection, rows) || " " });
  };
  return (
    <form
      class="filter"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        apply(rows);
      }}
    >
      {rows.map((row, i) => (
        <FilterFields
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
          key={i}
          row={row}
          fields={fields}
          fault={isTried ? faultOf(row) : undefined}
          onChange={(next) => change(i, next)}
          onRemove={() => remove(i)}
        />
      ))}
      <div class="toolbar">
        <Button icon="filter" onClick={() => setRows([...rows, NEW_ROW])}>
          {rows.length === 0 ? "Filter" : "Add a row"}
        </Button>
        {rows.length === 0 ? null : (
          <>
            <Button isSubmit kind="primary">
              Apply
            </Button>
            <Button
              onClick={() => {
                setRows([]);
                apply([]);
              }}
            >
              Clear
            </Button>
          </>
        )}
        <Button kind="quiet" onClick={asStatement}>
          Filter by statement
        </Button>
      </div>
    </form>
  );
}

interface FilterFieldsProps {
  readonly row: FilterRow;
  readonly fields: readonly string[];
  readonly fault: string | undefined;
  readonly onChange: (row: FilterRow) => void;
  readonly onRemove: () => void;
}

function FilterFields({ row, fields, fault, onChange, onRemove }: FilterFieldsProps): VNode {
  const { field, operator, type, value } = row;
  return (
    <div class="filter-row">
      <TextField
        label="Field"
        isLabelHidden
        isCode
        placeholder="field"
        list={fields}
        value={field}
        autofocus={field === ""}
        onInput={(next) => onChange({ ...row, field: next })}
      />
      <SelectField
        label="Operator"
        isLabelHidden
        value={operator}
        choices={Object.entries(OPERATORS).map(([id, title]) => ({ value: id, title }))}
        onChange={(next) => onChange({ ...row, operator: next as Operator })}
      />
      {needsValue(operator) ? (
        <>
          <SelectField
            label="Type of the value"
            isLabelHidden
            value={type}
            choices={VALUE_TYPES.map((each) => ({ value: each, title: each }))}
            onChange={(next) => onChange({ ...row, type: next as ValueType })}
          />
          <TextField
            label="Value"
            isLabelHidden
            isCode
            placeholder={operator === "in" ? "a, b, c" : "value"}
            value={value}
            fault={fault}
            onInput={(next) => onChange({ ...row, value: next })}
          />
        </>
      ) : null}
      <IconButton label="Remove the row" icon="close" onClick={onRemove} />
    </div>
  );
}

/** The server says what is wrong with the condition, in place of the documents. */
function StatementFilter({ where }: { readonly where: string }): VNode {
  const [text, setText] = useState(where.trim());
  useEffect(() => setText(where.trim()), [where]);
  return (
    <form
      class="filter"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        showFirstPage({ where: text || " " });
      }}
    >
      <div class="filter-row">
        <span class="code muted">WHERE</span>
        <div class="grow">
          <TextField
            label="Condition"
            isLabelHidden
            isCode
            placeholder="state = 'open' AND total > 10"
            value={text}
            autofocus={text === ""}
            onInput={setText}
          />
        </div>
        <Button isSubmit kind="primary">
          Apply
        </Button>
        <Button kind="quiet" onClick={() => showFirstPage({ where: undefined })}>
          Filter by rows
        </Button>
      </div>
    </form>
  );
}
