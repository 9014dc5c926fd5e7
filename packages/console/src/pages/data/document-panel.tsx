/**
 * The document that is open: its fields with their CRDT types, each edited on its own.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { loadDocument } from "../../api/documents.ts";
import { ApiError } from "../../api/request.ts";
import { idText } from "../../data/document-page.ts";
import type { Change } from "../../data/edit.ts";
import { objectOf } from "../../data/edit.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useEffect, useRef, useState, type VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { hrefOf, setQuery } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { pathText } from "../../values/names.ts";
import { closeDocument, dataState } from "./data-state.ts";
import { dataVersion, runEdit } from "./edits.ts";
import { FieldRow } from "./field-row.tsx";
import { NewField } from "./new-field.tsx";

export interface DocumentPanelProps {
  readonly app: string;
  readonly collection: string;
  readonly id: unknown;
  readonly onClone: (fields: readonly TypedField[]) => void;
}

export function DocumentPanel(props: DocumentPanelProps): VNode {
  const { app, collection, id } = props;
  const document = useLoad(stringifyExact([collection, id]), (signal) =>
    loadDocument(app, { collection, id }, signal),
  );
  const version = dataVersion.value;
  useEffect(() => {
    if (version > 0) void document.reload();
  }, [version]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const isGone =
    document.value === undefined && !document.isLoading && document.error === undefined;
  return (
    <section
      class="document-panel"
      aria-label="Document"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        leave();
      }}
    >
      <header class="panel-head">
        <h3 ref={heading} tabIndex={-1} class="code grow cut">
          {idText(id)}
        </h3>
        <IconButton label="Close the document" icon="close" onClick={leave} />
      </header>
      <ErrorMessage error={document.error} onRetry={() => void document.reload()} />
      {isGone ? <Empty title="The document no longer exists" /> : null}
      {document.value === undefined ? null : <DocumentFields {...props} fields={document.value} />}
    </section>
  );
}

/** The focus goes back to the row of the document. */
function leave(): void {
  const link = document.querySelector<HTMLElement>(".document-table a[aria-current]");
  closeDocument();
  link?.focus();
}

interface DocumentFieldsProps extends DocumentPanelProps {
  readonly fields: readonly TypedField[];
}

function DocumentFields(props: DocumentFieldsProps): VNode {
  const { app, collection, id, fields, onClone } = props;
  const isJson = dataState().panel === "json";
  const run = async (title: string, change: Change): Promise<ApiError | undefined> => {
    try {
      await runEdit(app, { title, collection, id, change });
      return undefined;
    } catch (error) {
      return ApiError.from(error);
    }
  };
  return (
    <>
      <div class="toolbar">
        <Button isPressed={!isJson} onClick={() => setQuery({ panel: undefined })}>
          Fields
        </Button>
        <Button isPressed={isJson} onClick={() => setQuery({ panel: "json" })}>
          JSON
        </Button>
        <span class="grow" />
        <Button icon="copy" onClick={() => onClone(fields)}>
          Clone
        </Button>
        <DeleteButton
          {...props}
          onDelete={() => run(`Deleted ${idText(id)}`, { kind: "delete" })}
        />
      </div>
      {isJson ? (
        <JsonView label={`Document ${idText(id)}`} value={{ _id: id, ...objectOf(fields) }} />
      ) : (
        <>
          <ul class="fields" aria-label="Fields">
            {fields.map((field) => (
              <FieldRow
                key={pathText(field.path)}
                app={app}
                collection={collection}
                id={id}
                field={field}
                onChange={run}
              />
            ))}
          </ul>
          <NewField fields={fields} onChange={run} />
          <p>
            <a href={hrefOf("devices", { tab: "why", collection, id: idText(id) })}>
              Why is it not on a device?
            </a>
          </p>
        </>
      )}
    </>
  );
}

interface DeleteButtonProps extends DocumentFieldsProps {
  readonly onDelete: () => Promise<ApiError | undefined>;
}

/** It can be undone here, but devices may have deleted it by then. */
function DeleteButton({ id, collection, onDelete }: DeleteButtonProps): VNode {
  const [error, setError] = useState<ApiError>();
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirmed({
      title: "Delete the document?",
      text: (
        <p>
          <code>{idText(id)}</code> of {collection} is deleted here and on all devices.
        </p>
      ),
      action: "Delete",
      isDestructive: true,
    });
    if (!isConfirmed) return;
    const failure = await onDelete();
    setError(failure);
    if (failure === undefined) leave();
  };
  return (
    <>
      <Button icon="trash" onClick={() => void remove()}>
        Delete
      </Button>
      <ErrorMessage error={error} />
    </>
  );
}
