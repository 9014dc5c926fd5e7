/**
 * Insert a document: JSON, checked before it is sent. A clone begins with the fields of another and
 * keeps their types.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { Fields } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { idText } from "../../data/document-page.ts";
import { fieldsLike, objectOf } from "../../data/edit.ts";
import { parseDocument } from "../../data/ndjson.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { randomUuid } from "../../kit/uuid.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { kindOf } from "../../values/show-value.ts";
import { runEdit } from "./edits.ts";

export interface InsertDialogProps {
  readonly app: string;
  /** Undefined asks for it. */
  readonly collection?: string;
  /** The fields of the document to clone. */
  readonly original?: readonly TypedField[];
  /** A document whose fields are suggested. */
  readonly example?: Fields | undefined;
  readonly onClose: () => void;
  readonly onInserted: (collection: string, id: unknown) => void;
}

export function InsertDialog(props: InsertDialogProps): VNode {
  const { app, original = [], example, onClose, onInserted } = props;
  const isClone = original.length > 0;
  const [collection, setCollection] = useState(props.collection ?? "");
  const [text, setText] = useState(() =>
    templateOf(isClone ? objectOf(original) : blankOf(example)),
  );
  const [error, setError] = useState<ApiError>();
  const insert = async (): Promise<void> => {
    try {
      const { _id: id = randomUuid(), ...fields } = parseDocument(text, "the document");
      const change = { kind: "insert", fields: fieldsLike(fields, original) } as const;
      await runEdit(app, { title: `Inserted ${idText(id)}`, collection, id, change });
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
      {original.some(({ isOpaque = false }) => isOpaque) ? (
        <p class="hint">Fields whose values JSON cannot hold, such as binary, are left out.</p>
      ) : null}
      <ErrorMessage error={error} />
    </Dialog>
  );
}

function templateOf(fields: Fields): string {
  return stringifyExact(fields, 2);
}

/** The fields of another document with empty values of their types. */
function blankOf(example: Fields | undefined): Fields {
  const blank: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(example ?? {})) {
    if (name === "_id") continue;
    if (typeof value === "string") blank[name] = "";
    else if (kindOf(value) === "number") blank[name] = 0;
    else if (typeof value === "boolean") blank[name] = false;
    else if (Array.isArray(value)) blank[name] = [];
    else blank[name] = value === null ? null : {};
  }
  return { _id: randomUuid(), ...blank };
}
