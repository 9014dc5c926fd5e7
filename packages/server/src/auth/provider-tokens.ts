/**
 * Tokens of `jwt` providers: signed by somebody whom an app trusts. They open the data API as they
 * are, or are exchanged for a session.
 */

import { bindPermissions, type Permissions, readPermissions } from "@bigpeer/engine";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import type { JwtProvider } from "../registry/auth-provider.ts";
import { checkIdentity, IDENTITY_METADATA } from "./identity-metadata.ts";
import { type Claims, PublicKeys, type Verdict, verifyWithSecret } from "./json-web-token.ts";
import { KeySet, type KeySetHost } from "./key-set.ts";
import { unauthorized } from "./unauthorized.ts";

/** How much the clock of whoever signs may differ from ours, unless the provider says so. */
const LEEWAY_SECONDS = 60;

export function leewayOf({ clockTolerance = LEEWAY_SECONDS }: JwtProvider): number {
  return clockTolerance;
}

/** Told why a token was not taken: for the log, never for whoever has sent it. */
export type NoteReason = (reason: string) => void;

/** Key sets at URLs that are remembered. */
const KEY_SETS_MAX = 1_000;

/** Characters of a user's id. */
export const USER_ID_LENGTH_MAX = 1_024;

/** Users are told apart by their ids; lone surrogates would all be written in the same way. */
export function isUserId(id: unknown): id is string {
  return (
    typeof id === "string" && id !== "" && id.length <= USER_ID_LENGTH_MAX && id.isWellFormed()
  );
}

export interface TokenUser {
  readonly userId: string;
  readonly permissions: Permissions;
  /** What the issuer says of him beside it. */
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
  /** Keys that were given with their provider, ready for use. */
  readonly #givenKeys = new WeakMap<JwtProvider, PublicKeys>();

  constructor(host: ProviderTokensHost) {
    this.#host = host;
  }

  /**
   * Undefined when the token is not one of this provider for the app `appId`. Throws a Refusal: 401
   * when it is, and says nothing that could be used; 503 when the keys cannot be had.
   */
  async verify(
    token: string,
    provider: JwtProvider,
    appId: string,
    note: NoteReason = () => {},
  ): Promise<TokenUser | undefined> {
    const verdict = await this.#judge(token, provider, appId);
    if (verdict.kind === "valid") return userOf(verdict.claims, provider);
    note(verdict.kind === "invalid" ? verdict.reason : "its kid names none of the keys");
    return undefined;
  }

  #judge(token: string, provider: JwtProvider, appId: string): Promise<Verdict> {
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

/** The signature is good: so what is wrong with the rest may be told. */
function userOf(claims: Claims, provider: JwtProvider): TokenUser {
  const { sub, permissions, exp } = claims;
  if (!isUserId(sub)) {
    throw unauthorized("expected the id of a user as claim `sub` of the token");
  }
  const own = permissionsOf(permissions, provider);
  const caller = { userId: sub, claims };
  return {
    userId: sub,
    permissions: claimed("permissions", () => bindPermissions(own, caller)),
    identity: claimed(IDENTITY_METADATA, () => checkIdentity(claims[IDENTITY_METADATA])),
    expiresAt: exp,
  };
}

function permissionsOf(said: unknown, { permission }: JwtProvider): Permissions {
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
