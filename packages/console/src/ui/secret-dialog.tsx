/**
 * A secret that the server shows once, to be copied before the dialog is closed.
 */
import type { ComponentChildren, VNode } from "../kit/preact.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";
import { TextField } from "./field.tsx";

export interface SecretDialogProps {
  readonly title: string;
  /** What it is, such as `the key`. */
  readonly what: string;
  readonly secret: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

export function SecretDialog(props: SecretDialogProps): VNode {
  const { title, what, secret, onClose, children } = props;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      }
    >
      <p>Copy {what} now and keep it safe. The server never shows it again.</p>
      <div class="with-button">
        <TextField label={`Text of ${what}`} isReadOnly isCode value={secret} onInput={nothing} />
        <CopyButton text={secret} what={what} hasText />
      </div>
      {children}
    </Dialog>
  );
}

function nothing(): void {}
