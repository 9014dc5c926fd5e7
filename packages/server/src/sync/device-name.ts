/**
 * Device name: the key and the credential that identify a device, and the id of its record.
 */

import { isArray, type Value } from "@bigpeer/protocol";

export const DEVICE_RECORDS = "__small_peer_info";

export interface DeviceName {
  readonly key: string;
  readonly credential: string;
}

/** The name as a key of a map. */
export function textOf({ key, credential }: DeviceName): string {
  return JSON.stringify([key, credential]);
}

export function isSameName(one: DeviceName, other: DeviceName): boolean {
  return one.key === other.key && one.credential === other.credential;
}

export function idOf({ key, credential }: DeviceName): Value {
  return [key, credential];
}

/** The name in the id of a record; undefined if this server did not make the id. */
export function nameIn(id: Value): DeviceName | undefined {
  if (!isArray(id) || id.length !== 2) return undefined;
  const [key, credential] = id;
  return typeof key === "string" && typeof credential === "string"
    ? { key, credential }
    : undefined;
}
