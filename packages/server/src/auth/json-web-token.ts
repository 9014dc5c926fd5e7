/**
 * JSON Web Tokens: signed by this server with a secret, or by somebody else with a secret or a key
 * pair. Only what is verified here is believed.
 *
 * Which algorithms count is decided by the kind of key, never by the token: so a token without a
 * signature, or one that was signed with a public key as if it were a secret, is not valid.
 */

import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from "jose";
import type { SessionKey } from "../registry/app.ts";

const SECRET_ALGORITHMS = ["HS256"];
const PUBLIC_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

/** What a token must say. */
export interface TokenDemand {
  /** One of these. */
  readonly audience: string | readonly string[];
  /** Fewer than the kind of key allows; all of them where it is left out. */
  readonly algorithms?: readonly string[];
  readonly issuer?: string;
  readonly nowMs: number;
  /** How much the clock of whoever signed may differ. */
  readonly leewaySeconds: number;
}

export interface Claims {
  readonly [name: string]: unknown;
  /** Seconds since 1970: always there and finite, see verify(). */
  readonly exp: number;
}

export type Verdict =
  | { readonly kind: "valid"; readonly claims: Claims }
  /** `reason`: for the log of the server, and for nobody outside. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** None of the keys is the one that the token names. */
  | { readonly kind: "unknownKey" };

/** What a token says of itself. Good for finding the keys, and for nothing else. */
export interface UnverifiedToken {
  readonly keyId: string | undefined;
  readonly issuer: string | undefined;
  readonly audiences: readonly string[];
}

/** Undefined when the text is no token. */
export function peekToken(token: string): UnverifiedToken | undefined {
  try {
    const { kid } = decodeProtectedHeader(token);
    const { iss, aud = [] } = decodeJwt(token);
    const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === "string");
    return { keyId: textOr(kid), issuer: textOr(iss), audiences };
  } catch {
    return undefined;
  }
}

/** A token with these claims, which name their times themselves. */
export function signToken(claims: Claims, { id, secret }: SessionKey): Promise<string> {
  const header = { alg: "HS256", typ: "JWT", kid: id };
  return new SignJWT(claims).setProtectedHeader(header).sign(secret);
}

export function verifyWithSecret(
  token: string,
  secret: Uint8Array,
  demand: TokenDemand,
): Promise<Verdict> {
  return verify(token, secret, optionsOf(demand, SECRET_ALGORITHMS));
}

/** The public keys of somebody who signs tokens. */
export class PublicKeys {
  readonly #find: JWTVerifyGetKey;

  /** Throws when it is no set of keys at all. */
  constructor(jwks: unknown) {
    this.#find = createLocalJWKSet(jwks as JSONWebKeySet);
  }

  verify(token: string, demand: TokenDemand): Promise<Verdict> {
    return verify(token, this.#find, optionsOf(demand, PUBLIC_ALGORITHMS));
  }
}

function optionsOf(demand: TokenDemand, fitting: readonly string[]): JWTVerifyOptions {
  const { audience, algorithms = fitting, issuer, nowMs, leewaySeconds } = demand;
  return {
    algorithms: fitting.filter((name) => algorithms.includes(name)),
    audience: typeof audience === "string" ? audience : [...audience],
    ...(issuer !== undefined && { issuer }),
    requiredClaims: ["exp"],
    clockTolerance: leewaySeconds,
    currentDate: new Date(nowMs),
  };
}

type KeyOrFinder = Parameters<typeof jwtVerify>[1] | JWTVerifyGetKey;

/** Whatever goes wrong with what a stranger has sent, it is not valid. */
async function verify(
  token: string,
  key: KeyOrFinder,
  options: JWTVerifyOptions,
): Promise<Verdict> {
  try {
    const { payload } = await jwtVerify(token, key as JWTVerifyGetKey, options);
    // JSON has numbers beyond all numbers.
    if (!Number.isFinite(payload.exp)) {
      return { kind: "invalid", reason: "its claim exp is no finite number" };
    }
    return { kind: "valid", claims: payload as Claims };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return { kind: "unknownKey" };
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) {
      return { kind: "invalid", reason: reasonOf(error) };
    }
    // A token that does not name its key: one of those that fit may be it.
    for await (const candidate of error) {
      const verdict = await verify(token, candidate, options);
      if (verdict.kind === "valid") return verdict;
    }
    return { kind: "invalid", reason: "none of the keys that fit has signed it" };
  }
}

/** Characters of a reason: parts of it come from the token. */
const REASON_LENGTH_MAX = 200;

/** The library says which check failed, and of which claim, never what the claim is. */
function reasonOf(error: unknown): string {
  if (!(error instanceof errors.JOSEError)) return "it could not be read";
  return error.message.slice(0, REASON_LENGTH_MAX);
}

function textOr(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
