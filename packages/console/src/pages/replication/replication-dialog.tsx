/**
 * Creates a replication, or changes one.
 */
import { useCollectionNames } from "../../api/collection-names.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { QueryRows } from "../../ui/query-rows.tsx";
import { showToast } from "../../ui/toast.tsx";
import {
  EMPTY_ROW,
  type QueryRow,
  queriesOfRows,
  rowFaults,
  rowsOfQueries,
} from "../access/permission-form.ts";
import { addressesOf, addressFault, type Replication } from "./link-words.ts";

const ATTACHMENTS = [
  { value: "onDemand", title: "at their first download here" },
  { value: "eager", title: "soon after their documents" },
];

interface Form {
  readonly name: string;
  readonly addresses: string;
  readonly rows: readonly QueryRow[];
  readonly attachments: string;
}

export interface ReplicationDialogProps {
  readonly app: string;
  /** The one to change; a new one without it. */
  readonly replication?: Replication;
  readonly onClose: () => void;
  readonly onSaved: () => Promise<void>;
}

export function ReplicationDialog(props: ReplicationDialogProps): VNode {
  const { app, replication, onClose, onSaved } = props;
  const isNew = replication === undefined;
  const [form, setForm] = useState<Form>(() => formOf(replication));
  const action = useAction();
  const save = async (): Promise<void> => {
    const path = ofApp(app, "/bigPeerReplication");
    const content = {
      connections: addressesOf(form.addresses),
      queriesByCollection: queriesOfRows(form.rows),
      attachments: form.attachments,
    };
    const name = form.name.trim();
    if (isNew) await request(path, { method: "POST", body: { name, ...content } });
    else await request(`${path}/${replication.name}`, { method: "PATCH", body: content });
    await onSaved();
    showToast({ text: `The link ${name} is saved.` });
    onClose();
  };
  return (
    <FormDialog
      title={isNew ? "New link" : `Link ${replication.name}`}
      action={isNew ? "Create" : "Save"}
      state={action}
      isDisabled={!isComplete(form)}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      <ReplicationFields app={app} isNew={isNew} form={form} onChange={setForm} />
    </FormDialog>
  );
}

function isComplete({ name, addresses, rows }: Form): boolean {
  const areRowsComplete = rows.every((row) => rowFaults(row) === undefined);
  return name.trim() !== "" && addressFault(addresses) === undefined && areRowsComplete;
}

interface ReplicationFieldsProps {
  readonly app: string;
  readonly isNew: boolean;
  readonly form: Form;
  readonly onChange: (form: Form) => void;
}

function ReplicationFields({ app, isNew, form, onChange }: ReplicationFieldsProps): VNode {
  const collections = useCollectionNames(app);
  return (
    <>
      {isNew ? (
        <TextField
          label="Name"
          autofocus
          hint="Lowercase letters, digits and -"
          value={form.name}
          onInput={(name) => onChange({ ...form, name })}
        />
      ) : null}
      <TextArea
        label="Addresses to call, one in each line"
        autofocus={!isNew}
        rows={2}
        placeholder="north.example.com:4040"
        hint="Without one, this server waits until the other side calls."
        fault={addressFault(form.addresses)}
        value={form.addresses}
        onInput={(addresses) => onChange({ ...form, addresses })}
      />
      <fieldset class="rule">
        <legend>Pull</legend>
        <QueryRows
          purpose="Pull"
          rows={form.rows}
          collections={collections}
          faultsOf={rowFaults}
          onChange={(rows) => onChange({ ...form, rows })}
        />
        <p class="hint">
          The query <code>true</code> pulls all documents of a collection. Without queries, nothing
          is pulled.
        </p>
      </fieldset>
      <SelectField
        label="Contents of attachments arrive"
        value={form.attachments}
        choices={ATTACHMENTS}
        onChange={(attachments) => onChange({ ...form, attachments })}
      />
    </>
  );
}

function formOf(replication: Replication | undefined): Form {
  if (replication === undefined) {
    return { name: "", addresses: "", rows: [EMPTY_ROW], attachments: "onDemand" };
  }
  const { name, connections, queriesByCollection, attachments = "onDemand" } = replication;
  const rows = rowsOfQueries(queriesByCollection);
  return { name, addresses: connections.join("\n"), rows, attachments };
}
