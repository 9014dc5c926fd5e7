/**
 * Sessions: what a login gives. A token that this server has signed for one user of one app, with
 * his permissions in it; so no session is kept anywhere, and each ends by itself.
 */

import { type Permissions, permissionsValue, readPermissions } from "@bigpeer/engine";
import type { ValueObject } from "@bigpeer/protocol";
import type { App } from "../registry/app.ts";
import { providerNamed } from "../registry/auth-provider.ts";
import { IDENTITY_METADATA, identityClaim, identityOfClaim } from "./identity-metadata.ts";
import { peekToken, signToken, verifyWithSecret } from "./json-web-token.ts";

const ISSUER = "bigpeer";

/** An app as authentication sees it. */
export type AuthApp = Pick<App, "id" | "authProviders" | "sessionKeys">;

export interface Session {
  readonly provider: string;
  readonly userId: string;
  readonly permissions: Permissions;
  /** What the provider says of him beside it. */
  readonly identity?: ValueObject | undefined;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

export function signSession(app: AuthApp, session: Session, nowMs: number): Promise<string> {
  const [key] = app.sessionKeys;
  if (key === undefined) throw new Error(`the app ${app.id} has no key for sessions`);
  const { provider, userId, permissions, identity, expiresAt } = session;
  const providerId = providerNamed(app.authProviders, provider)?.id;
  if (providerId === undefined) throw new Error(`the app ${app.id} has no provider ${provider}`);
  const claims = {
    iss: ISSUER,
    aud: app.id,
    sub: userId,
    provider,
    providerId,
    permissions: permissionsValue(permissions),
    ...(identity !== undefined && { [IDENTITY_METADATA]: identityClaim(identity) }),
    iat: Math.floor(nowMs / 1000),
    exp: expiresAt,
  };
  return signToken(claims, key);
}

/**
 * Undefined when the token is no session of the app, or one that is over. A session is over, too,
 * when its provider is not there any more; another of the same name is not it.
 */
export async function verifySession(
  app: AuthApp,
  token: string,
  nowMs: number,
): Promise<Session | undefined> {
  const keyId = peekToken(token)?.keyId;
  const key = app.sessionKeys.find(({ id }) => id === keyId);
  if (key === undefined) return undefined;
  // Our own clock has set the end.
  const demand = { audience: app.id, issuer: ISSUER, nowMs, leewaySeconds: 0 };
  const verdict = await verifyWithSecret(token, key.secret, demand);
  if (verdict.kind !== "valid") return undefined;
  const { sub, provider, providerId, permissions, exp } = verdict.claims;
  if (typeof sub !== "string" || typeof provider !== "string") return undefined;
  const known = providerNamed(app.authProviders, provider);
  if (known === undefined || known.id !== providerId) return undefined;
  return {
    userId: sub,
    provider,
    permissions: readPermissions(permissions),
    identity: identityOfClaim(verdict.claims[IDENTITY_METADATA]),
    expiresAt: exp,
  };
}
