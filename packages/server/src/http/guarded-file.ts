/**
 * Guarded file: sends a part of a file, and asks before each piece whether to go on, because the
 * right to read it may end meanwhile.
 */

import { open } from "node:fs/promises";
import { Readable } from "node:stream";

/** Bytes from `start` to `end`, both included. */
export interface FilePart {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

export interface FileGuard {
  /** Called before each piece. The connection ends if it resolves with false. */
  readonly mayGoOn: () => Promise<boolean>;
  /** Called with the size of each chunk. */
  readonly onSent: (bytes: number) => void;
  /** Called once if not all of it was sent. `cut`: the client disconnected. */
  readonly onEnded: (reason: "cut" | "rights" | "failed") => void;
}

/** Bytes that are sent after one check. */
export const GUARDED_SIZE: number = 1024 * 1024;

/** Bytes that are read at once. */
const CHUNK_SIZE: number = 128 * 1024;

/** Ends an answer whose client may no longer have the rest. */
export class SendingEnded extends Error {}

export function guardedFile(part: FilePart, guard: FileGuard): Readable {
  return Readable.from(chunksOf(part, guard), { objectMode: false });
}

async function* chunksOf(part: FilePart, guard: FileGuard): AsyncGenerator<Uint8Array> {
  let reason: "cut" | "rights" | "failed" | undefined = "cut";
  try {
    for await (const chunk of readChunks(part, guard)) {
      guard.onSent(chunk.length);
      yield chunk;
    }
    reason = undefined;
  } catch (error) {
    reason = error instanceof SendingEnded ? "rights" : "failed";
    throw error;
  } finally {
    if (reason !== undefined) guard.onEnded(reason);
  }
}

/** Ends early if the file is shorter. */
async function* readChunks(
  { path, start, end }: FilePart,
  guard: FileGuard,
): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (let piece = start; piece <= end; piece += GUARDED_SIZE) {
      if (!(await guard.mayGoOn())) throw new SendingEnded("the caller may read no more of it");
      const pieceEnd = Math.min(end + 1, piece + GUARDED_SIZE);
      for (let at = piece; at < pieceEnd; ) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_SIZE, pieceEnd - at));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
    }
  } finally {
    await file.close();
  }
}
