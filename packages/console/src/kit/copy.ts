/**
 * Copies a text to the clipboard; rejects if the browser does not allow it. Pages without encryption on another machine have no clipboard of
 * the newer kind, so they use the older one.
 */

export async function copyText(text: string): Promise<void> {
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  if (clipboard !== undefined) return clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  // A modal dialog makes the rest of the page inert.
  (focused?.closest("dialog") ?? document.querySelector("dialog[open]") ?? document.body).append(
    area,
  );
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error("the browser does not allow it");
}
