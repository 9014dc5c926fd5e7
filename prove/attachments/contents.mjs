/**
 * Contents that a seed determines, so that every process can compute them piece by piece.
 */
import { createCipheriv, createHash } from "node:crypto";

const PIECE_BYTES = 1024 * 1024;

/** The bytes of a content. */
export function* contentOf({ key, size }) {
  const secret = createHash("sha256").update(key).digest();
  const cipher = createCipheriv("aes-256-ctr", secret, Buffer.alloc(16));
  const zeros = Buffer.alloc(PIECE_BYTES);
  for (let left = size; left > 0; left -= PIECE_BYTES) {
    yield cipher.update(left < PIECE_BYTES ? zeros.subarray(0, left) : zeros);
  }
}

export function digestOf(content) {
  const hash = createHash("sha256");
  for (const piece of contentOf(content)) hash.update(piece);
  return hash.digest("base64url");
}

/** `files` contents of different sizes, and one of `large` bytes in the middle. */
export function contentsOf({ files, sizeMax, large, seed }, random) {
  const sizes = Array.from({ length: files }, () => Math.round(sizeMax * random.next() ** 3));
  if (files > 0) sizes[0] = sizeMax;
  if (large > 0) sizes.splice(Math.floor(sizes.length / 2), 0, large);
  return sizes.map((size, i) => ({ key: `${seed}/${i}`, size }));
}
