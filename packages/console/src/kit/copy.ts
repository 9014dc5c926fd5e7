/**
 * Copies a text to the clipboard. Pages without encryption on another machine have no clipboard of
 * the newer kind, so they use the older one.
 */

export async function copyText(text: string): Promise<void> {
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  if (clipboard !== undefined) return clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  // A modal dialog makes the rest of the page inert.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
