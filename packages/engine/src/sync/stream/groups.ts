/**
 * Groups: the groups of all effective filters that have streams.
 */

import type { MatchIndex } from "../../query/live/match-index.ts";
import type { PreparedStream } from "./filter.ts";
import { Group } from "./group.ts";
import { LiveCounts } from "./live-counts.ts";
import type { Stream, StreamGroup } from "./stream.ts";

const NO_LINKS: readonly StreamGroup[] = [];

export class Groups {
  readonly index: MatchIndex<StreamGroup>;
  readonly #byKey = new Map<string, StreamGroup>();
  /** Groups of links, by collection. */
  readonly #links = new Map<string, Set<StreamGroup>>();
  readonly #liveCounts = new LiveCounts();

  constructor(index: MatchIndex<StreamGroup>) {
    this.index = index;
  }

  get count(): number {
    return this.#byKey.size;
  }

  /** Number of live streams of all groups. */
  get liveCount(): number {
    return this.#liveCounts.all;
  }

  hasLive(collection: string): boolean {
    return this.#liveCounts.has(collection);
  }

  all(): Iterable<StreamGroup> {
    return this.#byKey.values();
  }

  /** Groups with which other Big Peers follow documents of a collection. */
  linksOf(collection: string): Iterable<StreamGroup> {
    return this.#links.get(collection) ?? NO_LINKS;
  }

  /** The group of a filter. A new group is not kept until a stream joins it. */
  of(prepared: PreparedStream): StreamGroup {
    const known = this.#byKey.get(prepared.filterKey);
    return known ?? new Group(prepared, this.index, this.#liveCounts);
  }

  join(stream: Stream): void {
    const { group } = stream;
    group.add(stream);
    this.#byKey.set(group.prepared.filterKey, group);
    if (group.follower === undefined) return;
    const links = this.#links.get(group.collection) ?? new Set();
    this.#links.set(group.collection, links.add(group));
  }

  /** The stream is over. */
  leave(stream: Stream): void {
    const { group } = stream;
    if (!group.remove(stream) || group.streams.size > 0) return;
    this.index.remove(group.entry);
    this.#byKey.delete(group.prepared.filterKey);
    const links = this.#links.get(group.collection);
    links?.delete(group);
    if (links?.size === 0) this.#links.delete(group.collection);
  }
}
