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

/** What an owner, or a group of owners, holds. */
interface Account {
  readonly name: string;
  readonly group: Account | undefined;
  taken: number;
}

export class Shares {
  readonly #bounds: ShareBounds;
  readonly #owners = new Map<string, Account>();
  readonly #groups = new Map<string, Account>();
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
    return this.#owners.get(owner)?.taken ?? 0;
  }

  /** Whether an owner may take at least one more. */
  hasLeft(owner: string): boolean {
    return this.#hasRoom(owner, this.#owners.get(owner), 1);
  }

  #hasRoom(owner: string, account: Account | undefined, amount: number): boolean {
    const { max, perOwnerMax, areGrouped } = this.#bounds;
    const taken = this.#taken + amount;
    if (taken > max || (account?.taken ?? 0) + amount > perOwnerMax) return false;
    if (areGrouped !== true || taken <= max * (1 - KEPT_SHARE)) return true;
    const group = account?.group ?? this.#groups.get(groupOf(owner));
    return (group?.taken ?? 0) + amount <= Math.max(1, max * KEPT_PER_GROUP_SHARE);
  }

  /** Returns false, and takes nothing, beyond the total or the maximum of the owner. */
  take(owner: string, amount = 1): boolean {
    const account = this.#owners.get(owner);
    if (!this.#hasRoom(owner, account, amount)) return false;
    this.#add(account ?? this.#open(owner), amount);
    return true;
  }

  give(owner: string, amount = 1): void {
    const account = this.#owners.get(owner);
    if (account !== undefined) this.#add(account, -amount);
  }

  #open(owner: string): Account {
    const group =
      this.#bounds.areGrouped === true
        ? accountIn(this.#groups, groupOf(owner), undefined)
        : undefined;
    return accountIn(this.#owners, owner, group);
  }

  #add(account: Account, amount: number): void {
    this.#taken += amount;
    account.taken += amount;
    if (account.taken <= 0) this.#owners.delete(account.name);
    const { group } = account;
    if (group === undefined) return;
    group.taken += amount;
    if (group.taken <= 0) this.#groups.delete(group.name);
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

/** The account of this name; a new one if there is none. */
function accountIn(
  accounts: Map<string, Account>,
  name: string,
  group: Account | undefined,
): Account {
  const known = accounts.get(name);
  if (known !== undefined) return known;
  const made = { name, group, taken: 0 };
  accounts.set(name, made);
  return made;
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
