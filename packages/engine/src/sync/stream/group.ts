/**
 * Group: all streams with the same effective filter. Each change is evaluated once for them, and
 * they share its frames.
 */

import type { MatchEntry, MatchIndex } from "../../query/live/match-index.ts";
import type { PreparedStream } from "./filter.ts";
import type { Stream } from "./stream.ts";

export class Group {
  readonly prepared: PreparedStream;
  readonly entry: MatchEntry<Group>;
  readonly streams: Set<Stream> = new Set();
  /** Number of live streams, which have everything up to the last round. */
  liveCount = 0;

  constructor(prepared: PreparedStream, index: MatchIndex<Group>) {
    this.prepared = prepared;
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

  *live(): Iterable<Stream> {
    for (const stream of this.streams) if (stream.phase === "live") yield stream;
  }
}

const NO_LINKS: readonly Group[] = [];

/** All groups, and how many live streams each collection has. */
export class Groups {
  readonly index: MatchIndex<Group>;
  readonly #byKey = new Map<string, Group>();
  readonly #liveByCollection = new Map<string, number>();
  /** Groups of links, by collection. */
  readonly #links = new Map<string, Set<Group>>();
  liveCount = 0;

  constructor(index: MatchIndex<Group>) {
    this.index = index;
  }

  get count(): number {
    return this.#byKey.size;
  }

  all(): Iterable<Group> {
    return this.#byKey.values();
  }

  /** The group of a filter. A new group is not kept until a stream joins it. */
  of(prepared: PreparedStream): Group {
    return this.#byKey.get(prepared.filterKey) ?? new Group(prepared, this.index);
  }

  join(stream: Stream): void {
    const { group } = stream;
    group.streams.add(stream);
    this.#byKey.set(group.prepared.filterKey, group);
    if (group.follower === undefined) return;
    const links = this.#links.get(group.collection) ?? new Set();
    this.#links.set(group.collection, links.add(group));
  }

  /** Groups with which other Big Peers follow documents of a collection. */
  linksOf(collection: string): Iterable<Group> {
    return this.#links.get(collection) ?? NO_LINKS;
  }

  leave(stream: Stream): void {
    const { group } = stream;
    this.endLive(stream);
    if (!group.streams.delete(stream) || group.streams.size > 0) return;
    this.index.remove(group.entry);
    this.#byKey.delete(group.prepared.filterKey);
    const links = this.#links.get(group.collection);
    links?.delete(group);
    if (links?.size === 0) this.#links.delete(group.collection);
  }

  hasLive(collection: string): boolean {
    return this.#liveByCollection.has(collection);
  }

  beginLive(stream: Stream): void {
    if (stream.phase === "live") return;
    stream.phase = "live";
    this.#count(stream, 1);
  }

  /** Sets the phase to `behind`; the caller may set another one. */
  endLive(stream: Stream): void {
    if (stream.phase !== "live") return;
    stream.phase = "behind";
    this.#count(stream, -1);
  }

  #count({ group }: Stream, change: 1 | -1): void {
    const { collection } = group;
    group.liveCount += change;
    this.liveCount += change;
    const count = (this.#liveByCollection.get(collection) ?? 0) + change;
    if (count > 0) this.#liveByCollection.set(collection, count);
    else this.#liveByCollection.delete(collection);
  }
}
