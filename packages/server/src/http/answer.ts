/**
 * Answer: what a request gets back. As a value, whose form the client chooses; as bytes; or as a
 * stream, for content that is not held in memory. answer-encoding.ts makes a value bytes.
 */

import type { Readable } from "node:stream";
import type { Value } from "@bigpeer/protocol";

export interface Headers {
  /** Names in lower case. */
  readonly [name: string]: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnswerBody;
  /** Something was written: it is too late to refuse an answer that is too large. */
  readonly isApplied?: boolean;
  /** The field of the elements of its list that is a long list itself, see value-bytes.ts. */
  readonly innerList?: string | undefined;
}

export type AnswerBody = { readonly kind: "value"; readonly value: Value } | Content;

/** What goes over the wire; the headers say what it is. */
export type Content = BytesContent | StreamContent;

export interface BytesContent {
  readonly kind: "bytes";
  readonly bytes: Uint8Array;
}

export interface StreamContent {
  readonly kind: "stream";
  readonly size: number;
  /** Called at most once; whoever calls it reads to the end or destroys it. */
  readonly open: () => Readable;
}

/** A short text: Node sends it in one piece with the headers, which bytes are not. */
export interface TextContent {
  readonly kind: "text";
  readonly text: string;
  /** In bytes. */
  readonly size: number;
}

export interface EncodedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly content: Content | TextContent;
}

/** What nearly all answers have of their own. */
export const NO_HEADERS: Headers = {};

export function createAnswer(status: number, value: Value, headers: Headers = NO_HEADERS): Answer {
  return { status, headers, body: { kind: "value", value } };
}

/** An answer in bytes or as a stream; `headers` must have its content type. */
export function contentAnswer(status: number, content: Content, headers: Headers): Answer {
  return { status, headers, body: content };
}
