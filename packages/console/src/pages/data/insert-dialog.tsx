/**
 * Insert a document: JSON, checked before it is sent. A clone begins with the fields of another.
 */
import type { Fields } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { parseDocument } from "../../data/ndjson.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { idText } from "./data-state.ts";
import { runEdit } from "./edits.ts";

export interface InsertDialogProps {
  readonly app: string;
  /** Undefined asks for it. */
  readonly collection?: string;
  /** The fields to begin with. */
  readonly draft?: Fields;
  /** A document whose fields are suggested. */
  readonly example?: Fields | undefined;
  readonly onClose: () => void;
  readonly onInserted: (collection: string, id: unknown) => void;
}

export function InsertDialog(props: InsertDialogProps): VNode {
  const { app, draft = {}, example, onClose, onInserted } = props;
  const isClone = Object.keys(draft).length > 0;
  const [collection, setCollection] = useState(props.collection ?? "");
  const [text, setText] = useState(() => templateOf(isClone ? draft : blankOf(example)));
  const [error, setError] = useState<ApiError>();
  const insert = async (): Promise<void> => {
    try {
      const { _id: id = crypto.randomUUID(), ...fields } = parseDocument(text, "the document");
      const change = { kind: "insert", fields: plainFields(fields) } as const;
      await runEdit(app, { title: `Inserted ${idText(id)}`, collection, id, change }, []);
      onClose();
      onInserted(collection, id);
    } catch (fault) {
      setError(ApiError.from(fault));
    }
  };
  return (
    <Dialog
      title={isClone ? "Clone the document" : "Insert a document"}
      onClose={onClose}
      onSubmit={() => void insert()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="primary" isDisabled={collection === ""}>
            Insert
          </Button>
        </>
      }
    >
      {props.collection === undefined ? (
        <TextField
          label="Collection"
          value={collection}
          onInput={setCollection}
          isCode
          autofocus
          isRequired
          placeholder="orders"
        />
      ) : null}
      <TextArea
        label="Document"
        rows={14}
        value={text}
        onInput={setText}
        hint="JSON. Without an _id the document gets a UUID. Ctrl-Enter inserts."
        autofocus={props.collection !== undefined}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void insert();
        }}
      />
      <ErrorMessage error={error} />
    </Dialog>
  );
}

/** Values as a statement takes them without declarations. */
function plainFields(fields: Fields): readonly TypedField[] {
  return Object.entries(fields).map(([name, value]): TypedField => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return { path: [name], type: isObject ? "map" : "register", value };
  });
}

function templateOf(fields: Fields): string {
  return JSON.stringify(fields, null, 2);
}

/** The fields of another document with empty values of their types. */
function blankOf(example: Fields | undefined): Fields {
  const blank: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(example ?? {})) {
    if (name === "_id") continue;
    if (typeof value === "string") blank[name] = "";
    else if (typeof value === "number") blank[name] = 0;
    else if (typeof value === "boolean") blank[name] = false;
    else if (Array.isArray(value)) blank[name] = [];
    else blank[name] = value === null ? null : {};
  }
  return { _id: crypto.randomUUID(), ...blank };
}
