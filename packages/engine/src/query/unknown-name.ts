/**
 * Unknown names in error messages: quoted, cut, and with the known name that was probably meant.
 */

import { nearest } from "@bigpeer/protocol";

/** The name comes from outside and may be as long as a statement. */
const QUOTED_MAX = 64;

/** `'x'; did you mean y?`, or the quoted name alone when no known one is near. */
export function unknownName(name: string, known: Iterable<string>): string {
  const near = nearest(name, known);
  return near === undefined ? quoteName(name) : `${quoteName(name)}; did you mean ${near}?`;
}

export function quoteName(name: string): string {
  return `'${name.length > QUOTED_MAX ? `${name.slice(0, QUOTED_MAX)}…` : name}'`;
}
