/**
 * Shares: a limited resource that owners share, with a maximum per owner and in total: calls,
 * uploads, connections, bytes. No owner can take it from all others.
 *
 * Owners may be grouped, such as the users of one app. The last part is reserved for groups that
 * use little, so no group can take everything either, however many owners it has.
 *
 * Only owners that hold something are kept, so it stays as small as what it counts.
 */

export interface ShareBounds {
  readonly max: number;
  readonly perOwnerMax: number;
  /**
   * Whether a part is reserved for other groups. An owner's name begins with its group and a space.
   */
  readonly areGrouped?: boolean;
}

/** Reserved part of the total, and what one group may have when only that is left. */
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

  /** Amount that all owners hold. */
  get taken(): number {
    return this.#taken;
  }

  /** Amount that one owner holds. */
  takenBy(owner: string): number {
    return this.#ofOwners.get(owner) ?? 0;
  }

  /** Whether an owner may take at least one more. */
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

  /** Returns false, and takes nothing, beyond the total or the maximum of the owner. */
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

  /** The share of one owner as a memory budget. */
  roomOf(owner: string): MemoryBudget {
    return new OwnerBudget(this, owner);
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

/** Memory budget: bytes are taken before they are used and given back afterwards. */
export interface MemoryBudget {
  /** Returns false, and takes nothing, when too few bytes are left. */
  take(size: number): boolean;
  give(size: number): void;
}

class OwnerBudget implements MemoryBudget {
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
