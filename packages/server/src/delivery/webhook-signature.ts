/**
 * Webhook signature: the headers of a delivery by the specification Standard Webhooks, with which a
 * receiver verifies that the body comes from this server and is not old.
 */

import { createHmac } from "node:crypto";
import { signingKey } from "../registry/webhook-secret.ts";

/** One signature for each secret, so that a receiver can change from one to the next. */
export function signatureHeaders(
  { id, payload }: { readonly id: string; readonly payload: string },
  secrets: readonly string[],
  seconds: number,
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const hmac = createHmac("sha256", signingKey(secret));
    return `v1,${hmac.update(`${id}.${seconds}.${payload}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
