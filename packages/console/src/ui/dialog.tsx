/**
 * Dialogs: the native modal dialog, which keeps the focus inside and gives it back. Escape closes it.
 */
import {
  type ComponentChildren,
  type Signal,
  signal,
  useEffect,
  useId,
  useRef,
  type VNode,
} from "../kit/preact.ts";
import { Button, IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly size?: "small" | "medium" | "large";
  /** With it, the content is a form, and Enter in a field submits it. */
  readonly onSubmit?: () => void;
}

export function Dialog(props: DialogProps): VNode {
  const { title, onClose, size = "medium" } = props;
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${size}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <IconButton label="Close" icon="close" onClick={onClose} />
      </header>
      <DialogContent {...props} />
    </dialog>
  );
}

function DialogContent({ children, footer, onSubmit }: DialogProps): VNode {
  const content = (
    <>
      <div class="dialog-body">{children}</div>
      {footer === undefined ? null : <footer class="dialog-foot">{footer}</footer>}
    </>
  );
  if (onSubmit === undefined) return content;
  return (
    <form
      class="dialog-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {content}
    </form>
  );
}

export interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  /** The text of the button that confirms. */
  readonly action: string;
  readonly isDestructive?: boolean;
}

interface OpenQuestion extends Question {
  readonly answer: (isConfirmed: boolean) => void;
}

const open: Signal<OpenQuestion | undefined> = signal(undefined);

/** Asks before something that cannot be undone. */
export function confirmed(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    open.value?.answer(false);
    open.value = {
      ...question,
      answer: (isConfirmed) => {
        open.value = undefined;
        resolve(isConfirmed);
      },
    };
  });
}

/** Shows the question of `confirmed`. Once in the page. */
export function QuestionDialog(): VNode | null {
  const question = open.value;
  if (question === undefined) return null;
  const { title, text, action, isDestructive = false, answer } = question;
  return (
    <Dialog
      title={title}
      size="small"
      onClose={() => answer(false)}
      onSubmit={() => answer(true)}
      footer={
        <>
          <Button onClick={() => answer(false)}>Cancel</Button>
          <Button isSubmit kind={isDestructive ? "danger" : "primary"}>
            {action}
          </Button>
        </>
      }
    >
      {text}
    </Dialog>
  );
}
