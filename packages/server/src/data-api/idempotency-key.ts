/**
 * Idempotency key: reads `Idempotency-Key` into the key under which an answer is stored (H41). Its
 * scope is the app, the credential and the operation. The digest of the body detects a key that is
 * reused for another request.
 */

import { createHash } from "node:crypto";
import type { IdempotencyKey } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import type { Headers } from "../http/answer.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../limits/limits.ts";
import type { DataApp, DataCall } from "./data-gate.ts";

/** Header that marks the answer of an earlier request. */
export const REPLAYED: Headers = { "idempotency-replayed": "true" };

/** Undefined when the request has no key. Throws `value.invalid` for an invalid one. */
export function idempotencyKeyOf(
  call: DataCall<DataApp>,
  operation: string,
): IdempotencyKey | undefined {
  const { headers } = call.request;
  const given = headers["idempotency-key"];
  if (given === undefined) return undefined;
  const text = String(given);
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    const message = `expected 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`;
    throw new PeerError("value.invalid", message, { at: "the header idempotency-key" });
  }
  const scope = JSON.stringify([call.credential.id, operation, text]);
  const name = createHash("sha256").update(scope).digest("hex");
  // The digest includes the format: the same bytes could mean something else in the other one.
  const form = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const digest = createHash("sha256").update(`${form}\n`).update(call.bytes).digest();
  return { name, digest: new Uint8Array(digest) };
}
