/**
 * The replication secret of an app: what Big Peers prove to each other that they know.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { confirmed } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { showToast } from "../../ui/toast.tsx";

const RANDOM_BYTES = 32;

export interface SecretOfAppProps {
  readonly app: string;
  readonly onClose: () => void;
  readonly onSaved: () => Promise<void>;
}

export function SecretOfApp({ app, onClose, onSaved }: SecretOfAppProps): VNode {
  const [secret, setSecret] = useState("");
  const path = ofApp(app, "/replicationSecret");
  const action = useAction();
  const finish = async (text: string): Promise<void> => {
    await onSaved();
    showToast({ text });
    onClose();
  };
  const save = async (): Promise<void> => {
    await request(path, { method: "PUT", body: { secret: secret.trim() } });
    await finish(`The replication secret of ${app} is set.`);
  };
  const remove = async (): Promise<void> => {
    const text =
      "Then the secret of the server applies, if there is one. The links of the app end.";
    const question = { title: `Remove the secret of ${app}?`, text, action: "Remove" };
    if (!(await confirmed({ ...question, isDestructive: true }))) return;
    await action.run(async () => {
      await request(path, { method: "DELETE" });
      await finish(`The replication secret of ${app} is removed.`);
    });
  };
  return (
    <FormDialog
      title={`Replication secret of ${app}`}
      action="Set the secret"
      state={action}
      isDisabled={secret.trim() === ""}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      <p>
        All Big Peers that replicate the app need the same secret. The server never shows it, so
        copy it before you set it. When it changes, the links end until both sides know it.
      </p>
      <div class="with-button">
        <TextField label="New secret" isCode autofocus value={secret} onInput={setSecret} />
        <Button onClick={() => setSecret(randomSecret())}>Make one</Button>
      </div>
      <div>
        <Button onClick={() => void remove()}>Remove the secret of the app</Button>
      </div>
    </FormDialog>
  );
}

function randomSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
