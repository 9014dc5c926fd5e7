/**
 * Webhooks and sinks of an app: what delivers its changes elsewhere.
 */
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { closeDialog, openDialog, showDialog } from "../../route/open-dialog.ts";
import { Button } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SecretDialog } from "../../ui/secret-dialog.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { DestinationDialog } from "./destination-dialog.tsx";
import type {
  DeliveryStatus,
  Destination,
  DestinationKind,
  WatchedDestination,
} from "./destination-form.ts";
import { DestinationTable } from "./destination-table.tsx";
import { ResumeDialog } from "./resume-dialog.tsx";

export function Webhooks({ app }: PageProps): VNode {
  return <Destinations app={app} kind="webhook" />;
}

export function Sinks({ app }: PageProps): VNode {
  return <Destinations app={app} kind="sink" />;
}

const POLL_MS = 5000;

interface DestinationsProps extends PageProps {
  readonly kind: DestinationKind;
}

function Destinations({ app, kind }: DestinationsProps): VNode {
  const path = ofApp(app, `/${kind}`);
  const { value, error, reload } = useLoad(path, (signal) => watch(path, signal), {
    pollMs: POLL_MS,
  });
  const action = useAction();
  useShortcuts("Access", [{ keys: "n", title: `New ${kind}`, run: () => showDialog("new") }]);
  const [secret, setSecret] = useState<{ readonly name: string; readonly text: string }>();
  const post = (name: string, what: string): void => {
    void action.run(async () => {
      await request(`${path}/${name}/${what}`, { method: "POST" });
      await reload();
    });
  };
  const remove = async (name: string): Promise<void> => {
    const text = "Its position and its dead letters are removed, too. This cannot be undone.";
    const question = { title: `Delete the ${kind} ${name}?`, text, action: "Delete" };
    if (!(await confirmed({ ...question, isDestructive: true }))) return;
    await action.run(async () => {
      await request(`${path}/${name}`, { method: "DELETE" });
      showToast({ text: `The ${kind} ${name} is deleted.` });
      await reload();
    });
  };
  const saved = async (name: string, made: string | undefined): Promise<void> => {
    closeDialog();
    if (made !== undefined) setSecret({ name, text: made });
    await reload();
  };
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => showDialog("new")}>
          New {kind}
        </Button>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      <ErrorMessage error={action.error} />
      {value === undefined ? null : (
        <DestinationTable
          kind={kind}
          rows={value}
          onPause={(name) => post(name, "pause")}
          onRemove={(name) => void remove(name)}
        />
      )}
      <OpenDialogs
        app={app}
        kind={kind}
        path={path}
        all={value}
        onSaved={saved}
        onChange={reload}
      />
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

interface OpenDialogsProps extends DestinationsProps {
  readonly path: string;
  readonly all: readonly WatchedDestination[] | undefined;
  readonly onSaved: (name: string, secret: string | undefined) => Promise<void>;
  readonly onChange: () => Promise<void>;
}

function OpenDialogs({ app, kind, path, all, onSaved, onChange }: OpenDialogsProps): VNode | null {
  const dialog = openDialog();
  if (dialog?.kind === "new") {
    return <DestinationDialog app={app} kind={kind} onClose={closeDialog} onSaved={onSaved} />;
  }
  const chosen = all?.find(({ name }) => name === dialog?.name);
  if (chosen === undefined) return null;
  const own = `${path}/${chosen.name}`;
  switch (dialog?.kind) {
    case "edit":
      return (
        <DestinationDialog
          app={app}
          kind={kind}
          destination={chosen}
          onClose={closeDialog}
          onSaved={onSaved}
        />
      );
    case "resume":
      return (
        <ResumeDialog destination={chosen} path={own} onClose={closeDialog} onDone={onChange} />
      );
    case "letters":
      return (
        <DeadLetters name={chosen.name} path={own} onClose={closeDialog} onChange={onChange} />
      );
    default:
      return null;
  }
}

async function watch(path: string, signal: AbortSignal): Promise<readonly WatchedDestination[]> {
  const all = await listOf<Destination>(path, signal);
  return Promise.all(
    all.map(async (each) => {
      const own = `${path}/${each.name}/status`;
      const status = await request<DeliveryStatus>(own, { signal }).catch(() => undefined);
      return { ...each, status };
    }),
  );
}
