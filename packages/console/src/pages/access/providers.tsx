/**
 * The auth providers of an app: where its users come from.
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
import { Table } from "../../ui/table.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";
import { ProviderDialog } from "./provider-dialog.tsx";
import { type Provider, providerSummary, typeTitle } from "./provider-form.ts";
import { TestLoginDialog } from "./test-login-dialog.tsx";

export function Providers({ app }: PageProps): VNode {
  const path = ofApp(app, "/provider");
  const { value, error, reload } = useLoad(app, (signal) => listOf<Provider>(path, signal));
  const [secret, setSecret] = useState<{ readonly name: string; readonly text: string }>();
  const action = useAction();
  const dialog = openDialog();
  useShortcuts("Access", [{ keys: "n", title: "New provider", run: () => showDialog("new") }]);
  const chosen = value?.find(({ name }) => name === dialog?.name);
  const remove = async ({ name }: Provider): Promise<void> => {
    const text = "The sessions of its users end, and stay ended if you create it again.";
    const question = { title: `Delete the provider ${name}?`, text, action: "Delete" };
    if (!(await confirmed({ ...question, isDestructive: true }))) return;
    await action.run(async () => {
      await request(`${path}/${encodeURIComponent(name)}`, { method: "DELETE" });
      showToast({ text: `The provider ${name} is deleted.` });
      await reload();
    });
  };
  const renewSecret = async ({ name }: Provider): Promise<void> => {
    const text = "Requests are signed with the new secret and with the one before it.";
    const question = { title: `New secret for ${name}?`, text, action: "Make a new secret" };
    if (!(await confirmed(question))) return;
    await action.run(async () => {
      const made = `${path}/${encodeURIComponent(name)}/webhookSecret`;
      setSecret({ name, text: await request<string>(made, { method: "POST" }) });
    });
  };
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => showDialog("new")}>
          New provider
        </Button>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      <ErrorMessage error={action.error} />
      {value === undefined ? null : (
        <ProviderTable
          providers={value}
          onRemove={(each) => void remove(each)}
          onRenew={(each) => void renewSecret(each)}
        />
      )}
      {dialog?.kind === "new" ? (
        <ProviderDialog app={app} onClose={closeDialog} onSaved={reload} />
      ) : null}
      {dialog?.kind === "edit" && chosen !== undefined ? (
        <ProviderDialog
          key={chosen.name}
          app={app}
          provider={chosen}
          onClose={closeDialog}
          onSaved={reload}
        />
      ) : null}
      {dialog?.kind === "test" && chosen !== undefined ? (
        <TestLoginDialog app={app} provider={chosen.name} onClose={closeDialog} />
      ) : null}
      {secret === undefined ? null : (
        <SecretDialog
          title={`Secret of ${secret.name}`}
          what="the secret"
          secret={secret.text}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  );
}

interface ProviderTableProps {
  readonly providers: readonly Provider[];
  readonly onRemove: (provider: Provider) => void;
  readonly onRenew: (provider: Provider) => void;
}

function ProviderTable({ providers, onRemove, onRenew }: ProviderTableProps): VNode {
  return (
    <Table
      label="Auth providers"
      rows={providers}
      keyOf={({ name }) => name}
      empty={<Empty title="The app has no auth provider, so users cannot log in." />}
      columns={[
        { title: "Name", cell: ({ name }) => name },
        { title: "Type", cell: ({ config }) => typeTitle(config.type) },
        { title: "Details", cell: ({ config }) => providerSummary(config) },
        {
          title: "Actions",
          isTitleHidden: true,
          cell: (each) => (
            <span class="row-actions">
              <Button kind="quiet" onClick={() => showDialog("test", each.name)}>
                Test a login
              </Button>
              {each.config.type === "tokenWebhook" ? (
                <IconButton
                  label={`New secret for ${each.name}`}
                  icon="key"
                  onClick={() => onRenew(each)}
                />
              ) : null}
              <IconButton
                label={`Edit ${each.name}`}
                icon="edit"
                onClick={() => showDialog("edit", each.name)}
              />
              <IconButton
                label={`Delete ${each.name}`}
                icon="trash"
                onClick={() => onRemove(each)}
              />
            </span>
          ),
        },
      ]}
    />
  );
}
