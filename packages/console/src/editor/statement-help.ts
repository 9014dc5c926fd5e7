/**
 * What an editor of statements shows: colours of tokens, mistakes under their place and completion.
 * It needs no editor, so it runs in tests as well.
 */
import {
  completionPlace,
  FUNCTIONS,
  findMistake,
  isFunction,
  isKeyword,
  KEYWORDS,
  type NamedCollection,
  type StatementMistake,
  SYSTEM_COLLECTIONS,
  splitStatements,
  statementAt,
  type Token,
  tokensOf,
} from "@bigpeer/engine/language";
import { quoteName } from "../values/names.ts";

/** Names in the store; read when they are needed. */
export interface StoreNames {
  readonly collections: () => Promise<readonly string[]>;
  /** Paths of fields of a collection, such as `owner.city`. */
  readonly fields: (collection: string) => Promise<readonly string[]>;
}

export interface ColouredRange {
  readonly from: number;
  readonly to: number;
  readonly className: string;
}

export function* colourOf(text: string): Generator<ColouredRange> {
  for (const token of tokensOf(text)) {
    const className = classOf(token, text);
    if (className !== undefined) yield { from: token.at, to: token.end, className };
  }
}

function classOf({ kind, text, end }: Token, whole: string): string | undefined {
  switch (kind) {
    case "comment":
    case "text":
    case "number":
    case "parameter":
    case "quoted":
      return kind;
    case "word":
      if (whole[end] === "(" && isFunction(text)) return "function";
      return isKeyword(text) ? "keyword" : undefined;
    default:
      return undefined;
  }
}

/** The mistake of each statement, with its place in the whole text. */
export function mistakesIn(text: string): StatementMistake[] {
  return splitStatements(text).flatMap((statement) => {
    const mistake = findMistake(statement.text);
    if (mistake === undefined) return [];
    const { message, at, end } = mistake;
    return [{ message, at: at + statement.at, end: end + statement.at }];
  });
}

export interface CompletionOption {
  readonly label: string;
  readonly kind: "collection" | "field" | "keyword" | "function";
  /** Sorts before others that match as well. */
  readonly boost: number;
}

export interface Completions {
  /** Where the text begins that an option replaces. */
  readonly from: number;
  readonly options: readonly CompletionOption[];
}

/** `isAsked` is a completion that was asked for; without it, one begins with a letter. */
export async function suggest(
  text: string,
  position: number,
  names: StoreNames,
  isAsked: boolean,
): Promise<Completions | undefined> {
  const start = statementAt(text, position)?.at ?? 0;
  const statement = statementAt(text, position)?.text ?? "";
  const before = text.slice(Math.min(start, position), position);
  const place = completionPlace(statement, before);
  const { word, wantsCollection, isInText } = place;
  if (isInText || (word === "" && !isAsked && !wantsCollection)) return undefined;
  if (wantsCollection) {
    const from = position - word.length;
    return { from, options: collectionOptions(await names.collections()) };
  }
  const fields = await fieldOptions(place.collections, word, names);
  if (word.includes(".")) {
    return { from: position - word.length + word.lastIndexOf(".") + 1, options: fields };
  }
  const isLower = /^[a-z]/.test(word);
  return {
    from: position - word.length,
    options: [
      ...fields,
      ...KEYWORDS.map((label) => optionOf(isLower ? label.toLowerCase() : label, "keyword", 0)),
      ...FUNCTIONS.map((label) => optionOf(label, "function", -1)),
    ],
  };
}

function optionOf(label: string, kind: CompletionOption["kind"], boost: number): CompletionOption {
  return { label, kind, boost };
}

function collectionOptions(names: readonly string[]): CompletionOption[] {
  return [
    ...names.map((name) => optionOf(quoteName(name), "collection", 2)),
    ...SYSTEM_COLLECTIONS.map((name) => optionOf(name, "collection", -2)),
  ];
}

/** The next step of paths that begin with the steps of the word. */
async function fieldOptions(
  named: readonly NamedCollection[],
  word: string,
  names: StoreNames,
): Promise<CompletionOption[]> {
  const prefix = word.slice(0, word.lastIndexOf(".") + 1);
  const found = await Promise.all(
    named.map(async ({ name, alias }) => {
      const paths = await names.fields(name);
      const ownPrefix = `${alias}.`;
      const isOwn = prefix.startsWith(ownPrefix);
      const steps = isOwn ? prefix.slice(ownPrefix.length) : prefix;
      return paths.filter((path) => path.startsWith(steps)).map((path) => path.slice(steps.length));
    }),
  );
  const aliases = prefix === "" && named.length > 1 ? named.map(({ alias }) => alias) : [];
  const steps = found.flat().map((path) => path.split(".", 1)[0] ?? "");
  const all = new Set([...steps, ...aliases].filter((step) => step !== ""));
  return [...all].map((label) => optionOf(label, "field", 1));
}
