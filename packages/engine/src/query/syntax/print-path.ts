/**
 * printPath: formats the path of a field as text, which parses to the same path.
 */

import { QUOTED_WORDS } from "./keywords.ts";

export function printPath([first = "", ...others]: readonly string[]): string {
  return [printName(first), ...others.map(printWord)].join(".");
}

const PLAIN_WORD = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Prints a name where any word is a name. */
export function printWord(name: string): string {
  return PLAIN_WORD.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** Prints a name, quoted if it could be taken for a keyword. */
export function printName(name: string): string {
  return QUOTED_WORDS.has(name.toUpperCase()) ? `\`${name}\`` : printWord(name);
}
