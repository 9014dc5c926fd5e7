/**
 * The apps of the server, and those that were deleted and can be restored.
 */
import { type App, loadApps } from "../../api/apps.ts";
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { managed } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { closeDialog, openDialog, showDialog } from "../../route/open-dialog.ts";
import { hrefOf } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";
import { DeleteAppDialog, NewAppDialog, SettingsDialog } from "./app-dialogs.tsx";

interface DeletedApp extends App {
  readonly deletedAt: string;
  readonly removedAfter: string;
}

export function AppList({ app: current }: PageProps): VNode {
  const { value, error, reload } = useLoad("apps", (signal) =>
    listOf<App>(managed("/app"), signal),
  );
  const deleted = useLoad("deleted", (signal) =>
    listOf<DeletedApp>(managed("/deletedApp"), signal),
  );
  const refresh = async (): Promise<void> => {
    await Promise.all([reload(), deleted.reload(), loadApps()]);
  };
  const dialog = openDialog();
  useShortcuts("Access", [{ keys: "n", title: "New app", run: () => showDialog("new") }]);
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => showDialog("new")}>
          New app
        </Button>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : <AppTable apps={value} current={current} />}
      <DeletedApps apps={deleted.value ?? []} onChange={refresh} />
      {dialog?.kind === "new" ? <NewAppDialog onClose={closeDialog} onDone={refresh} /> : null}
      {dialog?.kind === "settings" ? (
        <SettingsDialog app={dialog.name} onClose={closeDialog} />
      ) : null}
      {dialog?.kind === "delete" ? (
        <DeleteAppDialog
          app={dialog.name}
          isCurrent={dialog.name === current}
          onClose={closeDialog}
          onDone={refresh}
        />
      ) : null}
    </>
  );
}

interface AppTableProps {
  readonly apps: readonly App[];
  readonly current: string;
}

function AppTable({ apps, current }: AppTableProps): VNode {
  return (
    <Table
      label="Apps"
      rows={apps}
      keyOf={({ appId }) => appId}
      columns={[
        {
          title: "Name",
          cell: ({ name }) => (
            <>
              <a href={hrefOf("data", { app: name })}>{name}</a>{" "}
              {name === current ? <span class="badge">current</span> : null}
            </>
          ),
        },
        {
          title: "App ID",
          cell: ({ appId }) => (
            <span class="with-copy">
              <code>{appId}</code>
              <CopyButton text={appId} what="the id" />
            </span>
          ),
        },
        {
          title: "Actions",
          isTitleHidden: true,
          cell: ({ name }) => (
            <span class="row-actions">
              <IconButton
                label={`Settings of ${name}`}
                icon="operations"
                onClick={() => showDialog("settings", name)}
              />
              <IconButton
                label={`Delete ${name}`}
                icon="trash"
                onClick={() => showDialog("delete", name)}
              />
            </span>
          ),
        },
      ]}
    />
  );
}

interface DeletedAppsProps {
  readonly apps: readonly DeletedApp[];
  readonly onChange: () => Promise<void>;
}

function DeletedApps({ apps, onChange }: DeletedAppsProps): VNode | null {
  const { error, run } = useAction();
  const restore = ({ appId, name }: DeletedApp): void => {
    void run(async () => {
      await request(managed(`/deletedApp/${appId}/restore`), { method: "POST" });
      showToast({ text: `The app ${name} is restored, without its API keys and replications.` });
      await onChange();
    });
  };
  if (apps.length === 0 && error === undefined) return null;
  return (
    <>
      <h2>Deleted apps</h2>
      <ErrorMessage error={error} />
      <Table
        label="Deleted apps"
        rows={apps}
        keyOf={({ appId }) => appId}
        columns={[
          { title: "Name", cell: ({ name }) => name },
          { title: "App ID", cell: ({ appId }) => <code>{appId}</code> },
          { title: "Deleted", cell: ({ deletedAt }) => <Time at={deletedAt} /> },
          { title: "Data is removed", cell: ({ removedAfter }) => <Time at={removedAfter} /> },
          {
            title: "Actions",
            isTitleHidden: true,
            cell: (each) => (
              <span class="row-actions">
                <Button icon="undo" onClick={() => restore(each)}>
                  Restore
                </Button>
              </span>
            ),
          },
        ]}
      />
    </>
  );
}
