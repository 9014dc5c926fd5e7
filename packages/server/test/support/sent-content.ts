/**
 * What an answer sends, for tests that look at it before it is on the wire.
 */

import { assert } from "@bigpeer/protocol";
import type { EncodedAnswer } from "../../src/http/answer.ts";

type Content = EncodedAnswer["content"];

export function bytesOf(content: Content): Uint8Array {
  assert(content.kind !== "stream" && content.kind !== "live", "bytes or a text, not a stream");
  return content.kind === "text" ? Buffer.from(content.text) : content.bytes;
}

export function textOf(content: Content): string {
  return Buffer.from(bytesOf(content)).toString();
}

export function jsonOf(content: Content): unknown {
  return JSON.parse(textOf(content));
}
