/**
 * The page Replication: which data of the app this server pulls from others, and the links with them.
 */
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { managed, ofApp } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { closeDialog, openDialog, showDialog } from "../../route/open-dialog.ts";
import { Button } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";
import type { Replication, ReplicationStatus } from "./link-words.ts";
import { ReplicationDialog } from "./replication-dialog.tsx";
import { ReplicationPanel } from "./replication-panel.tsx";
import { SecretOfApp } from "./secret-of-app.tsx";

const POLL_MS = 5000;

interface Watched {
  readonly replication: Replication;
  readonly status: ReplicationStatus | undefined;
}

export function Page({ app }: PageProps): VNode {
  const path = ofApp(app, "/bigPeerReplication");
  const { value, error, reload } = useLoad(path, (signal) => watch(path, signal), {
    pollMs: POLL_MS,
  });
  const removal = useAction();
  useShortcuts("Replication", [{ keys: "n", title: "New link", run: () => showDialog("new") }]);
  const remove = async ({ name }: Replication): Promise<void> => {
    const text = "Its links end. The documents that it pulled stay.";
    const question = { title: `Remove the link ${name}?`, text, action: "Remove" };
    if (!(await confirmed({ ...question, isDestructive: true }))) return;
    await removal.run(async () => {
      await request(`${path}/${name}`, { method: "DELETE" });
      showToast({ text: `The link ${name} is removed.` });
      await reload();
    });
  };
  const dialog = openDialog();
  const chosen = value?.find(({ replication }) => replication.name === dialog?.name);
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => showDialog("new")}>
          New link
        </Button>
        <Button icon="key" onClick={() => showDialog("secret")}>
          Replication secret
        </Button>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      <ErrorMessage error={removal.error} />
      {value?.map(({ replication, status }) => (
        <ReplicationPanel
          key={replication.name}
          replication={replication}
          status={status}
          onRemove={() => void remove(replication)}
        />
      ))}
      {value?.length === 0 ? <NoLinks app={app} /> : null}
      {dialog?.kind === "new" ? (
        <ReplicationDialog app={app} onClose={closeDialog} onSaved={reload} />
      ) : null}
      {dialog?.kind === "edit" && chosen !== undefined ? (
        <ReplicationDialog
          key={dialog.name}
          app={app}
          replication={chosen.replication}
          onClose={closeDialog}
          onSaved={reload}
        />
      ) : null}
      {dialog?.kind === "secret" ? (
        <SecretOfApp app={app} onClose={closeDialog} onSaved={reload} />
      ) : null}
    </>
  );
}

function NoLinks({ app }: PageProps): VNode {
  const { value } = useLoad(app, (signal) =>
    request<{ readonly appId: string }>(managed(`/app/${encodeURIComponent(app)}`), { signal }),
  );
  return (
    <Empty title="The app has no link to another Big Peer.">
      <p>
        A link pulls documents of the same app from another Big Peer. Create the app there with the
        same id{value === undefined ? "" : " "}
        {value === undefined ? null : <code>{value.appId}</code>}, and set the same replication
        secret.
      </p>
    </Empty>
  );
}

async function watch(path: string, signal: AbortSignal): Promise<readonly Watched[]> {
  const all = await listOf<Replication>(path, signal);
  return Promise.all(
    all.map(async (replication) => {
      const own = `${path}/${replication.name}/status`;
      const status = await request<ReplicationStatus>(own, { signal }).catch(() => undefined);
      return { replication, status };
    }),
  );
}
