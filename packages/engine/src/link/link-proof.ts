/**
 * Link proof: the bytes that both sides of a link sign to prove that they know the secret (S48).
 */

import { canonicalBytes, SYNC_VERSION } from "@bigpeer/protocol";

export type LinkSide = "dial" | "accept";

export interface ProvenGreeting {
  readonly app: string;
  /** The side whose proof it is. */
  readonly side: LinkSide;
  /** Nonces of both sides. */
  readonly nonces: { readonly [side in LinkSide]: Uint8Array };
}

/** The input of the HMAC. */
export function linkProofBytes({ app, side, nonces }: ProvenGreeting): Uint8Array {
  return canonicalBytes(["bigpeer link", SYNC_VERSION, app, side, nonces.dial, nonces.accept]);
}
