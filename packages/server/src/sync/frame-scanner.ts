/**
 * Frame scanner: reads the headers of WebSocket frames in a stream of bytes, to count what the
 * library buffers.
 *
 * The library keeps each fragment of a message, and each chunk of a frame, as an object: a fragment
 * of one byte costs some hundred. The scanner counts those of incomplete messages, so that they are
 * charged before the library takes them. Whether the frames are valid is for the library to check.
 */

/** What the scanner found in a chunk. */
export interface Scanned {
  /** Data frames that begin in it. */
  readonly frames: number;
  /** Control frames that end in it. */
  readonly controls: number;
  /** Data frames in it that belong to an incomplete message. */
  readonly openFrames: number;
  /** Messages that end in it. */
  readonly messages: number;
  /** Whether there is a point in it before which nothing is incomplete. */
  readonly isCleared: boolean;
  /** Whether a frame or a message is incomplete at its end. */
  readonly isOpen: boolean;
}

const FIN = 0x80;
const OPCODE = 0x0f;
/** The first opcode of control frames. */
const CONTROL = 0x08;
const MASKED = 0x80;
const LENGTH = 0x7f;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MASK_SIZE = 4;

export class FrameScanner {
  /** Bytes of the header of the current frame that were read. */
  #headRead = 0;
  #first = 0;
  /** The length in the second byte, or in the bytes after it. */
  #length = 0;
  #lengthLeft = 0;
  #isMasked = false;
  /** Bytes of mask and content of the current frame that are still to come. */
  #rest = 0;
  /** Inside the mask or content of a frame. */
  #isInside = false;
  /** A message has begun that has more fragments. */
  #isFragmented = false;

  /** With more than `piecesMax` frames it stops: then the connection must not be read any more. */
  read(chunk: Uint8Array, piecesMax: number = Number.POSITIVE_INFINITY): Scanned {
    let frames = 0;
    let openFrames = 0;
    let messages = 0;
    let controls = 0;
    let isCleared = false;
    let at = 0;
    while (at < chunk.length && frames + controls <= piecesMax) {
      if (!this.#isInside) {
        if (!this.#readHead(chunk[at++] ?? 0)) continue;
        if (this.#isData) {
          frames++;
          openFrames++;
        }
      }
      const size = Math.min(this.#rest, chunk.length - at);
      at += size;
      this.#rest -= size;
      if (this.#rest > 0) break;
      if (!this.#isData) controls++;
      if (this.#endFrame()) {
        messages++;
        openFrames = 0;
      }
      if (!this.#isFragmented) isCleared = true;
    }
    const isOpen = this.#isFragmented || this.#isInside || this.#headRead > 0;
    return { frames, controls, openFrames, messages, isCleared, isOpen };
  }

  get #isData(): boolean {
    return (this.#first & OPCODE) < CONTROL;
  }

  /** True if the header is complete. */
  #readHead(byte: number): boolean {
    this.#headRead++;
    if (this.#headRead === 1) {
      this.#first = byte;
      return false;
    }
    if (this.#headRead === 2) {
      this.#isMasked = (byte & MASKED) !== 0;
      const length = byte & LENGTH;
      this.#lengthLeft = length === LENGTH_16 ? 2 : length === LENGTH_64 ? 8 : 0;
      this.#length = this.#lengthLeft === 0 ? length : 0;
    } else {
      this.#lengthLeft--;
      // The library has refused lengths that a number does not hold exactly.
      this.#length = this.#length * 256 + byte;
    }
    if (this.#lengthLeft > 0) return false;
    this.#rest = this.#length + (this.#isMasked ? MASK_SIZE : 0);
    this.#isInside = true;
    return true;
  }

  /** True if that ends a message. */
  #endFrame(): boolean {
    this.#isInside = false;
    this.#headRead = 0;
    if (!this.#isData) return false;
    this.#isFragmented = (this.#first & FIN) === 0;
    return !this.#isFragmented;
  }
}
