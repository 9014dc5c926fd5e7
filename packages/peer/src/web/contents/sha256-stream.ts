/**
 * Sha256Stream: the SHA-256 of a message that comes in parts.
 */

import { BLOCK_BYTES, compress, digestOf, newState } from "../sha256.ts";

export class Sha256Stream {
  readonly #state = newState();
  /** The end of the message, less than a block. */
  #rest = new Uint8Array(0);
  #size = 0;

  update(bytes: Uint8Array): void {
    this.#size += bytes.length;
    const { length } = this.#rest;
    if (length + bytes.length < BLOCK_BYTES) {
      this.#rest = joined(this.#rest, bytes);
      return;
    }
    const head = length === 0 ? 0 : BLOCK_BYTES - length;
    if (head > 0) compress(this.#state, joined(this.#rest, bytes.subarray(0, head)));
    const whole = bytes.length - ((bytes.length - head) % BLOCK_BYTES);
    compress(this.#state, bytes.subarray(head, whole));
    this.#rest = bytes.slice(whole);
  }

  /** The digest of the message with `end` after it. The message itself can go on. */
  digest(end: Uint8Array): Uint8Array {
    return digestOf(this.#state, joined(this.#rest, end), this.#size + end.length);
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
