/**
 * Choices that a browser remembers, as signals. Where storage is not allowed they last as long as
 * the page.
 */
import { StoredValue } from "../values/stored-value.ts";
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
  const kept = new StoredValue({ key, initial, isValid, storage: () => localStorage });
  const value = signal(kept.value);
  const refresh = (): void => {
    if (kept.refresh()) value.value = kept.value;
  };
  value.subscribe((next) => kept.set(next));
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
