/**
 * What can be completed at a place of a statement: the word there, whether a collection belongs in
 * its place, and the collections whose fields do.
 */

import { NO_ALIAS } from "../query/syntax/keywords.ts";
import { tokensOf } from "./token.ts";

/** Behind these words stands the name of a collection. */
const BEFORE_COLLECTION = new Set(["FROM", "INTO", "UPDATE", "JOIN", "COLLECTION"]);

export interface CompletionPlace {
  /** The word before the place, with its dots; it may be empty. */
  readonly word: string;
  readonly wantsCollection: boolean;
  /** Whether the place is in a text or a comment, where nothing belongs. */
  readonly isInText: boolean;
  /** The collections that the statement names. */
  readonly collections: readonly NamedCollection[];
}

export interface NamedCollection {
  readonly name: string;
  /** What the statement calls it: its alias, otherwise its name. */
  readonly alias: string;
}

/** `text` is the statement, `before` the part of it up to the place. */
export function completionPlace(text: string, before: string): CompletionPlace {
  const word = /[\p{L}_][\w.]*$/u.exec(before)?.[0] ?? "";
  const last = [...tokensOf(before)].at(-1);
  const isInText =
    last !== undefined &&
    (last.isOpen || (last.kind === "comment" && !before.endsWith("\n"))) &&
    last.kind !== "quoted";
  const wordsBefore = wordsOf(before.slice(0, before.length - word.length));
  const previous = wordsBefore.at(-1);
  return {
    word,
    wantsCollection: previous !== undefined && isBeforeCollection(previous),
    isInText,
    collections: collectionsOf(wordsOf(text)),
  };
}

interface Word {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Words of a statement without its texts and comments; a sign is an empty word. */
function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const { kind, text: part } of tokensOf(text)) {
    if (kind === "word") words.push({ text: part, isQuoted: false });
    else if (kind === "quoted") words.push({ text: part.slice(1, -1), isQuoted: true });
    else if (kind !== "space" && kind !== "comment") words.push({ text: "", isQuoted: false });
  }
  return words;
}

function isBeforeCollection({ text, isQuoted }: Word): boolean {
  return !isQuoted && BEFORE_COLLECTION.has(text.toUpperCase());
}

function collectionsOf(words: readonly Word[]): NamedCollection[] {
  return words.flatMap((word, at): NamedCollection[] => {
    const previous = words[at - 1];
    if (word.text === "" || previous === undefined || !isBeforeCollection(previous)) return [];
    const next = words[at + 1];
    const hasAs = next?.isQuoted === false && next.text.toUpperCase() === "AS";
    const alias = words[hasAs ? at + 2 : at + 1];
    const isAlias = hasAs || (alias !== undefined && isPlainAlias(alias));
    return [{ name: word.text, alias: isAlias && alias ? alias.text : word.text }];
  });
}

/** Whether a word behind a collection is its alias, and no keyword. */
function isPlainAlias({ text, isQuoted }: Word): boolean {
  return text !== "" && (isQuoted || !NO_ALIAS.has(text.toUpperCase()));
}
