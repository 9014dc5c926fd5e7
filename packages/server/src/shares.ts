/**
 * Shares: something that there is only so much of, of which one owner may have a part at a time.
 * Who uses much of it must not take it from all others: calls, uploads, connections, memory.
 *
 * It remembers only owners that have something now, so it is as small as what it counts.
 */

export interface ShareBounds {
  readonly max: number;
  readonly perOwnerMax: number;
}

export class Shares {
  readonly #bounds: ShareBounds;
  readonly #ofOwners = new Map<string, number>();
  #taken = 0;

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds;
  }

  /** What all owners have. */
  get taken(): number {
    return this.#taken;
  }

  /** What one of them has. */
  takenBy(owner: string): number {
    return this.#ofOwners.get(owner) ?? 0;
  }

  /** Whether there is some left for an owner. */
  hasLeft(owner: string): boolean {
    const { max, perOwnerMax } = this.#bounds;
    return this.#taken < max && this.takenBy(owner) < perOwnerMax;
  }

  /** False when that is more than there is, or than the owner may have; then nothing is taken. */
  take(owner: string, amount = 1): boolean {
    const { max, perOwnerMax } = this.#bounds;
    const own = this.takenBy(owner) + amount;
    if (own > perOwnerMax || this.#taken + amount > max) return false;
    this.#taken += amount;
    this.#ofOwners.set(owner, own);
    return true;
  }

  give(owner: string, amount = 1): void {
    const left = this.takenBy(owner) - amount;
    this.#taken -= amount;
    if (left > 0) this.#ofOwners.set(owner, left);
    else this.#ofOwners.delete(owner);
  }

  /** The same for one owner. */
  roomOf(owner: string): Room {
    return new OwnerRoom(this, owner);
  }
}

/** Where memory is taken from and given back to. */
export interface Room {
  /** False when there is no room for it; then nothing is taken. */
  take(size: number): boolean;
  give(size: number): void;
}

class OwnerRoom implements Room {
  readonly #shares: Shares;
  readonly #owner: string;

  constructor(shares: Shares, owner: string) {
    this.#shares = shares;
    this.#owner = owner;
  }

  take(size: number): boolean {
    return this.#shares.take(this.#owner, size);
  }

  give(size: number): void {
    this.#shares.give(this.#owner, size);
  }
}
