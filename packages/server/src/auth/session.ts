/**
 * Sessions: what a login gives. A token that this server has signed for one user of one app, with
 * his permissions in it; so no session is kept anywhere, and each ends by itself.
 */

import { type Permissions, permissionsValue, readPermissions } from "@bigpeer/engine";
import { type AuthProviders, providerNamed } from "./auth-provider.ts";
import { peekToken, type SigningKey, signToken, verifyWithSecret } from "./json-web-token.ts";

const ISSUER = "bigpeer";

/** An app as authentication sees it. */
export interface AuthApp {
  readonly id: string;
  readonly authProviders: AuthProviders;
  /** The first signs, all verify. */
  readonly sessionKeys: readonly SigningKey[];
}

export interface Session {
  readonly provider: string;
  readonly userId: string;
  readonly permissions: Permissions;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

export function signSession(app: AuthApp, session: Session, nowMs: number): Promise<string> {
  const [key] = app.sessionKeys;
  if (key === undefined) throw new Error(`the app ${app.id} has no key for sessions`);
  const { provider, userId, permissions, expiresAt } = session;
  const claims = {
    iss: ISSUER,
    aud: app.id,
    sub: userId,
    provider,
    permissions: permissionsValue(permissions),
    iat: Math.floor(nowMs / 1000),
    exp: expiresAt,
  };
  return signToken(claims, key);
}

/**
 * Undefined when the token is no session of the app, or one that is over. A session is over, too,
 * when its provider is not there any more.
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
  const { sub, provider, permissions, exp } = verdict.claims;
  if (typeof sub !== "string" || typeof provider !== "string") return undefined;
  if (providerNamed(app.authProviders, provider) === undefined) return undefined;
  return { userId: sub, provider, permissions: readPermissions(permissions), expiresAt: exp };
}
