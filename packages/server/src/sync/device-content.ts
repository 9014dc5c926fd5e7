/**
 * Device content: builds the fields of a device's record, the update of an existing record, and its
 * size in the change log.
 */

import { approximateSize } from "@bigpeer/engine/store";
import type { PeerReport } from "@bigpeer/engine/sync";
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
import { DEVICE_SUBSCRIPTIONS_SIZE_MAX } from "../limits/limits.ts";
import { DEVICE_RECORDS } from "./device-name.ts";

/** Fields that are replaced as a whole; as maps they would merge field by field. */
const WHOLE = ["peerMetadata", "identityServiceMetadata", "sync"];
export const DEVICE_TYPES: Types = Object.fromEntries(WHOLE.map((name) => [name, "register"]));

/** Fields whose change alone does not cause a write (W9). */
const PASSING = new Set(["sync", "lastSeen"]);

/** The first subscriptions, up to a size; `system:peers` shows whether they are live. */
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

/** The update of a record; empty if no field that counts has changed. */
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
  // Other fields may have been written by others, and stay.
  if (!isBrief && before["userId"] !== undefined && fields["userId"] === undefined) {
    edits.push({ kind: "unset", path: ["userId"] });
  }
  const isReason = edits.some(({ path: [name = ""] }) => !PASSING.has(name));
  if (edits.length === 0 || !(isUrgent || isReason)) return [];
  return [{ kind: "update", collection: DEVICE_RECORDS, id, edits }];
}

/** Approximate size of operations in the log, with the values that they replace. */
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
