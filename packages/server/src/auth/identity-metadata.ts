/**
 * Identity metadata: what a provider says of a user beside who he is and what he may do. Whoever asks
 * connected peers may choose them by it; nobody gets a permission from it.
 */

import {
  checkValue,
  isObject,
  PeerError,
  parseJson,
  stringifyJson,
  type ValueObject,
} from "@bigpeer/protocol";
import { IDENTITY_SIZE_MAX } from "../limits.ts";

/** The name of the field in answers of webhooks, and of the claim in tokens. */
export const IDENTITY_METADATA = "identityServiceMetadata";

/** Throws PeerError `value.invalid`. Undefined when nothing was said. */
export function checkIdentity(said: unknown): ValueObject | undefined {
  if (said === undefined || said === null) return undefined;
  const value = checkValue(said, IDENTITY_METADATA);
  if (!isObject(value)) throw invalid("an object");
  // It stands in the token of a session, which comes with every request.
  if (Buffer.byteLength(stringifyJson(value)) > IDENTITY_SIZE_MAX) {
    throw invalid(`at most ${IDENTITY_SIZE_MAX} bytes of JSON`);
  }
  return value;
}

/** As our own tokens carry it: text, because their numbers have no 64 bits. */
export function identityClaim(identity: ValueObject | undefined): string | undefined {
  return identity === undefined ? undefined : stringifyJson(identity);
}

/** The way back. */
export function identityOfClaim(claim: unknown): ValueObject | undefined {
  return typeof claim === "string" ? checkIdentity(parseJson(claim)) : undefined;
}

function invalid(expected: string): PeerError {
  return new PeerError("value.invalid", `expected ${expected} at ${IDENTITY_METADATA}`);
}
