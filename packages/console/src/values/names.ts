/**
 * Names in statements: in backticks where a plain name would not do.
 */

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Words that mean something else in some places of a statement. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "all and any apply array as asc between by case cast collection contains delete desc distinct " +
    "documents drop else end every evict except exists explain false for from group having if in " +
    "increment index initial inner insert intersect into is join last left like limit map missing " +
    "not null nulls offset on or order outer profile raw register returning right satisfies select " +
    "set show some then to tombstone true union unnest unset update use value values when where with"
  ).split(" "),
);

export function quoteName(name: string): string {
  const isPlain = PLAIN.test(name) && !KEYWORDS.has(name.toLowerCase());
  return isPlain ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** The steps of a path, such as `` owner.`home city` ``. */
export function pathText(path: readonly string[]): string {
  return path.map(quoteName).join(".");
}

/**
 * A field of a document in a condition, a column or an order. A name that the collection has too
 * would mean the whole document, so the collection stands before it.
 */
export function fieldText(collection: string, path: readonly string[]): string {
  return pathText(path[0] === collection ? [collection, ...path] : path);
}

/** The steps of a path as text; undefined if it is none. Backticks are as in statements. */
export function parsePath(text: string): readonly string[] | undefined {
  const step = /`((?:[^`]|``)*)`|([^.`\s]+)/y;
  const steps: string[] = [];
  for (let at = 0; ; at++) {
    step.lastIndex = at;
    const [found, quoted, plain] = step.exec(text) ?? [];
    if (found === undefined) return undefined;
    steps.push(quoted?.replaceAll("``", "`") ?? plain ?? "");
    at += found.length;
    if (at >= text.length) return steps;
    if (text[at] !== ".") return undefined;
  }
}

/** The value at a path of a document; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || Array.isArray(current)) return undefined;
    if (!Object.hasOwn(current, step)) return undefined;
    current = (current as Readonly<Record<string, unknown>>)[step];
  }
  return current;
}

/** An assignment to `__proto__` would not make a field. */
export function setOwn(target: object, name: string, value: unknown): void {
  const field = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(target, name, field);
}

/** Collections of the app, and below them those that the server writes, such as `__small_peer_info`. */
export function ownFirst<Named extends { readonly name: string }>(
  all: readonly Named[],
): readonly Named[] {
  const isOfServer = ({ name }: Named): boolean => name.startsWith("__");
  return [...all.filter((each) => !isOfServer(each)), ...all.filter(isOfServer)];
}
