/**
 * Names of apps, API keys and replications: labels of RFC 1123, which are valid in a path and in a
 * host name (M10).
 */

import { RegistryFault, shown } from "./registry-fault.ts";

export const NAME: RegExp = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const NAME_LENGTH_MAX = 63;

export function isName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && NAME.test(name);
}

/** Throws InvalidName. `what` describes the named thing, such as "an app". */
export function checkName(name: string, what: string): void {
  if (isName(name)) return;
  const form =
    `1 to ${NAME_LENGTH_MAX} lowercase letters, digits or "-", ` +
    "with a letter or digit at both ends";
  throw new RegistryFault(
    "InvalidName",
    `expected ${form} as the name of ${what}, found ${shown(name)}`,
  );
}
