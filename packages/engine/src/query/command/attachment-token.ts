/**
 * Attachment tokens in write commands: checks that a token is well formed and that its content was
 * uploaded. A document may only refer to content that this store has.
 */

import { isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { attachmentOf } from "../../store/attachment-view.ts";
import { transactionOf } from "../mutate/application.ts";
import { isToken } from "../mutate/write-type.ts";
import type { Execution } from "../run/execution.ts";
import { describeType } from "../value/mismatch.ts";

export interface AttachmentToken {
  /** `{id, len, metadata}` */
  readonly value: ValueObject;
  /** Position in the request, for errors. */
  readonly at: string;
}

/** Checks the shape of a token as an upload returns it. Absent or null metadata becomes `{}`. */
export function attachmentToken(value: Value, at: string): AttachmentToken {
  const token = isObject(value) ? { ...value, metadata: value["metadata"] ?? {} } : value;
  if (!isObject(token) || !isToken(token)) {
    const found = isObject(token) ? "another object" : describeType(token);
    const expected = "a token {id: text, len: integer, metadata: object of text}";
    throw new PeerError("attachment.invalid", `expected ${expected}, found ${found}`, { at });
  }
  return { value: token, at };
}

/** Throws if the content was not uploaded or has another length. */
export function checkUploaded({ value, at }: AttachmentToken, execution: Execution): void {
  const { id, len } = value as { readonly id: string; readonly len: number | bigint };
  const { view } = transactionOf(execution);
  // Checked first: a caller without permission must not learn whether the content exists.
  execution.checker?.requireAttachment(id, view);
  const known = attachmentOf(view, id);
  if (known === undefined) {
    const message = "expected the id of content that was uploaded";
    throw new PeerError("attachment.invalid", message, { at: `${at}.id` });
  }
  if (known.len !== len) {
    const message = `expected the length of the content, ${known.len}, found ${len}`;
    throw new PeerError("attachment.invalid", message, { at: `${at}.len` });
  }
}
