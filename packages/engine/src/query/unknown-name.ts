/**
 * unknownName: formats an untrusted name for error messages, with the probable known name.
 */

import { nearest } from "@bigpeer/protocol";

/** Limit on an untrusted name, which may be as long as a request. */
const LENGTH_MAX = 64;

/** `'x'; did you mean y?`, or the quoted name alone when no known one is near. */
export function unknownName(name: string, known: Iterable<string>): string {
  const hint = nameHint(name, known);
  return hint === undefined ? quoteName(name) : `${quoteName(name)}; ${hint}`;
}

/** `did you mean y?`; undefined when no known name is near. */
export function nameHint(name: string, known: Iterable<string>): string | undefined {
  const near = nearest(name, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}

export function quoteName(name: string): string {
  return `'${cutName(name)}'`;
}

/** The name, or its beginning. */
export function cutName(name: string): string {
  const cut = name.length > LENGTH_MAX ? `${name.slice(0, LENGTH_MAX)}…` : name;
  return cut.toWellFormed();
}
