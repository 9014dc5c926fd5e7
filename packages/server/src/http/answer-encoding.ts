/**
 * Answer encoder: turns an answer into the bytes of an HTTP response. It writes JSON or CBOR as
 * `Accept` prefers, and compresses what is long enough when `Accept-Encoding` allows it (H33, H34).
 */

import type { IncomingHttpHeaders } from "node:http";
import { type Answer, type EncodedAnswer, type Headers, NO_HEADERS } from "./answer.ts";
import { COMPRESSED_SIZE_MIN, compress, isCompressible } from "./compression.ts";
import { compressLive } from "./live-answer.ts";
import { type AnswerForm, acceptsGzip, chooseCoding, chooseForm } from "./negotiation.ts";
import { BOUNDS, NO_BOUNDS, writeValue } from "./value-bytes.ts";

export interface EncodingRequest {
  readonly headers: IncomingHttpHeaders;
  /** Whether the answer is JSON whatever the client accepts. */
  readonly isJsonOnly: boolean;
}

/** Returns a promise only when it has to wait. Throws `query.too_large` beyond the bound (H42). */
export function encodeAnswer(
  answer: Answer,
  { headers: asked, isJsonOnly }: EncodingRequest,
): EncodedAnswer | Promise<EncodedAnswer> {
  const { status, headers, body } = answer;
  if (body.kind === "live") {
    const live = acceptsGzip(asked["accept-encoding"]) ? compressLive(body) : undefined;
    if (live === undefined) return { status, headers, content: body };
    return { status, headers: { ...headers, "content-encoding": "gzip" }, content: live };
  }
  if (body.kind === "stream") return { status, headers, content: body };
  if (body.kind === "bytes") {
    const own = isCompressible(headers["content-type"], body.bytes)
      ? withVary(headers, "accept-encoding")
      : headers;
    return sendable({ status, headers: own }, body.bytes, asked);
  }
  const form = isJsonOnly ? "json" : chooseForm(asked.accept);
  const head = { status, headers: valueHeaders(headers, form, isJsonOnly) };
  const { isApplied, innerList } = answer;
  const bounds = isApplied === true ? NO_BOUNDS : BOUNDS;
  const inner = innerList === undefined ? bounds : { ...bounds, innerList };
  const written = writeValue(body.value, form, inner);
  if (written instanceof Promise) return written.then((bytes) => sendable(head, bytes, asked));
  if (typeof written !== "string") return sendable(head, written, asked);
  const size = Buffer.byteLength(written);
  if (size >= COMPRESSED_SIZE_MIN) return sendable(head, Buffer.from(written), asked);
  return { status, headers: head.headers, content: { kind: "text", text: written, size } };
}

/** `headers` with one more name in `vary`. */
export function withVary(headers: Headers, name: string): Headers {
  const { vary } = headers;
  return { ...headers, vary: vary === undefined ? name : `${vary}, ${name}` };
}

const JSON_ONLY_HEADERS: Headers = { "content-type": "application/json", vary: "accept-encoding" };

/** By the form that was chosen. */
const FORM_HEADERS: { readonly [form in AnswerForm]: Headers } = {
  json: { "content-type": "application/json", vary: "accept, accept-encoding" },
  cbor: { "content-type": "application/cbor", vary: "accept, accept-encoding" },
};

/** All answers without headers of their own share one object: Cors caches what it makes of it. */
function valueHeaders(headers: Headers, form: AnswerForm, isJsonOnly: boolean): Headers {
  const base = isJsonOnly ? JSON_ONLY_HEADERS : FORM_HEADERS[form];
  if (headers === NO_HEADERS) return base;
  const all = { ...base, ...headers };
  return headers["vary"] === undefined ? all : withVary(all, base["vary"] ?? "");
}

type Head = Pick<EncodedAnswer, "status" | "headers">;

function sendable(
  head: Head,
  bytes: Uint8Array,
  asked: IncomingHttpHeaders,
): EncodedAnswer | Promise<EncodedAnswer> {
  const { headers } = head;
  if (isCompressible(headers["content-type"], bytes) && !isFixed(headers)) {
    const coding = chooseCoding(asked["accept-encoding"]);
    if (coding !== "identity") {
      return compress(bytes, coding).then((compressed) =>
        compressed.coding === "identity"
          ? withBytes(head, bytes)
          : withBytes({ ...head, headers: codedHeaders(headers, coding) }, compressed.bytes),
      );
    }
  }
  return withBytes(head, bytes);
}

/** Whether the bytes are already compressed, or are a range of an uncompressed whole. */
function isFixed(headers: Headers): boolean {
  return headers["content-encoding"] !== undefined || headers["content-range"] !== undefined;
}

/** A strong entity tag names exact bytes. The compressed bytes differ, so the tag becomes weak. */
function codedHeaders(headers: Headers, coding: string): Headers {
  const { etag } = headers;
  const coded = { ...headers, "content-encoding": coding };
  return etag === undefined || etag.startsWith("W/") ? coded : { ...coded, etag: `W/${etag}` };
}

function withBytes({ status, headers }: Head, bytes: Uint8Array): EncodedAnswer {
  return { status, headers, content: { kind: "bytes", bytes } };
}
