/**
 * Toasts: short messages that go away by themselves, with one action such as undo. Screen readers
 * announce them.
 */
import { type Signal, signal, useEffect, useState, type VNode } from "../kit/preact.ts";
import { Button, IconButton } from "./button.tsx";

export interface Toast {
  readonly text: string;
  readonly kind?: "ok" | "error";
  readonly action?: { readonly title: string; readonly run: () => void };
}

interface ShownToast extends Toast {
  readonly id: number;
}

const SHOWN_MS = 10_000;
const SHOWN_MAX = 3;

const toasts: Signal<readonly ShownToast[]> = signal([]);
let nextId = 1;

export function showToast(toast: Toast): void {
  toasts.value = [...toasts.value, { ...toast, id: nextId++ }].slice(-SHOWN_MAX);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Once in the page. */
export function Toasts(): VNode {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <ToastLine key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastLine({ toast }: { readonly toast: ShownToast }): VNode {
  const { id, text, kind = "ok", action } = toast;
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, isHeld]);
  const hold = (): void => setHeld(true);
  const release = (): void => setHeld(false);
  return (
    <div
      class={`toast ${kind}`}
      onMouseEnter={hold}
      onMouseLeave={release}
      onFocusIn={hold}
      onFocusOut={release}
    >
      <span class="toast-text">{text}</span>
      {action === undefined ? null : (
        <Button
          kind="quiet"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.title}
        </Button>
      )}
      <IconButton label="Dismiss" icon="close" onClick={() => dismiss(id)} />
    </div>
  );
}
