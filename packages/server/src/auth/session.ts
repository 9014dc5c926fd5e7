/**
 * Sessions: JWTs that the server signs at login for one user of one app, with its permissions as a
 * claim. The server stores no session; each one expires (A19).
 */

import { type Permissions, permissionsValue, readPermissions } from "@bigpeer/engine/query";
import type { ValueObject } from "@bigpeer/protocol";
import type { App } from "../registry/app.ts";
import { providerNamed } from "../registry/auth-provider.ts";
import { IDENTITY_METADATA, identityClaim, identityOfClaim } from "./identity-metadata.ts";
import { peekToken, signToken, verifyWithSecret } from "./json-web-token.ts";

const ISSUER = "bigpeer";

/** An app as authentication uses it. */
export type AuthApp = Pick<App, "id" | "authProviders" | "sessionKeys">;

export interface Session {
  readonly provider: string;
  readonly userId: string;
  readonly permissions: Permissions;
  /** Identity metadata from the provider. */
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
 * Returns undefined when the token is not a session of the app or has expired. A session also ends
 * when its provider is removed, even if another provider has the same name (A29).
 */
export async function verifySession(
  app: AuthApp,
  token: string,
  nowMs: number,
): Promise<Session | undefined> {
  const keyId = peekToken(token)?.keyId;
  const key = app.sessionKeys.find(({ id }) => id === keyId);
  if (key === undefined) return undefined;
  // This server set the expiry, so no leeway is needed.
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
