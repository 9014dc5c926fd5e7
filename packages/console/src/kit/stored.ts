/**
 * Choices that a browser remembers, as signals. Where storage is not allowed they last as long as
 * the page.
 */
import { type Signal, signal } from "./preact.ts";

const PREFIX = "bigpeer.console.";

/** A value that is kept as JSON. `isValid` refuses what an older version has stored. */
export function stored<T>(
  name: string,
  initial: T,
  isValid: (value: unknown) => boolean,
): Signal<T> {
  const value = signal(read(name, initial, isValid));
  let isFirst = true;
  value.subscribe((next) => {
    if (!isFirst) write(name, next);
    isFirst = false;
  });
  return value;
}

function read<T>(name: string, initial: T, isValid: (value: unknown) => boolean): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    if (text === null) return initial;
    const value: unknown = JSON.parse(text);
    return isValid(value) ? (value as T) : initial;
  } catch {
    return initial;
  }
}

function write(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full or forbidden: the choice lasts as long as the page.
  }
}
