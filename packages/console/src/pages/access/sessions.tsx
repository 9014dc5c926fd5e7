/**
 * Sessions: the browsers that are signed in to the console, and those of the users of the app.
 */
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { managed, ofApp, signIn } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { Button } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SecretDialog } from "../../ui/secret-dialog.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import type { PageProps } from "../page.ts";

interface ConsoleSession {
  readonly id: string;
  readonly by: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly address: string;
  readonly isCurrent: boolean;
}

export function Sessions({ app }: PageProps): VNode {
  return (
    <>
      <ConsoleSessions />
      <UserSessions app={app} />
    </>
  );
}

function ConsoleSessions(): VNode {
  const { value, error, reload } = useLoad("sessions", (signal) =>
    listOf<ConsoleSession>(managed("/consoleSession"), signal),
  );
  const [link, setLink] = useState<string>();
  const action = useAction();
  const renew = async (): Promise<void> => {
    const text = "All other browsers are signed out, and the former link stops working.";
    const question = { title: "Make a new link to the console?", text, action: "Make a new link" };
    if (!(await confirmed(question))) return;
    await action.run(async () => {
      const answer = await request<{ readonly consoleUrl: string }>("/console/token", {
        method: "POST",
      });
      // The session of this browser has ended, too.
      await signIn(decodeURIComponent(new URL(answer.consoleUrl).hash.replace("#token=", "")));
      setLink(answer.consoleUrl);
      await reload();
    });
  };
  const end = ({ id }: ConsoleSession): void => {
    void action.run(async () => {
      await request(managed(`/consoleSession/${id}`), { method: "DELETE" });
      await reload();
    });
  };
  const actions: Column<ConsoleSession> = {
    title: "Actions",
    isTitleHidden: true,
    cell: (each) =>
      each.isCurrent ? null : (
        <span class="row-actions">
          <Button onClick={() => end(each)}>Sign it out</Button>
        </span>
      ),
  };
  return (
    <>
      <div class="section-head">
        <h2 class="grow">Signed-in browsers</h2>
        <Button onClick={() => void renew()} isDisabled={action.isRunning}>
          Sign out all others
        </Button>
      </div>
      <ErrorMessage error={error ?? action.error} />
      {value === undefined ? null : (
        <Table
          label="Signed-in browsers"
          rows={value}
          keyOf={({ id }) => id}
          columns={[...COLUMNS, actions]}
        />
      )}
      {link === undefined ? null : (
        <SecretDialog
          title="The new link"
          what="the link"
          secret={link}
          onClose={() => setLink(undefined)}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<ConsoleSession>[] = [
  { title: "Address", cell: ({ address }) => <code>{address}</code> },
  {
    title: "Browser",
    cell: ({ isCurrent }) => (isCurrent ? <StateBadge kind="ok">this one</StateBadge> : "another"),
  },
  { title: "Signed in with", cell: ({ by }) => by },
  { title: "Since", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: "Ends", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
];

function UserSessions({ app }: PageProps): VNode {
  const action = useAction();
  const rotate = async (isEnd: boolean): Promise<void> => {
    const question = isEnd
      ? {
          title: `End all sessions of ${app}?`,
          text: "All users must log in again. Their devices lose the connection until then.",
          action: "End all sessions",
          isDestructive: true,
        }
      : {
          title: `Rotate the signing key of ${app}?`,
          text: "New sessions are signed with a new key. Existing ones stay valid until the next rotation.",
          action: "Rotate",
        };
    if (!(await confirmed(question))) return;
    await action.run(async () => {
      const path = ofApp(app, "/sessionKey/rotate");
      // Two rotations in a row end all sessions.
      for (let i = 0; i < (isEnd ? 2 : 1); i++) await request(path, { method: "POST" });
      showToast({ text: isEnd ? "All sessions have ended." : "New sessions have a new key." });
    });
  };
  return (
    <>
      <div class="section-head">
        <h2 class="grow">Users of {app}</h2>
        <Button onClick={() => void rotate(false)} isDisabled={action.isRunning}>
          Rotate the signing key
        </Button>
        <Button onClick={() => void rotate(true)} isDisabled={action.isRunning}>
          End all sessions
        </Button>
      </div>
      <ErrorMessage error={action.error} />
      <p class="muted">
        Sessions of users are signed tokens, which the server does not store. To end those of one
        provider, delete the provider.
      </p>
    </>
  );
}
