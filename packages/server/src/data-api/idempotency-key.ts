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
const REPLAYED: Headers = { "idempotency-replayed": "true" };

/** Undefined when the request has no key. Throws `value.invalid` for an invalid one. */
export function idempotencyKeyOf(
  call: DataCall<DataApp>,
  operation: string,
): IdempotencyKey | undefined {
  const { headers } = call.request;
  const given = headers["idempotency-key"];
  if (given === undefined) return passedKey(call, operation);
  const text = String(given);
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    const message = `expected 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`;
    throw new PeerError("value.invalid", message, { at: "the header idempotency-key" });
  }
  return keyOf(call, operation, text);
}

/** A node that passes a request on may send it again when the connection was lost. */
function passedKey(call: DataCall<DataApp>, operation: string): IdempotencyKey | undefined {
  const { passId } = call.request;
  if (passId === undefined) return undefined;
  // No key that a client chooses has a space in it.
  return { ...keyOf(call, operation, `passed ${passId}`), isOptional: true };
}

function keyOf(call: DataCall<DataApp>, operation: string, text: string): IdempotencyKey {
  const { headers } = call.request;
  const scope = JSON.stringify([call.credential.id, operation, text]);
  const name = createHash("sha256").update(scope).digest("hex");
  // The digest includes the format: the same bytes could mean something else in the other one.
  const form = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const digest = createHash("sha256").update(`${form}\n`).update(call.bytes).digest();
  return { name, digest: new Uint8Array(digest) };
}

/** The headers of an answer that may be one of an earlier request. */
export function replayHeaders(
  { request }: DataCall<DataApp>,
  isReplay: boolean,
): Headers | undefined {
  // A client does not know that its request was sent again.
  const isShown = isReplay && request.headers["idempotency-key"] !== undefined;
  return isShown ? REPLAYED : undefined;
}
