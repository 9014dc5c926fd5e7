/**
 * Choices that a browser remembers, as signals. Where storage is not allowed they last as long as
 * the page.
 */
import { type Signal, signal } from "./preact.ts";

const PREFIX = "bigpeer.console.";

/** Takes over what other tabs have written meanwhile. */
const refreshers = new WeakMap<object, () => void>();

/** A value that is kept as JSON. `isValid` refuses what an older version has stored. */
export function stored<T>(
  name: string,
  initial: T,
  isValid: (value: unknown) => boolean,
): Signal<T> {
  const key = PREFIX + name;
  const value = signal(initial);
  // The text in the storage as far as this tab knows: another one is of another tab.
  let known: string | null = null;
  let current: T = initial;
  const refresh = (): void => {
    const text = read(key);
    if (text === null || text === known) return;
    known = text;
    const found = parse(text);
    if (!isValid(found)) return;
    current = found as T;
    value.value = current;
  };
  refresh();
  value.subscribe((next) => {
    if (next === current) return;
    current = next;
    const text = JSON.stringify(next);
    if (write(key, text)) known = text;
  });
  addEventListener("storage", (event) => {
    if (event.key === key) refresh();
  });
  refreshers.set(value, refresh);
  return value;
}

/** A change of a list that all tabs share: it keeps what they have added meanwhile. */
export function update<T>(value: Signal<T>, change: (latest: T) => T): void {
  refreshers.get(value)?.();
  value.value = change(value.peek());
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether it is written. Where storage is full or forbidden, the choice lasts as long as the page. */
function write(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
