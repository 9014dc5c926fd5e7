/**
 * Completion of a line of the shell: dot commands, keywords, functions, collections and fields.
 */

import {
  completionPlace,
  FUNCTIONS,
  KEYWORDS,
  type NamedCollection,
} from "@bigpeer/engine/language";

/** Names in the store; read when they are needed. */
export interface KnownNames {
  collections(): Promise<readonly string[]>;
  /** Names of fields of a collection. */
  fields(collection: string): Promise<readonly string[]>;
}

/** What can take the place of the word at the end of `line`, with that word. */
export async function complete(
  line: string,
  above: string,
  names: KnownNames,
  dotCommands: readonly string[],
): Promise<[string[], string]> {
  if (above.trim() === "" && /^\s*\.\w*$/.test(line)) {
    const word = line.trim();
    return [dotCommands.filter((name) => name.startsWith(word)), word];
  }
  const text = `${above}\n${line}`;
  const { word, wantsCollection, collections } = completionPlace(text, text);
  if (line.trimStart().startsWith(".") || wantsCollection) {
    return [startingWith(await names.collections(), word), word];
  }
  const fields = await fieldsOf(collections, names);
  const isUpper = /^[A-Z]/.test(word) || word === "";
  const keywords = KEYWORDS.map((each) => (isUpper ? each : each.toLowerCase()));
  const functions = FUNCTIONS.map((name) => `${name}(`);
  return [startingWith([...fields, ...keywords, ...functions], word), word];
}

function startingWith(names: readonly string[], word: string): string[] {
  const wanted = word.toLowerCase();
  return [...new Set(names.filter((name) => name.toLowerCase().startsWith(wanted)))];
}

/** Fields of the collections that a statement names. */
async function fieldsOf(named: readonly NamedCollection[], names: KnownNames): Promise<string[]> {
  const known = new Set(await names.collections());
  const found = await Promise.all(
    named.filter(({ name }) => known.has(name)).map(({ name }) => names.fields(name)),
  );
  return found.flat();
}
