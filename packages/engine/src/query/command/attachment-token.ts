/**
 * Attachment tokens in commands: a document may only refer to content that is here.
 */

import { isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { transactionOf } from "../mutate/application.ts";
import { requireAttachment } from "../mutate/judged-write.ts";
import { isToken } from "../mutate/write-type.ts";
import type { Execution } from "../run/execution.ts";
import { describeType } from "../value/mismatch.ts";

export interface AttachmentToken {
  /** `{id, len, metadata}` */
  readonly value: ValueObject;
  /** Where it stands in the request. */
  readonly at: string;
}

/** A token as an upload answers it; without metadata, or with null, it gets none. */
export function attachmentToken(value: Value, at: string): AttachmentToken {
  const token = isObject(value) ? { ...value, metadata: value["metadata"] ?? {} } : value;
  if (!isObject(token) || !isToken(token)) {
    const found = isObject(token) ? "another object" : describeType(token);
    const expected = "a token {id: text, len: integer, metadata: object of text}";
    throw new PeerError("attachment.invalid", `expected ${expected}, found ${found}`, { at });
  }
  return { value: token, at };
}

/** Refuses a token of content that was not uploaded, or that is of another length. */
export function checkUploaded({ value, at }: AttachmentToken, execution: Execution): void {
  const { id, len } = value as { readonly id: string; readonly len: number | bigint };
  const { view } = transactionOf(execution);
  // First: who may not refer to it is not told whether it is here.
  requireAttachment(id, execution);
  const known = view.attachment(id);
  if (known === undefined) {
    const message = "expected the id of content that was uploaded";
    throw new PeerError("attachment.invalid", message, { at: `${at}.id` });
  }
  if (known.len !== len) {
    const message = `expected the length of the content, ${known.len}, found ${len}`;
    throw new PeerError("attachment.invalid", message, { at: `${at}.len` });
  }
}
