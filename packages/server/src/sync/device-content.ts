/**
 * Device content: what stands in the record of a device, how one is brought up to date, and what that
 * takes of the change log.
 */

import { approximateSize, type PeerReport } from "@bigpeer/engine";
import {
  type DocumentOperation,
  type Edit,
  equalValues,
  getField,
  stringifyJson,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { DEVICE_SUBSCRIPTIONS_SIZE_MAX } from "../limits.ts";
import { DEVICE_RECORDS } from "./device-name.ts";

/** These are replaced as a whole; without it objects would be merged field by field. */
const WHOLE = ["peerMetadata", "identityServiceMetadata", "sync"];
export const DEVICE_TYPES: Types = Object.fromEntries(WHOLE.map((name) => [name, "register"]));

/** What alone is no reason to write. */
const PASSING = new Set(["sync", "lastSeen"]);

/** The first ones, as many as there is room for; whether they are live is told by `system:peers`. */
export function recordedSubscriptions({ subscriptions }: PeerReport): Value[] {
  const recorded: Value[] = [];
  let size = 0;
  for (const { query, args, collection } of subscriptions) {
    const one = { query, args, ...(collection !== undefined && { collection }) };
    size += Buffer.byteLength(stringifyJson(one));
    if (size > DEVICE_SUBSCRIPTIONS_SIZE_MAX) break;
    recorded.push(one);
  }
  return recorded;
}

/** None when nothing is other that counts. */
export function updateOf(
  id: Value,
  before: ValueObject,
  fields: ValueObject,
  { isUrgent, isBrief }: { readonly isUrgent: boolean; readonly isBrief: boolean },
): DocumentOperation[] {
  const edits: Edit[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (equalValues(getField(before, name), value)) continue;
    const types = WHOLE.includes(name) ? ({ types: "register" } as const) : {};
    edits.push({ kind: "set", path: [name], value, ...types });
  }
  // What is not ours may have been written by others, and stays.
  if (!isBrief && before["userId"] !== undefined && fields["userId"] === undefined) {
    edits.push({ kind: "unset", path: ["userId"] });
  }
  const isReason = edits.some(({ path: [name = ""] }) => !PASSING.has(name));
  if (edits.length === 0 || !(isUrgent || isReason)) return [];
  return [{ kind: "update", collection: DEVICE_RECORDS, id, edits }];
}

/** What of operations is in the log, about: they, and the values that they took the place of. */
export function loggedSize(operations: readonly DocumentOperation[], before: ValueObject): number {
  let size = 0;
  for (const operation of operations) {
    size += approximateSize(operation);
    if (operation.kind !== "update") continue;
    for (const { path } of operation.edits) {
      size += approximateSize(getField(before, path[0] ?? "") ?? null);
    }
  }
  return size;
}
