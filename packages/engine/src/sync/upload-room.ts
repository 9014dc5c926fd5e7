/**
 * Upload room: the uploads that are being applied, in bytes as they came. Whoever has many of them, or
 * comes when all have too many, is not read from until some are done: what is read must be held.
 */

import type { SessionLimits } from "./session-state.ts";

type RoomLimits = Pick<SessionLimits, "uploadBytes" | "allUploadBytes">;

/** A session with uploads. */
export interface Uploader {
  /** Whether nothing more is to be read from it for now. */
  hold(isHeld: boolean): void;
}

export class UploadRoom {
  readonly #limits: RoomLimits;
  readonly #bytes = new Map<Uploader, number>();
  readonly #held = new Set<Uploader>();
  #sum = 0;

  constructor(limits: RoomLimits) {
    this.#limits = limits;
  }

  take(uploader: Uploader, size: number): void {
    this.#add(uploader, size);
    if (this.#isRoomFor(uploader) || this.#held.has(uploader)) return;
    this.#held.add(uploader);
    uploader.hold(true);
  }

  /** An upload is done with. */
  give(uploader: Uploader, size: number): void {
    this.#add(uploader, -size);
    for (const held of Array.from(this.#held)) {
      if (!this.#isRoomFor(held)) continue;
      this.#held.delete(held);
      held.hold(false);
    }
  }

  #add(uploader: Uploader, size: number): void {
    this.#sum += size;
    const bytes = (this.#bytes.get(uploader) ?? 0) + size;
    if (bytes === 0) this.#bytes.delete(uploader);
    else this.#bytes.set(uploader, bytes);
  }

  #isRoomFor(uploader: Uploader): boolean {
    const { uploadBytes, allUploadBytes } = this.#limits;
    return this.#sum <= allUploadBytes && (this.#bytes.get(uploader) ?? 0) <= uploadBytes;
  }
}
