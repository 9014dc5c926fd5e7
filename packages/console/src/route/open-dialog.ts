/**
 * The dialog that is open on a page, in the address: a link opens it, and going back closes it.
 */
import { route, setQuery } from "./router.ts";

export interface OpenDialog {
  /** Such as `new`, `edit`. */
  readonly kind: string;
  /** What it is about; empty for something new. */
  readonly name: string;
}

export function openDialog(): OpenDialog | undefined {
  const { dialog, name = "" } = route.value.query;
  return dialog === undefined ? undefined : { kind: dialog, name };
}

export function showDialog(kind: string, name?: string): void {
  setQuery({ dialog: kind, name });
}

export function closeDialog(): void {
  setQuery({ dialog: undefined, name: undefined });
}
