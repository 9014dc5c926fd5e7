/**
 * JSON Web Tokens made by hand: what others sign, right or wrong.
 */

import {
  constants,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from "node:crypto";
import type { ValueObject } from "@bigpeer/protocol";

export interface TokenParts {
  readonly header?: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

/** `sign` is given what is to be signed. */
export function tokenOf({ header, claims }: TokenParts, sign: (text: string) => Buffer): string {
  const text = `${encode({ typ: "JWT", ...header })}.${encode(claims)}`;
  return `${text}.${sign(text).toString("base64url")}`;
}

export function secretToken(
  claims: Record<string, unknown>,
  secret: string | Uint8Array,
  header: Record<string, unknown> = {},
): string {
  const sign = (text: string): Buffer => createHmac("sha256", secret).update(text).digest();
  return tokenOf({ header: { alg: "HS256", ...header }, claims }, sign);
}

export type KeyAlgorithm = "RS256" | "PS256" | "ES256" | "EdDSA";

export interface Signer {
  /** The public half, as it stands in a key set. */
  readonly jwk: ValueObject;
  readonly publicKey: KeyObject;
  token(claims: Record<string, unknown>, header?: Record<string, unknown>): string;
}

/** Somebody with a key pair of his own. */
export function signerWith(algorithm: KeyAlgorithm, keyId: string): Signer {
  const { publicKey, privateKey } = pairFor(algorithm);
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: keyId, use: "sig" } as ValueObject;
  return {
    jwk,
    publicKey,
    token: (claims, header = {}) =>
      tokenOf({ header: { alg: algorithm, kid: keyId, ...header }, claims }, (text) =>
        signText(algorithm, Buffer.from(text), privateKey),
      ),
  };
}

function pairFor(algorithm: KeyAlgorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  if (algorithm === "EdDSA") return generateKeyPairSync("ed25519");
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

function signText(algorithm: KeyAlgorithm, bytes: Buffer, key: KeyObject): Buffer {
  if (algorithm === "EdDSA") return signBytes(null, bytes, key);
  if (algorithm === "ES256") return signBytes("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });
  if (algorithm === "RS256") return signBytes("sha256", bytes, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return signBytes("sha256", bytes, { key, padding, saltLength: 32 });
}
