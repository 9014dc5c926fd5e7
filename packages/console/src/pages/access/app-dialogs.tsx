/**
 * Dialogs of apps: create one, change its settings, delete it with its typed name.
 */
import { request } from "../../api/request.ts";
import { managed, ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { setQuery } from "../../route/router.ts";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Checkbox, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { showToast } from "../../ui/toast.tsx";
import { TypedNameDialog } from "../../ui/typed-name-dialog.tsx";

export interface NewAppDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

export function NewAppDialog({ onClose, onDone }: NewAppDialogProps): VNode {
  const [name, setName] = useState("");
  const [appId, setAppId] = useState("");
  const action = useAction();
  const create = async (): Promise<void> => {
    const body = { name: name.trim(), ...(appId.trim() !== "" && { appId: appId.trim() }) };
    await request(managed("/app"), { method: "POST", body });
    await onDone();
    showToast({
      text: `The app ${body.name} is created.`,
      action: { title: "Show it", run: () => setQuery({ app: body.name }) },
    });
    onClose();
  };
  return (
    <FormDialog
      title="New app"
      action="Create"
      state={action}
      size="small"
      isDisabled={name.trim() === ""}
      onClose={onClose}
      onSubmit={() => void action.run(create)}
    >
      <TextField
        label="Name"
        autofocus
        hint="Lowercase letters, digits and -"
        value={name}
        onInput={setName}
      />
      <TextField
        label="App ID (a UUID, optional)"
        isCode
        hint="Random by default. To replicate with another Big Peer, enter the id that the app has there."
        value={appId}
        onInput={setAppId}
      />
    </FormDialog>
  );
}

interface Settings {
  readonly strictV4: boolean;
  readonly unknownCollectionsAreEmpty: boolean;
}

export interface SettingsDialogProps {
  readonly app: string;
  readonly onClose: () => void;
}

export function SettingsDialog({ app, onClose }: SettingsDialogProps): VNode {
  const { value, error } = useLoad(app, (signal) =>
    request<Settings>(ofApp(app, "/settings"), { signal }),
  );
  const [changes, setChanges] = useState<Partial<Settings>>({});
  const action = useAction();
  const settings = value === undefined ? undefined : { ...value, ...changes };
  const save = async (): Promise<void> => {
    await request(ofApp(app, "/settings"), { method: "PUT", body: settings });
    showToast({ text: `The settings of ${app} are saved.` });
    onClose();
  };
  return (
    <FormDialog
      title={`Settings of ${app}`}
      action="Save"
      state={action}
      isDisabled={settings === undefined}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      <ErrorMessage error={error} />
      {settings === undefined ? null : (
        <>
          <Checkbox
            label="Statements under /api/v4 run in strict mode"
            isChecked={settings.strictV4}
            onChange={(strictV4) => setChanges({ ...changes, strictV4 })}
          />
          <Checkbox
            label="A collection without any write counts as empty, and not as unknown"
            isChecked={settings.unknownCollectionsAreEmpty}
            onChange={(isOn) => setChanges({ ...changes, unknownCollectionsAreEmpty: isOn })}
          />
        </>
      )}
    </FormDialog>
  );
}

export interface DeleteAppDialogProps extends NewAppDialogProps {
  readonly app: string;
  readonly isCurrent: boolean;
}

export function DeleteAppDialog({ app, isCurrent, onClose, onDone }: DeleteAppDialogProps): VNode {
  const remove = async (): Promise<void> => {
    await request(managed(`/app/${encodeURIComponent(app)}`), { method: "DELETE" });
    await onDone();
    showToast({ text: `The app ${app} is deleted.` });
    if (isCurrent) setQuery({ app: undefined });
  };
  return (
    <TypedNameDialog
      title={`Delete the app ${app}`}
      name={app}
      action="Delete the app"
      onClose={onClose}
      onConfirm={remove}
    >
      <p>
        Its devices and keys stop working at once. The data can be restored for a while; its keys,
        replications and replication secret cannot.
      </p>
    </TypedNameDialog>
  );
}
