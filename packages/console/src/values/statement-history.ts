/**
 * History and favourites of statements: bounded lists, the newest first.
 */

export interface KeptStatement {
  readonly app: string;
  readonly text: string;
  /** Arguments as they were written. */
  readonly args: string;
}

export interface HistoryEntry extends KeptStatement {
  /** When it ran last, in milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  /** Undefined if it failed. */
  readonly rows?: number;
}

export interface Favourite extends KeptStatement {
  readonly name: string;
}

const ENTRIES_MAX = 200;
const FAVOURITES_MAX = 100;

/** Longer statements are not kept: storage of a browser is small. */
export const KEPT_LENGTH_MAX = 10_000;

/** A statement that ran before moves to the top. */
export function addToHistory(
  history: readonly HistoryEntry[],
  entry: HistoryEntry,
): readonly HistoryEntry[] {
  if (entry.text.length + entry.args.length > KEPT_LENGTH_MAX) return history;
  return [entry, ...history.filter((other) => !isSame(other, entry))].slice(0, ENTRIES_MAX);
}

/** One of the same name is replaced. */
export function addFavourite(
  favourites: readonly Favourite[],
  favourite: Favourite,
): readonly Favourite[] {
  const { app, name } = favourite;
  const others = favourites.filter((other) => other.app !== app || other.name !== name);
  return [favourite, ...others].slice(0, FAVOURITES_MAX);
}

export function isSame(a: KeptStatement, b: KeptStatement): boolean {
  return a.app === b.app && a.text === b.text && a.args === b.args;
}

const TITLE_LENGTH_MAX = 300;

/** The statement on one line, without lines of comments. */
export function titleOf(text: string): string {
  const lines = text.split("\n").filter((line) => !line.trimStart().startsWith("--"));
  const title = lines.join(" ").replaceAll(/\s+/g, " ").trim();
  return (title === "" ? text.trim() : title).slice(0, TITLE_LENGTH_MAX);
}

export function isHistory(value: unknown): boolean {
  return isListOf(value, isKept);
}

export function isFavourites(value: unknown): boolean {
  return isListOf(value, (each) => isKept(each) && typeof (each as Favourite).name === "string");
}

function isListOf(value: unknown, isEntry: (each: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

function isKept(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { app, text, args } = value as Partial<KeptStatement>;
  return [app, text, args].every((each) => typeof each === "string");
}
