/**
 * Name check: refuses an invalid name of an app, an API key or a replication (M10).
 */

import { isName, NAME_LENGTH_MAX } from "../validation/name.ts";
import { RegistryFault, shown } from "./registry-fault.ts";

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
