/**
 * Webhook secret: the key that signs deliveries, in the form of Standard Webhooks: `whsec_` and 24
 * to 64 bytes in base64.
 */

import { RegistryFault } from "./registry-fault.ts";

const PREFIX = "whsec_";
const BYTES_MIN = 24;
const BYTES_MAX = 64;
const BYTES_DRAWN = 32;

export function drawSigningSecret(random: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(random(BYTES_DRAWN)).toString("base64");
}

/** Throws InvalidRequest, without the secret, when it has another form. */
export function checkSigningSecret(secret: string): void {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const bytes = Buffer.from(text, "base64");
  const isCanonical = bytes.toString("base64") === text;
  if (isCanonical && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX) return;
  const expected = `${PREFIX} and ${BYTES_MIN} to ${BYTES_MAX} bytes in base64`;
  throw new RegistryFault("InvalidRequest", `expected ${expected} at secret`);
}

/** The bytes that sign. */
export function signingKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(PREFIX.length), "base64");
}
