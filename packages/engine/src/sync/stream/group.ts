/**
 * Group: all streams with the same effective filter. Each change is evaluated once for them, and
 * they share its frames.
 */

import type { MatchEntry, MatchIndex } from "../../query/live/match-index.ts";
import type { PreparedStream } from "./filter.ts";
import type { LiveCounts } from "./live-counts.ts";
import type { Stream } from "./stream.ts";

export class Group {
  readonly prepared: PreparedStream;
  readonly entry: MatchEntry<Group>;
  readonly #streams = new Set<Stream>();
  readonly #liveCounts: LiveCounts;
  #liveCount = 0;

  constructor(prepared: PreparedStream, index: MatchIndex<Group>, liveCounts: LiveCounts) {
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

  get streams(): ReadonlySet<Stream> {
    return this.#streams;
  }

  /** Number of live streams, which have everything up to the last round. */
  get liveCount(): number {
    return this.#liveCount;
  }

  *live(): Iterable<Stream> {
    for (const stream of this.#streams) if (stream.isLive) yield stream;
  }

  add(stream: Stream): void {
    this.#streams.add(stream);
  }

  remove(stream: Stream): boolean {
    return this.#streams.delete(stream);
  }

  /** A stream of the group becomes live, or is live no longer. Called by the stream itself. */
  countLive(change: 1 | -1): void {
    this.#liveCount += change;
    this.#liveCounts.add(this.collection, change);
  }
}
