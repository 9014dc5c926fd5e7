/**
 * Queries for collections, one in each row: which documents a permission or a replication is about.
 */
import { useId, type VNode } from "../kit/preact.ts";
import { Button, IconButton } from "./button.tsx";
import { TextField } from "./field.tsx";

export interface QueryRowValue {
  readonly collection: string;
  readonly query: string;
}

export interface QueryRowsProps {
  readonly rows: readonly QueryRowValue[];
  readonly onChange: (rows: readonly QueryRowValue[]) => void;
  readonly collections: readonly string[];
  /** What the row lacks. */
  readonly faultsOf: (row: QueryRowValue) => Partial<QueryRowValue> | undefined;
  /** What the queries are for, such as `Read`: part of the labels. */
  readonly purpose: string;
}

export function QueryRows(props: QueryRowsProps): VNode {
  const { rows, onChange, purpose } = props;
  const id = useId();
  const change = (at: number, changes: Partial<QueryRowValue>): void => {
    onChange(rows.map((row, i) => (i === at ? { ...row, ...changes } : row)));
  };
  const add = (): void => {
    onChange([...rows, { collection: "", query: "" }]);
    // After it is rendered.
    requestAnimationFrame(() => {
      const inputs = document.getElementById(id)?.querySelectorAll("input");
      inputs?.[inputs.length - 2]?.focus();
    });
  };
  return (
    <div id={id} class="query-rows">
      {rows.map((row, i) => (
        <QueryRow
          {...props}
          key={i}
          row={row}
          name={`${purpose} ${i + 1}`}
          onChange={(changes) => change(i, changes)}
          onRemove={() => onChange(rows.filter((_, at) => at !== i))}
        />
      ))}
      <div>
        <Button icon="plus" onClick={add}>
          Add a query
        </Button>
      </div>
    </div>
  );
}

interface RowProps extends Pick<QueryRowsProps, "collections" | "faultsOf"> {
  readonly row: QueryRowValue;
  readonly name: string;
  readonly onChange: (changes: Partial<QueryRowValue>) => void;
  readonly onRemove: () => void;
}

function QueryRow({ row, name, collections, faultsOf, onChange, onRemove }: RowProps): VNode {
  const faults = faultsOf(row);
  return (
    <div class="query-row">
      <TextField
        label={`${name}: collection`}
        isLabelHidden
        placeholder="collection"
        list={collections}
        value={row.collection}
        fault={faults?.collection}
        onInput={(collection) => onChange({ collection })}
      />
      <TextField
        label={`${name}: query`}
        isLabelHidden
        isCode
        placeholder="true, or owner == 'ada'"
        value={row.query}
        fault={faults?.query}
        onInput={(query) => onChange({ query })}
      />
      <IconButton label={`Remove ${name}`} icon="trash" onClick={onRemove} />
    </div>
  );
}
