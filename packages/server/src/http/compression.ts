/**
 * Compression: compresses response bodies with Brotli or gzip, off the main thread.
 *
 * Only a few run at once: each takes memory and one of the threads that also write to disk. Beyond
 * that, answers are sent uncompressed, which every client accepts.
 */

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { COMPRESSIONS_MAX } from "../limits/limits.ts";
import type { Coding } from "./negotiation.ts";

/** Below this size, compressing costs more than it saves. */
export const COMPRESSED_SIZE_MIN = 1024;

const COMPRESSIBLE =
  /^(?:text\/|image\/svg\+xml|application\/(?:json|cbor|javascript|yaml|openapi|[^;]*\+(?:json|xml|yaml)))/i;

export function isCompressible(contentType: string | undefined, bytes: Uint8Array): boolean {
  if (bytes.length < COMPRESSED_SIZE_MIN || contentType === undefined) return false;
  return COMPRESSIBLE.test(contentType);
}

export interface Compressed {
  readonly coding: Coding;
  readonly bytes: Uint8Array;
}

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify<Uint8Array, Buffer>(gzip);

let running = 0;

/** The coding of the result is `identity` when too many compressions are running. */
export async function compress(bytes: Uint8Array, coding: Coding): Promise<Compressed> {
  if (coding === "identity" || running >= COMPRESSIONS_MAX) return { coding: "identity", bytes };
  running++;
  try {
    const compressed =
      coding === "br"
        ? await compressBrotli(bytes, { params: brotliParams(bytes.length) })
        : await compressGzip(bytes);
    return { coding, bytes: compressed };
  } finally {
    running--;
  }
}

/** The window is no larger than the content: it costs memory that a small answer cannot use. */
function brotliParams(size: number): Record<number, number> {
  const window = Math.ceil(Math.log2(size + 16));
  return {
    [constants.BROTLI_PARAM_QUALITY]: 4,
    [constants.BROTLI_PARAM_SIZE_HINT]: size,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(window, BROTLI_WINDOW_MAX),
  };
}

/** Base-2 logarithm of 1 MiB. */
const BROTLI_WINDOW_MAX = 20;
