/**
 * See as: finds the permissions with which a statement of the console runs, so that its result is
 * exactly what another caller sees (M56).
 *
 * The caller is an API key, a user with given claims, or anyone with given permissions. Its
 * permissions are compiled as those of its own requests. Nothing is written for it.
 */

import { bindPermissions, type Permissions, readPermissions } from "@bigpeer/engine/query";
import { getField, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { type Credential, createCredential, userCredentialId } from "../auth/credential.ts";
import { userPermissions } from "../auth/provider-tokens.ts";
import type { ApiKey } from "../registry/api-key.ts";
import type { App } from "../registry/app.ts";
import { type AuthProvider, providerNamed } from "../registry/auth-provider.ts";
import type { Registry } from "../registry/registry.ts";
import { RegistryFault, shown } from "../registry/registry-fault.ts";

/** Another caller, as a request names it. Exactly one of `key`, `provider` and `permissions`. */
export interface SeenBy {
  readonly key?: string | null;
  readonly provider?: string | null;
  readonly permissions?: Value;
  readonly userId?: string | null;
  readonly claims?: ValueObject | null;
}

/** Id of a caller that has permissions and no name. */
const SOMEONE = "see as";

/** The credential of another caller. Throws a RegistryFault or a PeerError when there is none. */
export function seenCredential(registry: Registry, app: App, seen: SeenBy): Credential {
  const given = [seen.key, seen.provider, seen.permissions].filter(isGiven);
  if (given.length !== 1) {
    const expected = "one of key, provider and permissions";
    throw new PeerError("value.invalid", `expected ${expected}, found ${given.length}`, {
      at: "as",
    });
  }
  if (isGiven(seen.key)) return keyCaller(registry, app, seen.key);
  if (isGiven(seen.provider)) return providerCaller(app, seen.provider, seen);
  return givenCaller(seen);
}

function keyCaller({ keys }: Registry, app: App, name: string): Credential {
  const key = keys.get(app.id, name);
  if (keys.isExpired(key)) throw expired(key);
  return createCredential(key.id, key.permissions);
}

/** The requests of such a key are refused as well, so there is nothing that it sees. */
function expired({ name, expiresAt = 0 }: ApiKey): PeerError {
  const time = new Date(expiresAt).toISOString();
  const message = `expected an API key that is valid, found ${shown(name)}, which expired at ${time}`;
  return new PeerError("value.invalid", message, { at: "as.key" });
}

/** A user as its token describes it: the claims are those of a valid one. */
function providerCaller(app: App, name: string, seen: SeenBy): Credential {
  const provider = providerNamed(app.authProviders, name);
  if (provider === undefined) {
    const detail = `there is no auth provider named ${shown(name)}`;
    throw new RegistryFault("AuthProviderNotFound", detail);
  }
  const caller = callerOf(seen);
  const kind = provider.type === "jwt" ? "jwt" : "session";
  const permissions = bindPermissions(permissionsOf(provider, caller.claims), caller);
  return createCredential(userCredentialId(kind, name, caller.userId), permissions);
}

function permissionsOf(provider: AuthProvider, claims: ValueObject): Permissions {
  switch (provider.type) {
    case "anonymous":
      return provider.permission;
    case "jwt":
      return userPermissions(getField(claims, "permissions"), provider);
    default: {
      const message = "the webhook of this provider decides what its users may do";
      throw new PeerError(
        "value.invalid",
        `expected permissions in place of provider: ${message}`,
        {
          at: "as",
        },
      );
    }
  }
}

function givenCaller(seen: SeenBy): Credential {
  const { permissions: given } = seen;
  const isOfUsers = isGiven(seen.userId) || isGiven(seen.claims);
  const permissions = readPermissions(given, "as.permissions", { isOfUsers });
  if (!isOfUsers) return createCredential(SOMEONE, permissions);
  return createCredential(SOMEONE, bindPermissions(permissions, callerOf(seen)));
}

function callerOf({ userId, claims }: SeenBy): { userId: string; claims: ValueObject } {
  const all = isObject(claims) ? claims : {};
  const sub = getField(all, "sub");
  if (isGiven(userId)) return { userId, claims: all };
  if (typeof sub === "string") return { userId: sub, claims: all };
  throw new PeerError("value.invalid", "expected the id of a user", { at: "as.userId" });
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
