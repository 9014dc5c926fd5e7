/**
 * Shares: something that there is only so much of, of which one owner may have a part at a time.
 * Who uses much of it must not take it from all others: calls, uploads, connections, memory.
 *
 * Owners may come in groups, the users of one app, and one group must not take it from all others
 * either, however many owners it has: the last part is kept for groups that have little.
 *
 * It remembers only owners that have something now, so it is as small as what it counts.
 */

export interface ShareBounds {
  readonly max: number;
  readonly perOwnerMax: number;
  /** Whether something is kept for other groups. The name of an owner begins with that of its group and a space. */
  readonly areGrouped?: boolean;
}

/** The part of all that is kept, and what one group may have when only that is left. */
const KEPT_SHARE = 1 / 8;
const KEPT_PER_GROUP_SHARE = 1 / 32;

export class Shares {
  readonly #bounds: ShareBounds;
  readonly #ofOwners = new Map<string, number>();
  readonly #ofGroups = new Map<string, number>();
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
    return this.#hasRoom(owner, 1);
  }

  #hasRoom(owner: string, amount: number): boolean {
    const { max, perOwnerMax, areGrouped } = this.#bounds;
    const taken = this.#taken + amount;
    if (taken > max || this.takenBy(owner) + amount > perOwnerMax) return false;
    if (areGrouped !== true || taken <= max * (1 - KEPT_SHARE)) return true;
    const ofGroup = this.#ofGroups.get(groupOf(owner)) ?? 0;
    return ofGroup + amount <= Math.max(1, max * KEPT_PER_GROUP_SHARE);
  }

  /** False when that is more than there is, or than the owner may have; then nothing is taken. */
  take(owner: string, amount = 1): boolean {
    if (!this.#hasRoom(owner, amount)) return false;
    this.#add(owner, amount);
    return true;
  }

  give(owner: string, amount = 1): void {
    this.#add(owner, -amount);
  }

  #add(owner: string, amount: number): void {
    this.#taken += amount;
    addTo(this.#ofOwners, owner, amount);
    if (this.#bounds.areGrouped === true) addTo(this.#ofGroups, groupOf(owner), amount);
  }

  /** The same for one owner. */
  roomOf(owner: string): Room {
    return new OwnerRoom(this, owner);
  }
}

function groupOf(owner: string): string {
  const end = owner.indexOf(" ");
  return end === -1 ? owner : owner.slice(0, end);
}

function addTo(counts: Map<string, number>, name: string, amount: number): void {
  const count = (counts.get(name) ?? 0) + amount;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
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
