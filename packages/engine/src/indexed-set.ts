/**
 * IndexedSet: unordered set with O(1) insertion and removal; each member stores its own index.
 *
 * It is cheaper than a Set, which hashes its members and rebuilds its table from time to time.
 */

export interface Placed {
  /** Index in its set; -1 when it is in none. Only the set writes it. */
  place: number;
}

export class IndexedSet<T extends Placed> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** A copy of the current members, so that members may be removed during iteration. */
  list(): T[] {
    return [...this.#members];
  }

  /** Adds a member that is in no set. */
  add(member: T): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** False when it was removed before. */
  remove(member: T): boolean {
    const { place } = member;
    if (place < 0) return false;
    member.place = -1;
    const last = this.#members.pop();
    if (last === undefined || last === member) return true;
    this.#members[place] = last;
    last.place = place;
    return true;
  }
}
