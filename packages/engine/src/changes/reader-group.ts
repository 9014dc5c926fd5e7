/**
 * Reader group: all readers with the same filter. The lines of new transactions are made once for
 * them, and the last ones are kept for those that come a little later.
 */

import type { MatchEntry, MatchIndex } from "../query/live/match-index.ts";
import { comparePositions, type Position } from "./cursor.ts";
import { addFilter, type FeedFilter } from "./filter.ts";
import type { PlacedLine } from "./line.ts";

/** Characters of JSON that are kept for a group; a reader that is further behind reads the log. */
export const TAIL_LENGTH_MAX: number = 256 * 1024;

/** The same for all groups of a feed: beyond it, each new line makes its group keep fewer. */
export const TAILS_LENGTH_MAX: number = 16 * 1024 * 1024;

/** Sum over all groups. */
export interface TailSum {
  length: number;
}

/** What a group needs to know of its readers. */
export interface GroupMember {
  /** Called when there are new lines, or the group has failed. */
  wake(): void;
}

export class ReaderGroup {
  readonly filter: FeedFilter;
  readonly members: Set<GroupMember> = new Set();
  readonly #index: MatchIndex<ReaderGroup>;
  readonly #sum: TailSum;
  readonly #entries = new Map<string, MatchEntry<ReaderGroup>>();
  #tail: PlacedLine[] = [];
  #tailLength = 0;
  #isClosed = false;
  /** All lines behind this position are in the tail. */
  #start: Position;
  /** Why the filter could not be evaluated. */
  failure: unknown;

  constructor(filter: FeedFilter, index: MatchIndex<ReaderGroup>, start: Position, sum: TailSum) {
    this.filter = filter;
    this.#index = index;
    this.#start = start;
    this.#sum = sum;
    if (filter.collection !== undefined) this.entryOf(filter.collection);
  }

  /** The filter of a collection in the index; undefined for another collection than the wanted. */
  entryOf(collection: string): MatchEntry<ReaderGroup> | undefined {
    const { filter } = this;
    if (filter.collection !== undefined && filter.collection !== collection) return undefined;
    const known = this.#entries.get(collection);
    if (known !== undefined) return known;
    const entry = addFilter(this.#index, filter, collection, this);
    this.#entries.set(collection, entry);
    return entry;
  }

  get isEmpty(): boolean {
    return this.members.size === 0;
  }

  /** Forgets its lines: it has all those behind this position. */
  beginAt(position: Position): void {
    this.#forgetLines();
    this.#start = position;
  }

  append(line: PlacedLine): void {
    if (this.#isClosed) return;
    this.#tail.push(line);
    this.#tailLength += line.json.length;
    this.#sum.length += line.json.length;
    const max = this.#sum.length > TAILS_LENGTH_MAX ? this.#tailLength / 2 : TAIL_LENGTH_MAX;
    if (this.#tailLength > max) this.#trim(max / 2);
  }

  /** The lines behind a position; undefined if they are not all kept. */
  after(position: Position): readonly PlacedLine[] | undefined {
    if (comparePositions(position, this.#start) < 0) return undefined;
    let low = 0;
    let high = this.#tail.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { at } = this.#tail[middle] as PlacedLine;
      if (comparePositions(at, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low === this.#tail.length ? NO_LINES : this.#tail.slice(low);
  }

  wake(): void {
    for (const member of this.members) member.wake();
  }

  close(): void {
    for (const entry of this.#entries.values()) this.#index.remove(entry);
    this.#entries.clear();
    this.#forgetLines();
    this.#isClosed = true;
  }

  #forgetLines(): void {
    this.#sum.length -= this.#tailLength;
    this.#tail = [];
    this.#tailLength = 0;
  }

  #trim(length: number): void {
    let count = 0;
    while (this.#tailLength > length && count < this.#tail.length) {
      const line = this.#tail[count++] as PlacedLine;
      this.#tailLength -= line.json.length;
      this.#sum.length -= line.json.length;
      this.#start = line.at;
    }
    this.#tail.splice(0, count);
  }
}

const NO_LINES: readonly PlacedLine[] = [];
