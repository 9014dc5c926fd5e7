/**
 * Content file: reads the file that an app attaches.
 */

import { createReadStream } from "node:fs";
import { PeerError } from "@bigpeer/protocol";

/** Bytes that are read at once. */
const PIECE_BYTES = 1024 * 1024;

/** Rejects with PeerError `config.invalid` if the file cannot be read. */
export async function* openPath(path: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: PIECE_BYTES });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `expected a file that can be read as the content of an attachment: ${reason}`;
    throw new PeerError("config.invalid", message, { cause });
  }
}
