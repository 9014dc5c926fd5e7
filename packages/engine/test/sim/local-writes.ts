/**
 * What the apps on the peers have written, by the name that each write carries, and what must have
 * become of each at the end.
 */

import type { Site } from "@bigpeer/protocol";
import type { Scheduler } from "./scheduler.ts";
import type { SentUploads } from "./sent-uploads.ts";
import type { ServerOracle } from "./server-oracle.ts";

export interface LocalWrite {
  /** The disks that have it. */
  readonly disks: Set<object>;
  /** Disks that may have it: copies of one to which it was just being written. */
  readonly maybes: Set<object>;
  /** The site that its store had when it was written; two, where it forked in between. */
  readonly sites: Set<Site>;
  readonly counts: { readonly id: string; readonly by: number }[];
  /** `open` until it was answered; what was answered as done is durable. */
  state: "open" | "done" | "nothing";
  /**
   * Its time was certain when it was written, and that of all before it on its disk: so nobody stamps
   * it anew, and all copies send it as one (S33).
   */
  readonly isTimed: boolean;
  /** How many stores may hold it as their own and not yet sent. */
  copies: number;
}

export interface WriteFacts {
  /** The disks of peers that live. */
  readonly disks: ReadonlySet<object>;
  /** Writes whose peer was told that they have no effect: a restored server is not asked again. */
  readonly given: ReadonlySet<string>;
  /**
   * Writes that go to another site, because the one that they were written under is forked (S29): each
   * store that is told so takes a site of its own, and has all of them from the fork on, sent or not.
   */
  readonly restamped: ReadonlySet<string>;
  /**
   * The server came back from a copy. Two stores that had been one cannot tell then by the number that
   * it knows of their site whose uploads it has: one may be lost, or come from both.
   */
  readonly isRestored: boolean;
}

export class LocalWrites {
  readonly #all = new Map<string, LocalWrite>();
  /** Disks that were copied, and their copies. */
  readonly #copied = new Set<object>();
  /** Disks with writes whose time was not certain. */
  readonly #untimed = new Set<object>();
  #count = 0;

  nextTag(name: string): string {
    return `#${name}.${++this.#count}`;
  }

  add(tag: string, write: LocalWrite): void {
    this.#all.set(tag, write);
  }

  get(tag: string): LocalWrite | undefined {
    return this.#all.get(tag);
  }

  /** Something is written on a disk: whether its time is certain. */
  noteTime(disk: object, isClockKnown: boolean): boolean {
    if (!isClockKnown) this.spoil(disk);
    return !this.#untimed.has(disk);
  }

  /** What is written on the disk from now on may be stamped anew. */
  spoil(disk: object): void {
    this.#untimed.add(disk);
  }

  /** The disk of a peer was copied: what it had not sent may be sent by both. */
  copied(from: object, to: object, sent: SentUploads): void {
    const known = new Set<string>();
    for (const { tags, senders } of sent.all()) {
      if (!senders.has(from)) continue;
      senders.add(to);
      for (const tag of tags) known.add(tag);
    }
    this.#copied.add(from).add(to);
    if (this.#untimed.has(from)) this.spoil(to);
    for (const [tag, write] of this.#all) {
      if (!write.disks.has(from) && !write.maybes.has(from)) continue;
      const isSure = write.state === "done" && write.disks.has(from);
      (isSure ? write.disks : write.maybes).add(to);
      if (!known.has(tag) && !write.isTimed) write.copies++;
    }
  }

  /**
   * What a disk has written under a site and not sent. Uploads go in the order of their numbers: when
   * one that it has sent is forked, all of this lies behind.
   */
  *unsent(disk: object, site: Site, sent: SentUploads): Iterable<string> {
    const known = new Set<string>();
    for (const { tags, senders } of sent.all()) {
      if (senders.has(disk)) for (const tag of tags) known.add(tag);
    }
    for (const [tag, { disks, maybes, sites }] of this.#all) {
      const isHeld = disks.has(disk) || maybes.has(disk);
      if (isHeld && sites.has(site) && !known.has(tag)) yield tag;
    }
  }

  /** Each write has one outcome, and has its effect once. */
  check(scheduler: Scheduler, oracle: Pick<ServerOracle, "uploads">, facts: WriteFacts): void {
    const { disks, given, restamped } = facts;
    const outcomes = new Map<string, string[]>();
    for (const [name, { tags, kind }] of oracle.uploads) {
      for (const tag of tags) outcomes.set(tag, [...(outcomes.get(tag) ?? []), `${name} ${kind}`]);
    }
    for (const [tag, write] of this.#all) {
      if (facts.isRestored && [...write.disks].some((disk) => this.#copied.has(disk))) continue;
      const found = outcomes.get(tag) ?? [];
      const most = restamped.has(tag) ? Math.max(write.copies, storesOf(write)) : write.copies;
      if (found.length > most || hasTwoOfOneSite(found)) {
        scheduler.fail("a write has its effect once", `${tag}: ${found.join(", ")}`);
      }
      if (found.length > 0 || given.has(tag) || write.state !== "done") continue;
      if ([...write.disks].some((disk) => disks.has(disk))) {
        scheduler.fail("a write that was answered has an outcome", `${tag} has none`);
      }
    }
  }

  /**
   * The exact sums of the counters that are only added to. Of what came too late it is not known here
   * which part of it had an effect.
   */
  sums(oracle: ServerOracle): Map<string, number> {
    const sums = new Map<string, number>();
    for (const { tags, kind } of oracle.uploads.values()) {
      if (kind === "refused") continue;
      for (const tag of tags) {
        for (const { id, by } of this.#all.get(tag)?.counts ?? []) {
          sums.set(id, kind === "stale" ? Number.NaN : (sums.get(id) ?? 0) + by);
        }
      }
    }
    return sums;
  }
}

/** Whoever sends it, what a site has sent is one line (S25): not even a fork puts it there twice. */
function hasTwoOfOneSite(outcomes: readonly string[]): boolean {
  return new Set(outcomes.map((outcome) => outcome.split("/")[0])).size < outcomes.length;
}

/** How many stores may hold a write. */
function storesOf({ disks, maybes }: LocalWrite): number {
  return disks.size + maybes.size;
}
