/**
 * Permissions: what a credential may read and write, as an API key, a token or a provider states
 * it.
 *
 * They are validated when they arrive, each query included, so that permission checks find none
 * invalid.
 */

import {
  checkValue,
  getField,
  isArray,
  isObject,
  PeerError,
  setField,
  sortedKeys,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { PERMISSION_LENGTH_MAX } from "../../limits.ts";
import { describeType } from "../value/mismatch.ts";
import { checkFilter } from "./filter-check.ts";
import type { PermissionSource } from "./permission-source.ts";

export interface Permissions {
  readonly read: AccessRule;
  readonly write: AccessRule;
  /** Whether the caller may query other peers; that also needs all of `read`. */
  readonly remoteQuery: boolean;
}

/** A document is allowed when any query of its collection matches it. */
export type AccessRule =
  | { readonly everything: true }
  | {
      readonly everything: false;
      readonly queriesByCollection: { readonly [collection: string]: readonly string[] };
    };

export const FULL_PERMISSIONS: Permissions = {
  read: { everything: true },
  write: { everything: true },
  remoteQuery: true,
};

const FIELDS = ["qlVersion", "remoteQuery", "read", "write"];
const RULE_FIELDS = ["everything", "queriesByCollection"];

/** An optional field may also be null. Throws a PeerError with the position in `value`. */
export function readPermissions(
  value: unknown,
  at: string = "permissions",
  source: PermissionSource = {},
): Permissions {
  const given = objectAt(checkValue(value, at), FIELDS, at);
  const version = getField(given, "qlVersion") ?? 1;
  if (version !== 0 && version !== 1) {
    throw invalid("0 or 1", version, `${at}.qlVersion`);
  }
  const read = readRule(getField(given, "read"), `${at}.read`);
  const write = readRule(getField(given, "write"), `${at}.write`);
  const length = lengthOf(read) + lengthOf(write);
  if (length > PERMISSION_LENGTH_MAX) {
    const expected = `at most ${PERMISSION_LENGTH_MAX} characters in all names and queries`;
    throw new PeerError("value.invalid", `expected ${expected}, found ${length}`, { at });
  }
  checkQueries(read, `${at}.read`, source);
  checkQueries(write, `${at}.write`, source);
  return { read, write, remoteQuery: flagAt(given, "remoteQuery", at) };
}

function readRule(given: Value | undefined, at: string): AccessRule {
  if (given === undefined || given === null) return { everything: false, queriesByCollection: {} };
  const rule = objectAt(given, RULE_FIELDS, at);
  const queries = getField(rule, "queriesByCollection") ?? {};
  const place = `${at}.queriesByCollection`;
  if (!isObject(queries)) throw invalid("an object with a list of queries", queries, place);
  const queriesByCollection: { [collection: string]: readonly string[] } = {};
  for (const name of Object.keys(queries)) {
    setField(queriesByCollection, name, textsAt(getField(queries, name), `${place}.${name}`));
  }
  // Fields beside `everything: true` must be well-formed, but have no effect.
  return flagAt(rule, "everything", at)
    ? { everything: true }
    : { everything: false, queriesByCollection };
}

function textsAt(list: Value | undefined, at: string): readonly string[] {
  if (!isArray(list)) throw invalid("an array of queries", list, at);
  return list.map((text, i) => {
    if (typeof text !== "string") throw invalid("a query", text, `${at}[${i}]`);
    return text;
  });
}

function flagAt(object: ValueObject, name: string, at: string): boolean {
  const flag = getField(object, name) ?? false;
  if (typeof flag !== "boolean") throw invalid("true or false", flag, `${at}.${name}`);
  return flag;
}

function objectAt(value: Value, names: readonly string[], at: string): ValueObject {
  if (!isObject(value)) throw invalid("an object", value, at);
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return value;
  const message = `expected ${names.join(", ")}, found another field`;
  throw new PeerError("value.invalid", message, { at: `${at}.${unknown}` });
}

function invalid(expected: string, found: Value | undefined, at: string): PeerError {
  const message = `expected ${expected}, found ${describeType(found)}`;
  return new PeerError("value.invalid", message, { at });
}

/** Characters of a rule, which is compiled and comes with each request in a token. */
export function lengthOf(rule: AccessRule): number {
  if (rule.everything) return 0;
  let length = 0;
  for (const [name, queries] of Object.entries(rule.queriesByCollection)) {
    length += name.length;
    for (const query of queries) length += query.length;
  }
  return length;
}

function checkQueries(rule: AccessRule, at: string, source: PermissionSource): void {
  if (rule.everything) return;
  for (const [name, queries] of Object.entries(rule.queriesByCollection)) {
    const place = `${at}.queriesByCollection.${name}`;
    for (const [i, query] of queries.entries()) checkFilter(query, `${place}[${i}]`, source);
  }
}

/** The wire form, the same for equal permissions. */
export function permissionsValue({ read, write, remoteQuery }: Permissions): ValueObject {
  return { remoteQuery, read: ruleValue(read), write: ruleValue(write) };
}

function ruleValue(rule: AccessRule): ValueObject {
  const queriesByCollection: { [collection: string]: Value } = {};
  if (!rule.everything) {
    const given = rule.queriesByCollection;
    for (const name of sortedKeys(given)) setField(queriesByCollection, name, given[name] ?? []);
  }
  return { everything: rule.everything, queriesByCollection };
}
