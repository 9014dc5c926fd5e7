/**
 * Upload budget: limits the bytes of uploads being applied, per session and in all. Beyond a limit
 * the server stops reading from a session until uploads are done, because it holds what it reads.
 */

import type { SessionLimits } from "../session/session-state.ts";

type UploadBudgetLimits = Pick<SessionLimits, "uploadBytes" | "allUploadBytes">;

/** A session with uploads. */
export interface Uploader {
  /** Stops or resumes reading from the session. */
  hold(isHeld: boolean): void;
}

export class UploadBudget {
  readonly #limits: UploadBudgetLimits;
  readonly #bytes = new Map<Uploader, number>();
  readonly #held = new Set<Uploader>();
  #sum = 0;

  constructor(limits: UploadBudgetLimits) {
    this.#limits = limits;
  }

  take(uploader: Uploader, size: number): void {
    this.#add(uploader, size);
    if (this.#isRoomFor(uploader) || this.#held.has(uploader)) return;
    this.#held.add(uploader);
    uploader.hold(true);
  }

  /** An upload is done. */
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
