/**
 * Identity metadata: attributes of a user from the auth provider, beside its id and permissions.
 * Remote statements select connected peers by them. They grant no permissions (A22).
 */

import {
  checkValue,
  isObject,
  PeerError,
  parseJson,
  stringifyJson,
  type ValueObject,
} from "@bigpeer/protocol";
import { IDENTITY_SIZE_MAX } from "../limits/limits.ts";

/** The name of the field in answers of webhooks, and of the claim in tokens. */
export const IDENTITY_METADATA = "identityServiceMetadata";

/** Throws PeerError `value.invalid`. Undefined when there is none. */
export function checkIdentity(said: unknown): ValueObject | undefined {
  if (said === undefined || said === null) return undefined;
  const value = checkValue(said, IDENTITY_METADATA);
  if (!isObject(value)) throw invalid("an object");
  // It is part of the session token, which comes with every request.
  if (Buffer.byteLength(stringifyJson(value)) > IDENTITY_SIZE_MAX) {
    throw invalid(`at most ${IDENTITY_SIZE_MAX} bytes of JSON`);
  }
  return value;
}

/** Encodes it as text for our own tokens, because numbers in JWTs lack 64 bits. */
export function identityClaim(identity: ValueObject | undefined): string | undefined {
  return identity === undefined ? undefined : stringifyJson(identity);
}

/** Decodes the result of `identityClaim`. */
export function identityOfClaim(claim: unknown): ValueObject | undefined {
  return typeof claim === "string" ? checkIdentity(parseJson(claim)) : undefined;
}

function invalid(expected: string): PeerError {
  return new PeerError("value.invalid", `expected ${expected} at ${IDENTITY_METADATA}`);
}
