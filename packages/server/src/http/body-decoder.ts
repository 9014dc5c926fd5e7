/**
 * Body decoder: from the bytes of a body to its value, in turns with everything else, within a bound
 * of memory.
 *
 * A body of 8 MB may take seconds to decode and a hundred times its size in memory. So what it takes
 * is charged before it is taken, to the share of its caller in the memory of all; and beside short
 * bodies, which are decoded at once, all others share a part of each pass of the event loop. Long ones
 * are decoded one at a time.
 */

import type { Charge, Value } from "@bigpeer/protocol";
import { LONG_WORK, type LoopShare } from "../loop-share.ts";
import { type Room, type ShareBounds, Shares } from "../shares.ts";
import { DecodeQueue } from "./decode-queue.ts";
import { Refusal, unavailable } from "./refusal.ts";
import type { Decode } from "./request-format.ts";

/** Bodies up to this size are decoded at once: less than a millisecond. */
const SHORT_SIZE_MAX: number = 2 * 1024;

/** Larger ones wait for each other. */
const QUEUED_SIZE_MIN: number = 256 * 1024;

/** The value of a body, until its memory is given back. */
export interface DecodedBody {
  readonly value: Value;
  /** To be called once, when the value is not needed any more. */
  release(): void;
}

export class BodyDecoder {
  readonly #bounds: ShareBounds;
  readonly #share: LoopShare;
  readonly #memory: Shares;
  readonly #queue = new DecodeQueue();

  /** `bounds` of the memory that values take: of all callers, and of one. */
  constructor(bounds: ShareBounds, share: LoopShare = LONG_WORK) {
    this.#bounds = bounds;
    this.#share = share;
    this.#memory = new Shares(bounds);
  }

  /** Bytes that are charged. */
  get size(): number {
    return this.#memory.taken;
  }

  /**
   * A promise only when others had to have their turn. Throws a Refusal when it takes more memory
   * than it may, 413, or than there is, 503.
   */
  decode(bytes: Uint8Array, decode: Decode, caller: string): DecodedBody | Promise<DecodedBody> {
    const memory = new BodyMemory(this.#memory.roomOf(caller), this.#bounds.perOwnerMax);
    const turns = decode(bytes, memory.charge);
    if (bytes.length <= SHORT_SIZE_MAX) return bodyOf(memory, () => valueOf(turns));
    if (bytes.length < QUEUED_SIZE_MIN) return this.#inTurns(turns, memory);
    return this.#queue.run(caller, () => this.#inTurns(turns, memory));
  }

  async #inTurns(turns: Generator<void, Value>, memory: BodyMemory): Promise<DecodedBody> {
    let endMs = this.#share.begin();
    try {
      for (;;) {
        if (performance.now() >= endMs) endMs = await this.#share.turn();
        const { done, value } = turns.next();
        if (done === true) return { value, release: memory.release };
      }
    } catch (error) {
      memory.release();
      throw error;
    }
  }
}

function bodyOf(memory: BodyMemory, decode: () => Value): DecodedBody {
  try {
    return { value: decode(), release: memory.release };
  } catch (error) {
    memory.release();
    throw error;
  }
}

function valueOf(turns: Generator<void, Value>): Value {
  for (;;) {
    const { done, value } = turns.next();
    if (done === true) return value;
  }
}

/** What one body has taken of the memory of its caller. */
class BodyMemory {
  readonly #room: Room;
  readonly #sizeMax: number;
  #size = 0;

  constructor(room: Room, sizeMax: number) {
    this.#room = room;
    this.#sizeMax = sizeMax;
  }

  readonly charge: Charge = (bytes) => {
    if (this.#size + bytes > this.#sizeMax) {
      const message = `expected a body whose values take at most ${this.#sizeMax} bytes of memory`;
      throw new Refusal(413, `${message}; send fewer in each request`);
    }
    if (!this.#room.take(bytes)) {
      throw unavailable(
        "the values of all request bodies have taken all memory there is for them",
        1,
      );
    }
    this.#size += bytes;
  };

  readonly release = (): void => {
    if (this.#size !== 0) this.#room.give(this.#size);
    this.#size = 0;
  };
}
