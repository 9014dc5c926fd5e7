/**
 * Roster: things that come and go all the time, each of which knows its place.
 *
 * Adding and removing one is a step each, and cheaper than in a Set, which hashes it and makes its
 * table anew now and then. The order means nothing.
 */

export interface Placed {
  /** Where it stands in its roster; -1 when it is in none. Only the roster writes it. */
  place: number;
}

export class Roster<T extends Placed> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Those who are in it now; they may leave while the list is gone through. */
  list(): T[] {
    return [...this.#members];
  }

  /** For one that is in none. */
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
