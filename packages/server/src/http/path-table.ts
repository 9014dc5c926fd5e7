/**
 * Path table: finds the entry whose path pattern matches the path of a request.
 *
 * A path has parts separated by `/`. A part in braces, like `{id}`, is a parameter: it matches any
 * one part that is not empty, percent-decoded. A last part like `{path*}` matches one or more parts,
 * decoded and joined, which may be empty. A path without parameters goes before one with them. Of
 * several with parameters the first match wins.
 */

import { nearest } from "@bigpeer/protocol";

/** Values of each `{name}` of a path, decoded. */
export interface PathParameters {
  readonly [name: string]: string;
}

export interface PathMatch<T> {
  /** The entry that the path names, or one that it lies under. */
  readonly entry: T;
  readonly isExact: boolean;
  readonly parameters: PathParameters;
}

/** Shared by all paths without parameters. */
export const NO_PARAMETERS: PathParameters = {};

interface Pattern<T> {
  readonly entry: T;
  readonly parts: readonly PatternPart[];
}

interface PatternPart {
  readonly text: string;
  /** Undefined for a literal part. */
  readonly parameter: string | undefined;
  /** Whether it matches all parts that follow. */
  readonly isRest: boolean;
}

export class PathTable<T extends { readonly path: string }> {
  readonly #byPath: ReadonlyMap<string, T>;
  readonly #withParameters: readonly Pattern<T>[];
  readonly #all: readonly Pattern<T>[];

  constructor(entries: readonly T[]) {
    this.#all = entries.map((entry) => ({ entry, parts: patternParts(entry.path) }));
    this.#withParameters = this.#all.filter(({ parts }) => parts.some(isParameter));
    const exact = this.#all.filter((pattern) => !this.#withParameters.includes(pattern));
    this.#byPath = new Map(exact.map(({ entry }) => [entry.path, entry]));
  }

  find(path: string): PathMatch<T> | undefined {
    const entry = this.#byPath.get(path);
    if (entry !== undefined) return { entry, isExact: true, parameters: NO_PARAMETERS };
    const given = path.split("/");
    for (const pattern of this.#withParameters) {
      const parameters = parametersOf(pattern.parts, given);
      if (parameters !== undefined) return { entry: pattern.entry, isExact: true, parameters };
    }
    const above = this.#all.find(({ parts }) => isUnder(parts, given));
    if (above === undefined) return undefined;
    return { entry: above.entry, isExact: false, parameters: NO_PARAMETERS };
  }

  /** Path of an entry that differs only in misspelt parts and trailing slashes. */
  near(path: string): string | undefined {
    const given = path.replace(/\/{1,8}$/, "").split("/");
    for (const { parts } of this.#all) {
      const meant = meantBy(parts, given);
      if (meant !== undefined && meant !== path) return meant;
    }
    return undefined;
  }
}

function meantBy(parts: readonly PatternPart[], given: readonly string[]): string | undefined {
  if (given.length !== parts.length) return undefined;
  const meant: string[] = [];
  for (const [i, { text, parameter }] of parts.entries()) {
    const part = given[i] ?? "";
    const isFitting = parameter === undefined ? part === text : part !== "";
    if (!isFitting && (parameter !== undefined || nearest(part, [text]) === undefined)) {
      return undefined;
    }
    meant.push(parameter === undefined ? text : part);
  }
  return meant.join("/");
}

function patternParts(path: string): PatternPart[] {
  return path.split("/").map((text) => {
    const [, parameter, star] = /^\{(\w+)(\*?)\}$/.exec(text) ?? [];
    return { text, parameter, isRest: star === "*" };
  });
}

function isParameter({ parameter }: PatternPart): boolean {
  return parameter !== undefined;
}

/** Undefined when the path does not match or a parameter cannot be decoded. */
function parametersOf(
  parts: readonly PatternPart[],
  given: readonly string[],
): PathParameters | undefined {
  const hasRest = parts.at(-1)?.isRest === true;
  if (hasRest ? given.length < parts.length : given.length !== parts.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, { text, parameter, isRest }] of parts.entries()) {
    const part = given[i] ?? "";
    if (parameter === undefined) {
      if (part !== text) return undefined;
      continue;
    }
    if (isRest) {
      const rest = given.slice(i).map(decodePart);
      if (rest.includes(undefined)) return undefined;
      parameters[parameter] = rest.join("/");
      continue;
    }
    const decoded = decodePart(part);
    if (decoded === undefined || decoded === "") return undefined;
    parameters[parameter] = decoded;
  }
  return parameters;
}

function isUnder(parts: readonly PatternPart[], given: readonly string[]): boolean {
  if (given.length < parts.length) return false;
  return parts.every((part, i) => isParameter(part) || part.text === given[i]);
}

function decodePart(part: string): string | undefined {
  try {
    return part.includes("%") ? decodeURIComponent(part) : part;
  } catch {
    return undefined;
  }
}
