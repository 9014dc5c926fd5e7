/**
 * Frame maker: encodes the WebSocket frame of a message once, however many connections get it.
 */

import { kindOf } from "./traffic.ts";

/** Above this size head and content are written separately: a copy would cost more. */
const JOINED_MAX: number = 64 * 1024;

/** FIN and the opcode of a binary frame. */
const BINARY_FRAME = 0x82;

export interface Frame {
  readonly kind: string;
  /** The whole frame, unless there is content beside it. */
  readonly head: Buffer;
  readonly content: Uint8Array | undefined;
}

/** Caches the last frame: many connections get the same message, one after the other. */
export class FrameMaker {
  #bytes: Uint8Array | undefined;
  #frame: Frame | undefined;

  frameOf(bytes: Uint8Array): Frame {
    if (this.#frame !== undefined && bytes === this.#bytes) return this.#frame;
    const kind = kindOf(bytes);
    const head = frameHead(bytes.length);
    if (bytes.length > JOINED_MAX) return { kind, head, content: bytes };
    this.#bytes = bytes;
    this.#frame = { kind, head: Buffer.concat([head, bytes]), content: undefined };
    return this.#frame;
  }
}

/** RFC 6455, 5.2: one byte for the kind, then the length in 1, 3 or 9 bytes. */
function frameHead(length: number): Buffer {
  if (length < 126) return Buffer.of(BINARY_FRAME, length);
  if (length < 65_536) return Buffer.of(BINARY_FRAME, 126, length >> 8, length & 0xff);
  const head = Buffer.alloc(10);
  head[0] = BINARY_FRAME;
  head[1] = 127;
  // Lengths are always below 48 bits.
  head.writeUIntBE(length, 4, 6);
  return head;
}
