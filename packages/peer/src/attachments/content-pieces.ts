/**
 * Content pieces: reads what an app gives as the content of an attachment, piece by piece.
 */

import { PeerError } from "@bigpeer/protocol";
import { kindOf } from "../argument-check.ts";

/**
 * The content of a new attachment: bytes, a `Blob` or `File`, a stream of the web or of Node, or on
 * Node the path of a file.
 *
 * @example
 * const content: AttachmentContent = new TextEncoder().encode("hello");
 * const token = await peer.attachments.create(content, { name: "hello.txt" });
 * console.log(token.len); // 5
 */
export type AttachmentContent =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | string;

/** Opens a file by its path; undefined where there are no paths. */
export type OpenPath = ((path: string) => AsyncIterable<Uint8Array>) | undefined;

/** Bytes that are passed on at once. */
const PIECE_BYTES = 1024 * 1024;

/** Throws PeerError `config.invalid` for what cannot be a content. */
export function piecesOf(content: unknown, openPath: OpenPath): AsyncIterable<Uint8Array> {
  if (typeof content === "string") {
    if (openPath !== undefined) return openPath(content);
    throw unknownContent("a text; encode it with TextEncoder");
  }
  if (content instanceof Uint8Array) return piecesOfBytes(content);
  if (content instanceof ArrayBuffer) return piecesOfBytes(new Uint8Array(content));
  if (content instanceof Blob) return piecesOfBlob(content);
  if (isStream(content)) {
    if (content.locked) throw unknownContent("a stream that another reader has");
    return piecesOfStream(content);
  }
  if (isIterable(content)) return checkedPieces(content);
  throw unknownContent(kindOf(content));
}

async function* piecesOfBytes(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.subarray(from, from + PIECE_BYTES);
  }
}

/** In slices: its own stream holds all of it in memory in some browsers. */
async function* piecesOfBlob(blob: Blob): AsyncIterable<Uint8Array> {
  for (let from = 0; from < blob.size; from += PIECE_BYTES) {
    yield new Uint8Array(await blob.slice(from, from + PIECE_BYTES).arrayBuffer());
  }
}

/** Not every browser can iterate a stream. */
async function* piecesOfStream(stream: ReadableStream<unknown>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOver = done;
      if (done) return;
      yield checkPiece(value);
    }
  } finally {
    if (!isOver) await reader.cancel();
    reader.releaseLock();
  }
}

async function* checkedPieces(pieces: AsyncIterable<unknown>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) yield checkPiece(piece);
}

function checkPiece(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  throw unknownContent(`a stream of ${kindOf(piece)}`);
}

function isStream(content: unknown): content is ReadableStream<unknown> {
  return typeof (content as { getReader?: unknown } | null)?.getReader === "function";
}

function isIterable(content: unknown): content is AsyncIterable<unknown> {
  const iterator = (content as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator];
  return typeof iterator === "function";
}

function unknownContent(found: string): PeerError {
  const expected = "bytes, a Blob, a stream of bytes or, on Node, a path";
  const message = `expected ${expected} as the content of an attachment, found ${found}`;
  return new PeerError("config.invalid", message);
}
