/**
 * Repeat key: what `Idempotency-Key` stands for. Its scope is the app, the credential and the
 * operation; the digest is that of the body, so that a key is not used for two different requests.
 */

import { createHash } from "node:crypto";
import type { RepeatKey } from "@bigpeer/engine";
import { PeerError } from "@bigpeer/protocol";
import type { Headers } from "../http/answer.ts";
import { REPEAT_KEY_LENGTH_MAX } from "../limits.ts";
import type { DataApp, DataCall } from "./data-gate.ts";

/** What tells a client that its answer is that of an earlier request. */
export const REPEATED: Headers = { "idempotency-replayed": "true" };

/** Undefined when the request has no key. Throws `value.invalid` when it has a strange one. */
export function repeatKeyOf(call: DataCall<DataApp>, operation: string): RepeatKey | undefined {
  const { headers } = call.request;
  const given = headers["idempotency-key"];
  if (given === undefined) return undefined;
  const text = String(given);
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > REPEAT_KEY_LENGTH_MAX) {
    const message = `expected 1 to ${REPEAT_KEY_LENGTH_MAX} visible ASCII characters`;
    throw new PeerError("value.invalid", message, { at: "the header idempotency-key" });
  }
  const scope = JSON.stringify([call.credential.id, operation, text]);
  const name = createHash("sha256").update(scope).digest("hex");
  // The form, however it is spelt: the same bytes could mean something else in the other.
  const form = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  const digest = createHash("sha256").update(`${form}\n`).update(call.bytes).digest();
  return { name, digest: new Uint8Array(digest) };
}
