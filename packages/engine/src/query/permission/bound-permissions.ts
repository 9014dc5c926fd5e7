/**
 * bindPermissions: fills the caller into the permissions of a provider, a token or a webhook (P22).
 */

import { PeerError } from "@bigpeer/protocol";
import { PERMISSION_LENGTH_MAX } from "../../limits.ts";
import { bindQuery, type Caller } from "./caller.ts";
import { type AccessRule, lengthOf, type Permissions } from "./permissions.ts";

/** The permissions of this caller. Throws PeerError `value.invalid` when they become too long. */
export function bindPermissions(permissions: Permissions, caller: Caller): Permissions {
  const read = bindRule(permissions.read, caller);
  const write = bindRule(permissions.write, caller);
  if (read === permissions.read && write === permissions.write) return permissions;
  const length = lengthOf(read) + lengthOf(write);
  if (length <= PERMISSION_LENGTH_MAX) return { ...permissions, read, write };
  const expected = `at most ${PERMISSION_LENGTH_MAX} characters in all names and queries`;
  const message = `expected ${expected} with the claims of the caller, found ${length}`;
  throw new PeerError("value.invalid", message);
}

/** Returns the same rule if no query names the caller. */
function bindRule(rule: AccessRule, caller: Caller): AccessRule {
  if (rule.everything) return rule;
  let isChanged = false;
  const bind = (query: string): string => {
    const bound = bindQuery(query, caller);
    isChanged ||= bound !== query;
    return bound;
  };
  const entries = Object.entries(rule.queriesByCollection).map(
    ([name, queries]): [string, readonly string[]] => [name, queries.map(bind)],
  );
  if (!isChanged) return rule;
  return { everything: false, queriesByCollection: Object.fromEntries(entries) };
}
