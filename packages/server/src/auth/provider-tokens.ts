/**
 * Provider tokens: verifies JWTs of `jwt` providers and reads user and permissions from their
 * claims. Such a token is a credential of the data API, or is exchanged for a session.
 */

import { bindPermissions, type Permissions, readPermissions } from "@bigpeer/engine/query";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import type { JwtProvider } from "../registry/auth-provider.ts";
import { checkIdentity, IDENTITY_METADATA } from "./identity-metadata.ts";
import { type Claims, PublicKeys, type Verdict, verifyWithSecret } from "./json-web-token.ts";
import { KeySet, type KeySetHost } from "./key-set.ts";
import { unauthorized } from "./unauthorized.ts";

/** Default clock skew that is allowed for an issuer. */
const LEEWAY_SECONDS = 60;

export function leewayOf({ clockTolerance = LEEWAY_SECONDS }: JwtProvider): number {
  return clockTolerance;
}

/** Called with the reason why a token is refused: for the log, never for its sender. */
export type NoteReason = (reason: string) => void;

/** Maximum number of cached key sets. */
const KEY_SETS_MAX = 1_000;

/** Maximum characters of a user id. */
export const USER_ID_LENGTH_MAX = 1_024;

/** Whether it is a valid user id. Lone surrogates are not: they would all be encoded alike. */
export function isUserId(id: unknown): id is string {
  return (
    typeof id === "string" && id !== "" && id.length <= USER_ID_LENGTH_MAX && id.isWellFormed()
  );
}

export interface TokenUser {
  readonly userId: string;
  readonly permissions: Permissions;
  /** Identity metadata from the issuer. */
  readonly identity?: ValueObject | undefined;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

export interface ProviderTokensHost extends KeySetHost {
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class ProviderTokens {
  readonly #host: ProviderTokensHost;
  readonly #keySets = new Map<string, KeySet>();
  /** Parsed keys that are part of the configuration of a provider. */
  readonly #givenKeys = new WeakMap<JwtProvider, PublicKeys>();

  constructor(host: ProviderTokensHost) {
    this.#host = host;
  }

  /**
   * Returns undefined when the token is not a valid one of this provider for the app `appId`.
   * Throws a Refusal: 401 when it is valid but its claims are not, 503 when the keys are not
   * available.
   */
  async verify(
    token: string,
    provider: JwtProvider,
    appId: string,
    note: NoteReason = () => {},
  ): Promise<TokenUser | undefined> {
    const verdict = await this.#verify(token, provider, appId);
    if (verdict.kind === "valid") return userOf(verdict.claims, provider);
    note(verdict.kind === "invalid" ? verdict.reason : "its kid names none of the keys");
    return undefined;
  }

  #verify(token: string, provider: JwtProvider, appId: string): Promise<Verdict> {
    const { keys, issuer, audience = appId, algorithms } = provider;
    const demand = {
      audience,
      ...(algorithms && { algorithms }),
      ...(issuer !== undefined && { issuer }),
      nowMs: this.#host.now(),
      leewaySeconds: leewayOf(provider),
    };
    if ("secret" in keys) return verifyWithSecret(token, Buffer.from(keys.secret), demand);
    if ("jwksUrl" in keys) return this.#keySet(keys.jwksUrl).verify(token, demand);
    const known = this.#givenKeys.get(provider) ?? new PublicKeys(keys.jwks);
    this.#givenKeys.set(provider, known);
    return known.verify(token, demand);
  }

  #keySet(url: string): KeySet {
    const known = this.#keySets.get(url);
    if (known !== undefined) return known;
    if (this.#keySets.size >= KEY_SETS_MAX) this.#keySets.clear();
    const made = new KeySet(url, this.#host);
    this.#keySets.set(url, made);
    return made;
  }
}

/** The signature is valid, so errors in the claims may be disclosed. */
function userOf(claims: Claims, provider: JwtProvider): TokenUser {
  const { sub, permissions, exp } = claims;
  if (!isUserId(sub)) {
    throw unauthorized("expected the id of a user as claim `sub` of the token");
  }
  const own = userPermissions(permissions, provider);
  const caller = { userId: sub, claims };
  return {
    userId: sub,
    permissions: claimed("permissions", () => bindPermissions(own, caller)),
    identity: claimed(IDENTITY_METADATA, () => checkIdentity(claims[IDENTITY_METADATA])),
    expiresAt: exp,
  };
}

/** Permissions of a user, from the claim of its token or else from the provider. */
export function userPermissions(said: unknown, { permission }: JwtProvider): Permissions {
  if (said === undefined) {
    if (permission !== undefined) return permission;
    throw unauthorized("the token has no claim `permissions`, and its provider no permission");
  }
  return claimed("permissions", () => readPermissions(said, "permissions", { isOfUsers: true }));
}

function claimed<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    throw unauthorized(`the claim \`${name}\` of the token is not valid: ${error.message}`);
  }
}
