/**
 * Piece size: how many bytes the next request of a transfer has. What is under way when a connection is
 * cut is sent again, so after a cut a request is short, and gets longer while all goes well.
 */

const BYTES_MIN = 128 * 1024;

/** How long a request takes after a cut, and at most. */
const MS_MIN = 25;
const MS_MAX = 1600;

/** After so many requests in order the time is doubled. */
const STEADY_COUNT = 12;

export class PieceSize {
  readonly #max: number;
  #bytes = BYTES_MIN;
  #ms = MS_MIN;
  #steady = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A request of so many bytes took so long. */
  done(bytes: number, ms: number): void {
    this.#steady++;
    if (this.#steady % STEADY_COUNT === 0) this.#ms = Math.min(MS_MAX, 2 * this.#ms);
    const wanted = Math.round((bytes * this.#ms) / Math.max(1, ms));
    // Not by one request alone: its time may be chance.
    const next = Math.min(wanted, 2 * this.#bytes);
    this.#bytes = Math.min(this.#max, Math.max(BYTES_MIN, next));
  }

  failed(): void {
    this.#steady = 0;
    this.#ms = MS_MIN;
    this.#bytes = Math.max(BYTES_MIN, Math.round(this.#bytes / 4));
  }
}
