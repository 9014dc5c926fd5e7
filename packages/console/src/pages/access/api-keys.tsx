/**
 * The API keys of an app.
 */
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { closeDialog, openDialog, showDialog } from "../../route/open-dialog.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SecretDialog } from "../../ui/secret-dialog.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";
import { type ApiKey, KeyDialog } from "./key-dialog.tsx";
import { summaryOf } from "./permission-form.ts";
import { RotateDialog } from "./rotate-dialog.tsx";
import { UseOfKey } from "./use-of-key.tsx";

interface NewSecret {
  readonly name: string;
  readonly text: string;
}

export function ApiKeys({ app }: PageProps): VNode {
  const path = ofApp(app, "/apiKey");
  const { value, error, reload } = useLoad(app, (signal) => listOf<ApiKey>(path, signal));
  const [secret, setSecret] = useState<NewSecret>();
  const removal = useAction();
  const dialog = openDialog();
  useShortcuts("Access", [{ keys: "n", title: "New key", run: () => showDialog("new") }]);
  const chosen = value?.find(({ name }) => name === dialog?.name);
  const remove = async ({ name }: ApiKey): Promise<void> => {
    const text = "Requests and devices with this key fail at once. This cannot be undone.";
    const question = { title: `Delete the key ${name}?`, text, action: "Delete" };
    if (!(await confirmed({ ...question, isDestructive: true }))) return;
    await removal.run(async () => {
      await request(`${path}/${name}`, { method: "DELETE" });
      showToast({ text: `The key ${name} is deleted.` });
      await reload();
    });
  };
  const showSecret = (name: string, text: string): void => {
    closeDialog();
    setSecret({ name, text });
    void reload();
  };
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => showDialog("new")}>
          New key
        </Button>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      <ErrorMessage error={removal.error} />
      {value === undefined ? null : <KeyTable keys={value} onRemove={(key) => void remove(key)} />}
      {dialog?.kind === "new" ? (
        <KeyDialog app={app} onClose={closeDialog} onCreated={showSecret} onSaved={reload} />
      ) : null}
      {dialog?.kind === "edit" && chosen !== undefined ? (
        <KeyDialog
          key={chosen.name}
          app={app}
          apiKey={chosen}
          onClose={closeDialog}
          onCreated={showSecret}
          onSaved={reload}
        />
      ) : null}
      {dialog?.kind === "rotate" && chosen !== undefined ? (
        <RotateDialog app={app} name={chosen.name} onClose={closeDialog} onRotated={showSecret} />
      ) : null}
      {secret === undefined ? null : (
        <SecretDialog
          title={`The key ${secret.name}`}
          what="the key"
          secret={secret.text}
          onClose={() => setSecret(undefined)}
        >
          <UseOfKey text={secret.text} />
        </SecretDialog>
      )}
    </>
  );
}

interface KeyTableProps {
  readonly keys: readonly ApiKey[];
  readonly onRemove: (key: ApiKey) => void;
}

function KeyTable({ keys, onRemove }: KeyTableProps): VNode {
  return (
    <Table
      label="API keys"
      rows={keys}
      keyOf={({ name }) => name}
      empty={<Empty title="The app has no API key, so no server and no tool can use it." />}
      columns={[
        { title: "Name", cell: ({ name }) => name },
        { title: "Permissions", cell: ({ permissions }) => summaryOf(permissions) },
        { title: "Expires", cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
        { title: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        { title: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: "Description", cell: ({ description }) => description ?? "" },
        {
          title: "Actions",
          isTitleHidden: true,
          cell: (key) => (
            <span class="row-actions">
              <IconButton
                label={`Edit ${key.name}`}
                icon="edit"
                onClick={() => showDialog("edit", key.name)}
              />
              <IconButton
                label={`Rotate ${key.name}`}
                icon="refresh"
                onClick={() => showDialog("rotate", key.name)}
              />
              <IconButton label={`Delete ${key.name}`} icon="trash" onClick={() => onRemove(key)} />
            </span>
          ),
        },
      ]}
    />
  );
}

function Expiry({ at }: { readonly at: string | null }): VNode {
  if (at === null) return <Time at={at} />;
  if (Date.parse(at) > Date.now()) return <Time at={at} />;
  return <StateBadge kind="err">expired</StateBadge>;
}
