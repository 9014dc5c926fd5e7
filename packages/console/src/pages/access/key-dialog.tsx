/**
 * Creates an API key, or changes one. Its permissions are tried before they are saved: a query that
 * reaches no document is saved only when that is confirmed.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { showToast } from "../../ui/toast.tsx";
import { PermissionFields } from "./permission-fields.tsx";
import {
  formOf,
  isComplete,
  NEW_FORM,
  type PermissionForm,
  type Permissions,
  permissionsOf,
} from "./permission-form.ts";
import { isWanted } from "./permissions-wanted.tsx";

export interface ApiKey {
  readonly name: string;
  readonly description: string | null;
  readonly permissions: Permissions;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

export interface KeyDialogProps {
  readonly app: string;
  /** The key to change; a new one without it. */
  readonly apiKey?: ApiKey;
  readonly onClose: () => void;
  readonly onCreated: (name: string, text: string) => void;
  readonly onSaved: () => Promise<void>;
}

interface KeyForm {
  readonly name: string;
  readonly description: string;
  /** Local time, as the field has it. */
  readonly expiresAt: string;
  readonly permission: PermissionForm;
}

export function KeyDialog({ app, apiKey, onClose, onCreated, onSaved }: KeyDialogProps): VNode {
  const [form, setForm] = useState<KeyForm>(() => keyForm(apiKey));
  const action = useAction();
  const save = async (): Promise<void> => {
    const permissions = permissionsOf(form.permission);
    if (!(await isWanted(app, permissions))) return;
    const body = { name: form.name.trim(), ...keyContent(form), permissions };
    if (apiKey === undefined) {
      const text = await request<string>(ofApp(app, "/apiKey"), { method: "POST", body });
      return onCreated(body.name, text);
    }
    await request(ofApp(app, `/apiKey/${apiKey.name}`), { method: "PUT", body });
    await onSaved();
    showToast({ text: `The key ${apiKey.name} is saved.` });
    onClose();
  };
  return (
    <FormDialog
      title={apiKey === undefined ? "New API key" : `API key ${apiKey.name}`}
      action={apiKey === undefined ? "Create" : "Save"}
      state={action}
      isDisabled={form.name.trim() === "" || !isComplete(form.permission)}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      <div class="form-grid">
        {apiKey === undefined ? (
          <TextField
            label="Name"
            autofocus
            hint="Lowercase letters, digits and -"
            value={form.name}
            onInput={(name) => setForm({ ...form, name })}
          />
        ) : null}
        <TextField
          label="Expires (optional)"
          type="datetime-local"
          autofocus={apiKey !== undefined}
          value={form.expiresAt}
          onInput={(expiresAt) => setForm({ ...form, expiresAt })}
        />
      </div>
      <TextField
        label="Description (optional)"
        value={form.description}
        onInput={(description) => setForm({ ...form, description })}
      />
      <PermissionFields
        app={app}
        form={form.permission}
        onChange={(permission) => setForm({ ...form, permission })}
      />
    </FormDialog>
  );
}

function keyForm(key: ApiKey | undefined): KeyForm {
  if (key === undefined) return { name: "", description: "", expiresAt: "", permission: NEW_FORM };
  const { name, description, expiresAt, permissions } = key;
  return {
    name,
    description: description ?? "",
    expiresAt: expiresAt === null ? "" : localTime(new Date(expiresAt)),
    permission: formOf(permissions),
  };
}

function keyContent({ description, expiresAt }: KeyForm): object {
  return {
    description: description.trim() === "" ? null : description.trim(),
    expiresAt: expiresAt === "" ? null : new Date(expiresAt).toISOString(),
  };
}

/** As a field for a local time has it: `2026-11-19T10:00`. */
function localTime(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
