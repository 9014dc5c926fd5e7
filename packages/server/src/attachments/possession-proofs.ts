/**
 * Possession proofs: a caller proves that it has a content without sending it. The proof is the
 * SHA-256 of the content followed by a fixed text, so the id alone does not give it (H55).
 *
 * The proof of a content that arrives is computed with its id. Otherwise the file is read, once.
 */

import { createHash, type Hash, timingSafeEqual } from "node:crypto";
import { createReadStream } from "node:fs";
import { CONTENT_PROOF } from "@bigpeer/protocol";

/** Proofs in memory; the oldest are forgotten. */
const KNOWN_MAX = 10_000;

/** Bytes of a file that are read at once. */
const PIECE_SIZE: number = 256 * 1024;

/** Ids of a content: what names it, and what proves that a caller has it. */
export interface Digests {
  readonly id: string;
  readonly proof: string;
}

/** The digests of what `hash` has taken, which can take more afterwards. */
export function digestsOf(hash: Hash): Digests {
  const proof = hash.copy().update(CONTENT_PROOF).digest("base64url");
  return { id: hash.copy().digest("base64url"), proof };
}

export async function digestsOfFile(path: string): Promise<Digests> {
  const hash = createHash("sha256");
  const content: AsyncIterable<Uint8Array> = createReadStream(path, { highWaterMark: PIECE_SIZE });
  for await (const chunk of content) hash.update(chunk);
  return digestsOf(hash);
}

export class PossessionProofs {
  readonly #known = new Map<string, string>();
  readonly #readings = new Map<string, Promise<Digests>>();

  note({ id, proof }: Digests): void {
    this.#known.delete(id);
    this.#known.set(id, proof);
    for (const first of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(first);
    }
  }

  /** Whether `proof` is that of the content `id`, whose file is at `path`. */
  async isProof(proof: string, id: string, path: string): Promise<boolean> {
    const right = this.#known.get(id) ?? (await this.#read(id, path));
    if (right === undefined) return false;
    const [given, expected] = [Buffer.from(proof), Buffer.from(right)];
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** Undefined for a damaged file: it has another id. */
  async #read(id: string, path: string): Promise<string | undefined> {
    const reading = this.#readings.get(id) ?? digestsOfFile(path);
    this.#readings.set(id, reading);
    try {
      const digests = await reading;
      if (digests.id !== id) return undefined;
      this.note(digests);
      return digests.proof;
    } finally {
      this.#readings.delete(id);
    }
  }
}
