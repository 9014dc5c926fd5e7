/**
 * Attachments of a real server, as a client sees them. Every answer is held to the OpenAPI document.
 */

import { createHash } from "node:crypto";
import { decodeCbor, parseJson, type Value } from "@bigpeer/protocol";
import { expectValidAnswer } from "./answer-schema.ts";
import type { DataApi } from "./data-api.ts";

export interface AttachmentReply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** Decoded by its content type; undefined where that is of neither form. */
  readonly body: Value | undefined;
}

export type SentBody = NonNullable<RequestInit["body"]>;

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: SentBody;
  readonly prefix?: string;
}

/** Proof that a caller has a content. */
export function proofOf(bytes: Uint8Array): string {
  return idOf(Buffer.concat([bytes, Buffer.from("bigpeer possession")]));
}

/** The id that a content must have. */
export function idOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

export function formOf(...contents: readonly Uint8Array[]): FormData {
  const form = new FormData();
  for (const content of contents) form.append("file", new Blob([content]), "a.bin");
  return form;
}

/** Sends to a path after the version, with the credential unless `headers` has another. */
export async function sendTo(
  api: DataApi,
  path: string,
  { headers = {}, prefix = "/api/v4", ...init }: Sent = {},
): Promise<AttachmentReply> {
  const response = await fetch(api.server.url + prefix + path, {
    headers: { authorization: `Bearer ${api.quickstart.apiKey}`, ...headers },
    ...init,
    ...(init.body instanceof ReadableStream && ({ duplex: "half" } as object)),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = bytes.length === 0 ? null : response.headers.get("content-type");
  const reply = { status: response.status, headers: response.headers, bytes };
  if (type === "application/json") {
    return { ...reply, body: parseJson(new TextDecoder().decode(bytes)) };
  }
  return { ...reply, body: type === "application/cbor" ? decodeCbor(bytes) : undefined };
}

export async function upload(
  api: DataApi,
  body: SentBody,
  sent: Sent = {},
): Promise<AttachmentReply> {
  const reply = await sendTo(api, "/attachments/upload", { method: "POST", body, ...sent });
  expectValidAnswer({ operation: "upload_attachment", ...reply });
  return reply;
}

/** Uploads a content that must be taken. Returns its token. */
export async function uploaded(
  api: DataApi,
  content: Uint8Array,
): Promise<{ id: string; len: number }> {
  const { status, body } = await upload(api, formOf(content));
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as { id: string; len: number };
}

export async function download(
  api: DataApi,
  id: string,
  { method = "GET", ...sent }: Sent = {},
): Promise<AttachmentReply> {
  const reply = await sendTo(api, `/attachments/${id}`, { method, ...sent });
  const operation = method === "HEAD" ? "head_attachment" : "download_attachment";
  expectValidAnswer({ operation, ...reply });
  return reply;
}

/** Begins or continues an upload in parts. */
export async function beginUpload(
  api: DataApi,
  id: string,
  body: unknown,
  { headers = {}, ...sent }: Sent = {},
): Promise<AttachmentReply> {
  const reply = await sendTo(api, `/attachments/${id}/upload`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...sent,
  });
  expectValidAnswer({ operation: "begin_upload", ...reply });
  return reply;
}

/** Sends the next part of an upload; headers that are given replace those of the part. */
export async function continueUpload(
  api: DataApi,
  id: string,
  { offset, len, part }: { offset: number; len: number; part: SentBody },
  { headers = {}, ...sent }: Sent = {},
): Promise<AttachmentReply> {
  const reply = await sendTo(api, `/attachments/${id}/upload`, {
    method: "PATCH",
    headers: {
      "content-type": "application/octet-stream",
      "upload-offset": String(offset),
      "upload-length": String(len),
      ...headers,
    },
    body: part,
    ...sent,
  });
  expectValidAnswer({ operation: "continue_upload", ...reply });
  return reply;
}
