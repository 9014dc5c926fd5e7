/**
 * The sheet of all shortcuts that work now.
 */
import type { VNode } from "../kit/preact.ts";
import { type Shortcut, shortcutGroups } from "../kit/shortcuts.ts";
import { Dialog } from "../ui/dialog.tsx";

export function ShortcutSheet({ onClose }: { readonly onClose: () => void }): VNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {shortcutGroups.value.map(({ title, shortcuts }) => (
        <section key={title} class="shortcuts">
          <h3>{title}</h3>
          <dl>
            {shortcuts.map((shortcut) => (
              <div key={shortcut.keys}>
                <dt>{shortcut.title}</dt>
                <dd>
                  <Keys shortcut={shortcut} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

function Keys({ shortcut }: { readonly shortcut: Shortcut }): VNode {
  const keys = shortcut.keys.replace("mod+", "Ctrl ").split(" ");
  return (
    <>
      {keys.map((key) => (
        <kbd key={key}>{key.length === 1 && keys[0] === "Ctrl" ? key.toUpperCase() : key}</kbd>
      ))}
    </>
  );
}
