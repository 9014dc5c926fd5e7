/**
 * Credential: the permissions of a caller and the id under which the caller is known. It is created
 * once for each known key or token, so that a request costs only a lookup.
 */

import { createHash } from "node:crypto";
import { type AccessRule, Authority, type Permissions } from "@bigpeer/engine/query";
import type { Writer } from "@bigpeer/engine/store";
import { UPLOADER_SIZE_MAX } from "@bigpeer/protocol";

export interface Credential {
  /** Identifies the credential without revealing its text. */
  readonly id: string;
  readonly permissions: Permissions;
  /** The caller as the log names it, for readers of changes. */
  readonly writer: Writer;
  /** Read and write permissions; undefined when they allow everything. */
  readonly authority: Authority | undefined;
  /** Whether it may run statements on connected peers. */
  readonly mayAskPeers: boolean;
  /** Whether it may write to at least one collection. */
  readonly mayUpload: boolean;
}

/** `writer` names the caller; by default the credential alone. */
export function createCredential(
  id: string,
  permissions: Permissions,
  writer: Writer = { credential: id },
): Credential {
  const { read, write, remoteQuery } = permissions;
  const authority =
    read.everything && write.everything ? undefined : new Authority(permissions, id);
  const mayAskPeers = authority === undefined ? remoteQuery : authority.mayAskPeers;
  return { id, permissions, writer, authority, mayAskPeers, mayUpload: isAnything(write) };
}

const OWNERS = new WeakMap<Credential, string>();

/**
 * Key under which the usage of a credential is counted: ids of users are unique only within their
 * app. Shares take the text before the first space as the group.
 */
export function ownerOf(appId: string, credential: Credential): string {
  const known = OWNERS.get(credential);
  if (known !== undefined) return known;
  const made = `${appId} ${credential.id}`;
  OWNERS.set(credential, made);
  return made;
}

/** Id of a user of a provider, unique among all users of an app. */
export function userCredentialId(
  kind: "session" | "jwt",
  provider: string,
  userId: string,
): string {
  const id = `${kind}:${encodeURIComponent(provider)}:${userId}`;
  if (id.length <= UPLOADER_SIZE_MAX) return id;
  // Cannot collide with a short id: no encoded provider name begins with `#`.
  return `${kind}:#${createHash("sha256").update(id).digest("hex")}`;
}

function isAnything(rule: AccessRule): boolean {
  if (rule.everything) return true;
  return Object.values(rule.queriesByCollection).some((queries) => queries.length > 0);
}
