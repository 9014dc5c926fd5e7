/**
 * Answer: the response to a request before it is encoded. Its body is a value, which
 * answer-encoding.ts encodes in the format that the client prefers; bytes; or a stream, for content
 * that is not held in memory.
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
  /** Whether the request wrote something. Such an answer is sent even if it is too large. */
  readonly isApplied?: boolean;
  /** Field of the list's elements that is itself a long list; see value-bytes.ts. */
  readonly innerList?: string | undefined;
}

export type AnswerBody = { readonly kind: "value"; readonly value: Value } | Content;

/** Content as it goes over the wire; the headers describe it. */
export type Content = BytesContent | StreamContent | LiveContent;

export interface BytesContent {
  readonly kind: "bytes";
  readonly bytes: Uint8Array;
}

export interface StreamContent {
  readonly kind: "stream";
  readonly size: number;
  /** Called at most once. The caller reads the stream to its end or destroys it. */
  readonly open: () => Readable;
}

/** Content that arises while it is sent, without a known end. */
export interface LiveContent {
  readonly kind: "live";
  /** Called at most once: writes the content. When it resolves, the answer is over. Never rejects. */
  readonly run: (sink: LiveSink) => Promise<void>;
  /** Called instead of `run` when the answer is not sent. */
  readonly drop: () => void;
}

/** Where live content goes. */
export interface LiveSink {
  /** Resolves when the client has taken enough for more, or has left. */
  write(bytes: Buffer): Promise<void>;
  /** Whether the client has left. */
  readonly isOver: boolean;
  /** Calls `listener` when the client leaves; returns its removal. */
  onOver(listener: () => void): () => void;
}

/** Short text, which Node sends in one piece with the headers, unlike bytes. */
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

/** For answers without headers of their own, which is nearly all of them. */
export const NO_HEADERS: Headers = {};

export function createAnswer(status: number, value: Value, headers: Headers = NO_HEADERS): Answer {
  return { status, headers, body: { kind: "value", value } };
}

/** Creates an answer of bytes or a stream; `headers` must include the content type. */
export function contentAnswer(status: number, content: Content, headers: Headers): Answer {
  return { status, headers, body: content };
}

/** Sends the client to the same kind of request elsewhere; a relative location is best (proxies). */
export function redirectAnswer(location: string): Answer {
  const nothing: Content = { kind: "bytes", bytes: new Uint8Array() };
  return contentAnswer(308, nothing, { location, "cache-control": "no-cache" });
}

/** The same answer with one more header; `name` is in lower case. */
export function withHeader<A extends { readonly headers: Headers }>(
  answer: A,
  name: string,
  value: string,
): A {
  return { ...answer, headers: { ...answer.headers, [name]: value } };
}
