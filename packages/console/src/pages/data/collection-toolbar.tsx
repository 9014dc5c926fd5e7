/**
 * What can be done with a collection: insert, import, export, choose the view and the columns.
 */
import type { Fields } from "../../api/execute.ts";
import { fieldsOf, formatColumns } from "../../data/columns.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { setQuery } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Checkbox, TextField } from "../../ui/field.tsx";
import { parsePath, pathText, quoteName } from "../../values/names.ts";
import { dataState, shownColumns } from "./data-state.ts";
import { undoable, undoLast } from "./edits.ts";
import { ExportDialog } from "./export-dialog.tsx";
import { ImportDialog } from "./import-dialog.tsx";

export interface CollectionToolbarProps {
  readonly app: string;
  readonly collection: string;
  /** Documents of the page that is shown. */
  readonly rows: readonly Fields[];
  readonly onInsert: () => void;
  readonly onReload: () => Promise<void>;
}

export function CollectionToolbar(props: CollectionToolbarProps): VNode {
  const { app, collection, rows, onInsert, onReload } = props;
  const [shown, setShown] = useState<"import" | "export" | "columns">();
  const { view } = dataState();
  const close = (): void => setShown(undefined);
  return (
    <div class="toolbar">
      <Button kind="primary" icon="plus" onClick={onInsert}>
        Insert
      </Button>
      <Button icon="upload" onClick={() => setShown("import")}>
        Import
      </Button>
      <Button icon="download" onClick={() => setShown("export")}>
        Export
      </Button>
      <Button icon="undo" isDisabled={undoable.value === undefined} onClick={() => void undoLast()}>
        Undo
      </Button>
      <span class="grow" />
      <span class="toolbar">
        <Button icon="columns" onClick={() => setShown("columns")} isDisabled={view === "json"}>
          Columns
        </Button>
        <Button isPressed={view === "table"} onClick={() => setQuery({ view: undefined })}>
          Table
        </Button>
        <Button isPressed={view === "json"} onClick={() => setQuery({ view: "json" })}>
          JSON
        </Button>
        <IconButton label="Read again" icon="refresh" onClick={() => void onReload()} />
      </span>
      {shown === "import" ? (
        <ImportDialog app={app} collection={collection} onClose={close} />
      ) : null}
      {shown === "export" ? (
        <ExportDialog app={app} collection={collection} onClose={close} />
      ) : null}
      {shown === "columns" ? <ColumnDialog rows={rows} onClose={close} /> : null}
    </div>
  );
}

interface ColumnDialogProps {
  readonly rows: readonly Fields[];
  readonly onClose: () => void;
}

function ColumnDialog({ rows, onClose }: ColumnDialogProps): VNode {
  const [chosen, setChosen] = useState(shownColumns(rows).map(pathText));
  const [added, setAdded] = useState("");
  const known = [...new Set([...chosen, ...fieldsOf(rows).map(quoteName)])];
  const toggle = (name: string, isShown: boolean): void => {
    setChosen(isShown ? [...chosen, name] : chosen.filter((each) => each !== name));
  };
  const apply = (): void => {
    const paths = [...chosen, added].flatMap((name) => {
      const path = parsePath(name);
      return path === undefined ? [] : [path];
    });
    setQuery({ columns: formatColumns(paths) });
    onClose();
  };
  return (
    <Dialog
      title="Columns"
      size="small"
      onClose={onClose}
      onSubmit={apply}
      footer={
        <>
          <Button
            onClick={() => {
              setQuery({ columns: undefined });
              onClose();
            }}
          >
            Default columns
          </Button>
          <Button isSubmit kind="primary">
            Apply
          </Button>
        </>
      }
    >
      <fieldset class="column-choices">
        <legend class="label">Fields</legend>
        {known.map((name) => (
          <Checkbox
            key={name}
            label={name}
            isChecked={chosen.includes(name)}
            onChange={(isShown) => toggle(name, isShown)}
          />
        ))}
      </fieldset>
      <TextField
        label="Another field"
        value={added}
        onInput={setAdded}
        isCode
        placeholder="address.city"
      />
    </Dialog>
  );
}
