/**
 * Asks for a name to be typed before something is destroyed with all that belongs to it.
 */
import { type ComponentChildren, useState, type VNode } from "../kit/preact.ts";
import { useAction } from "../kit/use-action.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorMessage } from "./error-message.tsx";
import { TextField } from "./field.tsx";

export interface TypedNameDialogProps {
  readonly title: string;
  readonly name: string;
  readonly action: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** The dialog closes when it succeeds. */
  readonly onConfirm: () => Promise<void>;
}

export function TypedNameDialog(props: TypedNameDialogProps): VNode {
  const { title, name, action, children, onClose, onConfirm } = props;
  const [typed, setTyped] = useState("");
  const { isRunning, error, run } = useAction();
  const confirm = (): void => {
    if (typed === name) void run(onConfirm).then((isDone) => isDone && onClose());
  };
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      onSubmit={confirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="danger" isDisabled={typed !== name || isRunning}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      <TextField label={`Type ${name} to confirm`} autofocus value={typed} onInput={setTyped} />
      <ErrorMessage error={error} />
    </Dialog>
  );
}
