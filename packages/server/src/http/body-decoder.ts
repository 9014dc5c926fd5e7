/**
 * Body decoder: decodes request bodies in time slices, within a memory budget per caller (H50).
 *
 * A body of 8 MB may take seconds to decode and a hundred times its size in memory. Memory is
 * charged to the budget of the caller before it is allocated. Short bodies are decoded at once. All
 * others share a part of each pass of the event loop, and long ones are decoded one at a time.
 */

import type { Charge, Value } from "@bigpeer/protocol";
import { LONG_WORK, type LoopShare } from "../limits/loop-share.ts";
import { type MemoryBudget, type ShareBounds, Shares } from "../limits/shares.ts";
import { DecodeQueue } from "./decode-queue.ts";
import { Refusal, unavailable } from "./refusal.ts";
import type { Decode } from "./request-format.ts";

/** Bodies up to this size are decoded at once, which takes less than a millisecond. */
const SHORT_SIZE_MAX: number = 2 * 1024;

/** Bodies of at least this size are decoded one after the other. */
const QUEUED_SIZE_MIN: number = 256 * 1024;

/** Decoded value of a body, and the memory that it holds. */
export interface DecodedBody {
  readonly value: Value;
  /** Returns the memory. Call it once, when the value is no longer needed. */
  release(): void;
}

export class BodyDecoder {
  readonly #bounds: ShareBounds;
  readonly #share: LoopShare;
  readonly #memory: Shares;
  readonly #queue = new DecodeQueue();

  /** `bounds` limits the memory of decoded values: of all callers, and of each. */
  constructor(bounds: ShareBounds, share: LoopShare = LONG_WORK) {
    this.#bounds = bounds;
    this.#share = share;
    this.#memory = new Shares(bounds);
  }

  /** Bytes that are charged at present. */
  get size(): number {
    return this.#memory.taken;
  }

  /**
   * Returns a promise only when decoding yielded to other work or waited. Throws a Refusal when the
   * body needs more memory than a caller may have, 413, or than is left, 503.
   */
  decode(bytes: Uint8Array, decode: Decode, caller: string): DecodedBody | Promise<DecodedBody> {
    const memory = new BodyMemory(this.#memory.roomOf(caller), this.#bounds.perOwnerMax);
    const slicer = decode(bytes, memory.charge);
    if (bytes.length <= SHORT_SIZE_MAX) return bodyOf(memory, () => valueOf(slicer));
    if (bytes.length < QUEUED_SIZE_MIN) return this.#inTurns(slicer, memory);
    return this.#queue.run(caller, () => this.#inTurns(slicer, memory));
  }

  async #inTurns(slicer: Generator<void, Value>, memory: BodyMemory): Promise<DecodedBody> {
    let endMs = this.#share.begin();
    try {
      for (;;) {
        if (performance.now() >= endMs) endMs = await this.#share.turn();
        const { done, value } = slicer.next();
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

function valueOf(slicer: Generator<void, Value>): Value {
  for (;;) {
    const { done, value } = slicer.next();
    if (done === true) return value;
  }
}

/** Memory that one body has taken of its caller's budget. */
class BodyMemory {
  readonly #room: MemoryBudget;
  readonly #sizeMax: number;
  #size = 0;

  constructor(room: MemoryBudget, sizeMax: number) {
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
