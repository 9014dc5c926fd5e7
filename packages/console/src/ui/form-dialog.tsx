/**
 * A dialog with a form that sends something to the server: it closes when that succeeds, and shows
 * why it failed otherwise.
 */

import type { ComponentChildren, VNode } from "../kit/preact.ts";
import type { Action } from "../kit/use-action.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorMessage } from "./error-message.tsx";

export interface FormDialogProps {
  readonly title: string;
  /** The text of the button that sends it. */
  readonly action: string;
  readonly state: Action;
  readonly size?: "small" | "medium" | "large";
  readonly isDisabled?: boolean;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps): VNode {
  const { title, action, state, size = "medium", isDisabled = false, onClose } = props;
  return (
    <Dialog
      title={title}
      size={size}
      onClose={onClose}
      onSubmit={props.onSubmit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="primary" isDisabled={isDisabled || state.isRunning}>
            {action}
          </Button>
        </>
      }
    >
      {props.children}
      <ErrorMessage error={state.error} />
    </Dialog>
  );
}
