/**
 * SHA-256 (FIPS 180-4), synchronous, in JavaScript: the one of browsers, `crypto.subtle`, only
 * answers with a promise, takes no message in parts, and is absent on pages without TLS.
 */

export const BLOCK_BYTES = 64;
const ROUNDS = 64;

/** The fractional parts of the cube roots of the first 64 primes, and of the square roots of 8. */
const K = new Uint32Array(ROUNDS);
const START = new Uint32Array(8);

for (let candidate = 2, count = 0; count < ROUNDS; candidate++) {
  if (!isPrime(candidate)) continue;
  if (count < START.length) START[count] = fractionBits(candidate ** (1 / 2));
  K[count++] = fractionBits(Math.cbrt(candidate));
}

export function sha256(message: Uint8Array): Uint8Array {
  return digestOf(newState(), message, message.length);
}

export function newState(): Uint32Array {
  return Uint32Array.from(START);
}

/** The digest of a message of `size` bytes, by the state after all of its blocks before `end`. */
export function digestOf(before: Uint32Array, end: Uint8Array, size: number): Uint8Array {
  const state = Uint32Array.from(before);
  compress(state, pad(end, size));
  const digest = new Uint8Array(32);
  const view = new DataView(digest.buffer);
  state.forEach((word, i) => view.setUint32(4 * i, word));
  return digest;
}

/** The end of a message, a one bit, zeros, and the length of all of it in bits as the last eight bytes. */
function pad(end: Uint8Array, size: number): Uint8Array {
  const blocks = Math.ceil((end.length + 9) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(end);
  padded[end.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(size));
  return padded;
}

/** `blocks` has whole blocks. */
export function compress(state: Uint32Array, blocks: Uint8Array): void {
  const words = new Uint32Array(ROUNDS);
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let from = 0; from < blocks.length; from += BLOCK_BYTES) {
    compressBlock(state, words, view, from);
  }
}

function compressBlock(
  state: Uint32Array,
  words: Uint32Array,
  blocks: DataView,
  from: number,
): void {
  for (let i = 0; i < 16; i++) words[i] = blocks.getUint32(from + 4 * i);
  for (let i = 16; i < ROUNDS; i++) {
    const [w2, w15] = [at(words, i - 2), at(words, i - 15)];
    const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3);
    const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10);
    words[i] = at(words, i - 16) + s0 + at(words, i - 7) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < ROUNDS; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const t1 = (h + s1 + choice + at(K, i) + at(words, i)) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + s0 + majority) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = at(state, i) + word;
  });
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function at(words: Uint32Array, index: number): number {
  return words[index] ?? 0;
}

function isPrime(candidate: number): boolean {
  for (let i = 2; i * i <= candidate; i++) if (candidate % i === 0) return false;
  return true;
}

/** The first 32 bits of the fractional part. */
function fractionBits(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}
