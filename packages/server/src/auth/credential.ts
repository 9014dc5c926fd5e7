/**
 * Credential: what a caller may do, and the name by which he is remembered. Made once for each key
 * or token that is known, so that a request costs no more than finding it.
 */

import { createHash } from "node:crypto";
import { type AccessRule, Authority, type Permissions } from "@bigpeer/engine";
import { UPLOADER_SIZE_MAX } from "@bigpeer/protocol";

export interface Credential {
  /** Names the credential without giving it away. */
  readonly id: string;
  readonly permissions: Permissions;
  /** What it may read and write; undefined when that is everything. */
  readonly authority: Authority | undefined;
  /** Whether statements may be run on connected peers. */
  readonly mayAskPeers: boolean;
  /** Whether it may write anything at all. */
  readonly mayUpload: boolean;
}

export function createCredential(id: string, permissions: Permissions): Credential {
  const { read, write, remoteQuery } = permissions;
  const authority =
    read.everything && write.everything ? undefined : new Authority(permissions, id);
  const mayAskPeers = authority === undefined ? remoteQuery : authority.mayAskPeers;
  return { id, permissions, authority, mayAskPeers, mayUpload: isAnything(write) };
}

const OWNERS = new WeakMap<Credential, string>();

/**
 * The name under which what is used with a credential of an app is counted. Ids of users are names in
 * their app alone. Shares take the text before the first space for a group.
 */
export function ownerOf(appId: string, credential: Credential): string {
  const known = OWNERS.get(credential);
  if (known !== undefined) return known;
  const made = `${appId} ${credential.id}`;
  OWNERS.set(credential, made);
  return made;
}

/** The id of a user that a provider has named. Two users never have the same. */
export function userCredentialId(
  kind: "session" | "jwt",
  provider: string,
  userId: string,
): string {
  const id = `${kind}:${encodeURIComponent(provider)}:${userId}`;
  if (id.length <= UPLOADER_SIZE_MAX) return id;
  // Not to be mistaken for a short one: no encoded name begins so.
  return `${kind}:#${createHash("sha256").update(id).digest("hex")}`;
}

function isAnything(rule: AccessRule): boolean {
  if (rule.everything) return true;
  return Object.values(rule.queriesByCollection).some((queries) => queries.length > 0);
}
