/**
 * Keyboard shortcuts: of the whole console and of the page that is shown. A shortcut is one key, or
 * two keys one after the other such as `g d`. None works while text is being typed, or behind a dialog.
 */
import { type Signal, signal, useEffect, useRef } from "./preact.ts";

export interface Shortcut {
  /** Such as `?`, `g d`; with `mod+` for Ctrl, or the command key of a Mac. */
  readonly keys: string;
  readonly title: string;
  readonly run: () => void;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

/** In the order in which they were added. */
export const shortcutGroups: Signal<readonly ShortcutGroup[]> = signal([]);

/** The second key of a pair must follow within this time. */
const PAIR_MS = 1000;

/** The shortcuts hold while the component is shown. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  const names = shortcuts.map(({ keys, title: each }) => `${keys} ${each}`).join("\n");
  useEffect(() => {
    const group: ShortcutGroup = {
      title,
      shortcuts: latest.current.map((each, i) => {
        return { ...each, run: () => latest.current[i]?.run() };
      }),
    };
    shortcutGroups.value = [...shortcutGroups.value, group];
    return () => {
      shortcutGroups.value = shortcutGroups.value.filter((other) => other !== group);
    };
  }, [title, names]);
}

export function listenForShortcuts(): void {
  let first: { readonly key: string; readonly at: number } | undefined;
  addEventListener("keydown", (event) => {
    const key = nameOf(event);
    if (event.defaultPrevented || key === undefined || isBehindDialog()) return;
    if (isTyping(event) && !key.startsWith("mod+")) return;
    const isPair = first !== undefined && event.timeStamp - first.at < PAIR_MS;
    const pair = isPair ? `${first?.key} ${key}` : undefined;
    const found = (pair === undefined ? undefined : find(pair)) ?? find(key);
    first = { key, at: event.timeStamp };
    if (found === undefined) return;
    first = undefined;
    event.preventDefault();
    found.run();
  });
}

/** Of two with the same keys, the one that was added last. */
function find(keys: string): Shortcut | undefined {
  const all = shortcutGroups.value.flatMap(({ shortcuts }) => shortcuts);
  return all.findLast((each) => each.keys === keys);
}

function nameOf(event: KeyboardEvent): string | undefined {
  if (event.altKey || event.isComposing || event.key === "Control" || event.key === "Meta") {
    return undefined;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `mod+${key}` : key;
}

function isTyping(event: KeyboardEvent): boolean {
  // The target inside a shadow root, such as that of the editor.
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select");
}

/** The focus may be on nothing in the dialog: after a click beside its fields, for instance. */
function isBehindDialog(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
