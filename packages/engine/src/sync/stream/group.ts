/**
 * Group: all streams with the same effective filter. Each change is evaluated once for them, and
 * they share its frames.
 */

import type { MatchEntry, MatchIndex } from "../../query/live/match-index.ts";
import type { PreparedStream } from "./filter.ts";
import type { LiveCounts } from "./live-counts.ts";

/** What a group needs to know of its streams. */
interface Member {
  readonly isLive: boolean;
}

export class Group<S extends Member> {
  readonly prepared: PreparedStream;
  readonly entry: MatchEntry<Group<S>>;
  readonly #streams = new Set<S>();
  readonly #liveCounts: LiveCounts;
  #liveCount = 0;

  constructor(prepared: PreparedStream, index: MatchIndex<Group<S>>, liveCounts: LiveCounts) {
    this.prepared = prepared;
    this.#liveCounts = liveCounts;
    const { statement, args, authority } = prepared;
    this.entry = index.add(statement.plan, { args, authority }, this);
  }

  get collection(): string {
    return this.prepared.collection;
  }

  /** The history of the store that follows over a link; undefined for small peers. */
  get follower(): string | undefined {
    return this.prepared.link?.follower;
  }

  get filter(): Uint8Array {
    return this.prepared.filter;
  }

  get streams(): ReadonlySet<S> {
    return this.#streams;
  }

  /** Number of live streams, which have everything up to the last round. */
  get liveCount(): number {
    return this.#liveCount;
  }

  *live(): Iterable<S> {
    for (const stream of this.#streams) if (stream.isLive) yield stream;
  }

  add(stream: S): void {
    this.#streams.add(stream);
  }

  remove(stream: S): boolean {
    return this.#streams.delete(stream);
  }

  /** A stream of the group becomes live, or is live no longer. Called by the stream itself. */
  countLive(change: 1 | -1): void {
    this.#liveCount += change;
    this.#liveCounts.add(this.collection, change);
  }
}
