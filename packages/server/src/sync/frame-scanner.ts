/**
 * Frame scanner: follows the heads of WebSocket frames in a stream of bytes, without keeping any.
 *
 * The library keeps each fragment of a message, and each chunk of a frame, as an object of its own:
 * a fragment of one byte costs some hundred. The scanner says how many of them are kept for a
 * message that is not whole, so that they are charged before they are taken. Whether the frames are
 * valid is the library's to say.
 */

/** What a chunk leaves behind. */
export interface Scanned {
  /** Data frames that begin in it. */
  readonly frames: number;
  /** Control frames that end in it. */
  readonly controls: number;
  /** Data frames of it that belong to a message which is not whole. */
  readonly openFrames: number;
  /** Messages that end in it. */
  readonly messages: number;
  /** Whether there is a place in it before which everything is whole. */
  readonly isCleared: boolean;
  /** Whether a frame or a message is not whole at its end. */
  readonly isOpen: boolean;
}

const FIN = 0x80;
const OPCODE = 0x0f;
/** From this opcode on frames are control frames. */
const CONTROL = 0x08;
const MASKED = 0x80;
const LENGTH = 0x7f;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MASK_SIZE = 4;

export class FrameScanner {
  /** Bytes of the head of the current frame that were read. */
  #headRead = 0;
  #first = 0;
  /** What the second byte says, then what the bytes behind it say. */
  #length = 0;
  #lengthLeft = 0;
  #isMasked = false;
  /** Mask and content of the current frame that are still to come. */
  #rest = 0;
  /** Inside the mask or content of a frame. */
  #isInside = false;
  /** A message has begun that has more fragments. */
  #isFragmented = false;

  /** With more than `piecesMax` frames the rest is not looked at: then nothing more must be read. */
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

  /** True when the head is whole. */
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
      // Beyond what a number holds exactly the library has refused it by now.
      this.#length = this.#length * 256 + byte;
    }
    if (this.#lengthLeft > 0) return false;
    this.#rest = this.#length + (this.#isMasked ? MASK_SIZE : 0);
    this.#isInside = true;
    return true;
  }

  /** True when that ends a message. */
  #endFrame(): boolean {
    this.#isInside = false;
    this.#headRead = 0;
    if (!this.#isData) return false;
    this.#isFragmented = (this.#first & FIN) === 0;
    return !this.#isFragmented;
  }
}
