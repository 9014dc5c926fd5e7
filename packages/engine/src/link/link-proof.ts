/**
 * What both sides of a link sign to prove that they know the replication secret (S48).
 */

import { canonicalBytes, SYNC_VERSION } from "@bigpeer/protocol";

export type LinkSide = "dial" | "accept";

export interface ProvenGreeting {
  readonly app: string;
  /** Whose proof it is. */
  readonly side: LinkSide;
  /** Of the one who dialled, and of the other. */
  readonly nonces: { readonly [side in LinkSide]: Uint8Array };
}

/** The bytes over which the HMAC is made. */
export function linkProofBytes({ app, side, nonces }: ProvenGreeting): Uint8Array {
  return canonicalBytes(["bigpeer link", SYNC_VERSION, app, side, nonces.dial, nonces.accept]);
}
