/**
 * JSON Web Tokens: signs the tokens of this server, and verifies tokens that are signed with a
 * secret or a key pair.
 *
 * The kind of key decides which algorithms are allowed, never the token (A6). So an unsigned token
 * is invalid, and so is one signed with a public key as if it were a secret.
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

/** Requirements that a token must meet. */
export interface TokenDemand {
  /** The token must name one of these. */
  readonly audience: string | readonly string[];
  /** Restricts the algorithms that the kind of key allows; default all of them. */
  readonly algorithms?: readonly string[];
  readonly issuer?: string;
  readonly nowMs: number;
  /** Allowed clock skew of the issuer. */
  readonly leewaySeconds: number;
}

export interface Claims {
  readonly [name: string]: unknown;
  /** Seconds since 1970; `verify` ensures that it exists and is finite. */
  readonly exp: number;
}

export type Verdict =
  | { readonly kind: "valid"; readonly claims: Claims }
  /** `reason` is for the log of the server only. */
  | { readonly kind: "invalid"; readonly reason: string }
  /** No key has the id that the token names. */
  | { readonly kind: "unknownKey" };

/** Claims that are not verified. Use them only to find the keys. */
export interface UnverifiedToken {
  readonly keyId: string | undefined;
  readonly issuer: string | undefined;
  readonly audiences: readonly string[];
}

/** Undefined when the text is not a JWT. */
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

/** Signs these claims, which include their times. */
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

/** Public keys of an issuer, which verify its tokens. */
export class PublicKeys {
  readonly #find: JWTVerifyGetKey;

  /** Throws when `jwks` is not a JWK set. */
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

/** Any error about an untrusted token makes it invalid. */
async function verify(
  token: string,
  key: KeyOrFinder,
  options: JWTVerifyOptions,
): Promise<Verdict> {
  try {
    const { payload } = await jwtVerify(token, key as JWTVerifyGetKey, options);
    // JSON numbers can overflow to Infinity.
    if (!Number.isFinite(payload.exp)) {
      return { kind: "invalid", reason: "its claim exp is no finite number" };
    }
    return { kind: "valid", claims: payload as Claims };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return { kind: "unknownKey" };
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) {
      return { kind: "invalid", reason: reasonOf(error) };
    }
    // The token does not name its key: try each that fits.
    for await (const candidate of error) {
      const verdict = await verify(token, candidate, options);
      if (verdict.kind === "valid") return verdict;
    }
    return { kind: "invalid", reason: "none of the keys that fit has signed it" };
  }
}

/** Maximum length of a reason; parts of it come from the token. */
const REASON_LENGTH_MAX = 200;

/** The library names the failed check and the claim, never the value of the claim. */
function reasonOf(error: unknown): string {
  if (!(error instanceof errors.JOSEError)) return "it could not be read";
  return error.message.slice(0, REASON_LENGTH_MAX);
}

function textOr(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
