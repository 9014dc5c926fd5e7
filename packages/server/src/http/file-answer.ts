/**
 * File answer: sends a file from disk, or the range of it that the client asks for, without holding
 * it in memory.
 */

import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { type Answer, type Content, contentAnswer, type Headers } from "./answer.ts";
import { byteRange } from "./byte-range.ts";
import { isNamedBy } from "./entity-tag.ts";
import { type FileGuard, type FilePart, guardedFile } from "./guarded-file.ts";
import type { HttpRequest } from "./http-request.ts";
import { Refusal } from "./refusal.ts";

export interface SentFile {
  readonly path: string;
  readonly size: number;
  /** What it is, in a message: `the attachment`. */
  readonly what: string;
  /** Of all answers, with the entity tag. */
  readonly kept: Headers & { readonly etag: string };
  /** Of answers with content, with its type. */
  readonly described: Headers;
  /** Asked while the file is sent whether to go on; absent, it is sent without checks. */
  readonly guard?: FileGuard;
}

const NOTHING: Content = { kind: "bytes", bytes: new Uint8Array() };

export function fileAnswer(
  { path, size, what, kept, described, guard }: SentFile,
  { method, headers: asked }: Pick<HttpRequest, "method" | "headers">,
): Answer {
  const { etag } = kept;
  if (isNamedBy(asked["if-none-match"], etag)) return contentAnswer(304, NOTHING, kept);
  const headers: Headers = { ...kept, ...described, "accept-ranges": "bytes" };
  const ifRange = asked["if-range"];
  // Ranges apply to GET only.
  const isPartWanted = method === "GET" && (ifRange === undefined || ifRange === etag);
  const range = byteRange(isPartWanted ? asked.range : undefined, size);
  if (range.kind === "unsatisfiable") {
    const message = `expected a range within the ${size} bytes of ${what}`;
    throw new Refusal(416, message, { "content-range": `bytes */${size}` });
  }
  const { start, end } = range.kind === "whole" ? { start: 0, end: size - 1 } : range;
  const content = fileContent({ path, start, end }, guard);
  if (range.kind === "whole") return contentAnswer(200, content, headers);
  const part = { ...headers, "content-range": `bytes ${start}-${end}/${size}` };
  return contentAnswer(206, content, part);
}

function fileContent(part: FilePart, guard: FileGuard | undefined): Content {
  const { path, start, end } = part;
  const size = end - start + 1;
  if (size === 0) return NOTHING;
  const open = (): Readable =>
    guard === undefined ? createReadStream(path, { start, end }) : guardedFile(part, guard);
  return { kind: "stream", size, open };
}
