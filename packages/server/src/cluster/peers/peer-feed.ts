/**
 * PeerFeed: publishes which peers of an app are connected to this node, for the other nodes.
 *
 * Peers that connect, change and leave are published at once, in batches. Subscriptions, progress
 * and traffic are compared with what was published, a tenth of the peers in each tick. A node that
 * has missed a message, or begins to need the app, reads all peers in pages.
 */

import { approximateSize } from "@bigpeer/engine/store";
import type { PeerChange, PeerReport, SyncServer } from "@bigpeer/engine/sync";
import { equalValues, type Value, type ValueObject } from "@bigpeer/protocol";
import { DEVICE_SUBSCRIPTIONS_SIZE_MAX } from "../../limits/limits.ts";
import type { Bus } from "../bus.ts";
import { type PeerMessage, type PeerPage, type PeerState, valueOf } from "./peer-message.ts";

export interface PeerFeedHost {
  readonly bus: Pick<Bus, "publish">;
  readonly node: string;
  readonly appId: string;
  /** Identifies the feed among all of this node. */
  readonly feed: string;
  readonly sync: Pick<SyncServer, "onPeers" | "peer" | "presence">;
  /** Whether a session is one of this node. */
  readonly isOwn: (session: number) => boolean;
  /** Whether no other node would receive a message. */
  readonly isAlone: () => boolean;
  /** Calls `work` soon, when other work has had its turn. */
  readonly defer: (work: () => void) => void;
}

/** Approximate size of a message and of a page; one report may be larger. */
const MESSAGE_SIZE_MAX: number = 256 * 1024;

/** Ticks in which all peers are compared once. */
const COMPARE_TICKS = 10;

/** The topic of the messages about an app. */
export function peersTopic(appId: string): string {
  return `peers.${appId}`;
}

interface Batch {
  readonly peers: PeerReport[];
  readonly states: PeerState[];
  readonly left: number[];
  size: number;
}

export class PeerFeed {
  readonly #host: PeerFeedHost;
  readonly #unfollow: () => void;
  /** Own sessions, with the report that was published last. */
  readonly #published = new Map<number, PeerReport>();
  /** Sessions whose change has not been published. */
  readonly #changed = new Set<number>();
  #compared: Iterator<[number, PeerReport]> | undefined;
  #sequence = 0;
  #isDeferred = false;
  #isClosed = false;

  constructor(host: PeerFeedHost) {
    this.#host = host;
    this.#unfollow = host.sync.onPeers((change) => this.#note(change));
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Whether this node has peers of the app. */
  get hasPeers(): boolean {
    return this.#published.size + this.#changed.size > 0;
  }

  /** Call about once a second. */
  tick(): void {
    const count = Math.ceil(this.#published.size / COMPARE_TICKS);
    const batch = newBatch();
    for (let i = 0; i < count; i++) {
      this.#compared ??= this.#published.entries();
      const { done, value } = this.#compared.next();
      if (done === true) {
        this.#compared = undefined;
        break;
      }
      this.#compare(value, batch);
      if (batch.size > MESSAGE_SIZE_MAX) this.#publish(batch);
    }
    this.#publish(batch);
  }

  /** Own peers after a session. */
  page(after: number): PeerPage {
    const { feed, sync, isOwn } = this.#host;
    const peers: PeerReport[] = [];
    let size = 0;
    for (const present of sync.presence.sessions()) {
      if (present.session <= after || !isOwn(present.session)) continue;
      const report = present.report();
      if (report === undefined) continue;
      const shared = sharedReport(report);
      size += sizeOf(shared);
      const last = peers.at(-1)?.session;
      if (size > MESSAGE_SIZE_MAX && last !== undefined) {
        return { feed, sequence: this.#sequence, peers, next: last };
      }
      peers.push(shared);
    }
    return { feed, sequence: this.#sequence, peers };
  }

  /** All peers of the app have left this node. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unfollow();
    this.#send({ peers: [], states: [], left: [], isEnd: true });
  }

  #note({ report: { session } }: PeerChange): void {
    if (!this.#host.isOwn(session)) return;
    this.#changed.add(session);
    this.#defer();
  }

  #defer(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#host.defer(() => {
      this.#isDeferred = false;
      if (!this.#isClosed) this.#publishChanged();
    });
  }

  /** Publishes one message, and the next ones later. */
  #publishChanged(): void {
    const batch = newBatch();
    for (const session of this.#changed) {
      this.#changed.delete(session);
      const report = this.#listed(session);
      if (report === undefined) {
        if (this.#published.delete(session)) batch.left.push(session);
      } else this.#addReport(report, batch);
      if (batch.size > MESSAGE_SIZE_MAX) break;
    }
    this.#publish(batch);
    if (this.#changed.size > 0) this.#defer();
  }

  /** Undefined if the session has ended, or a newer connection of its peer is listed. */
  #listed(session: number): PeerReport | undefined {
    return this.#host.sync.presence.find(session)?.report();
  }

  #compare([session, before]: [number, PeerReport], batch: Batch): void {
    const report = this.#listed(session);
    // One that has left is published as a change.
    if (report === undefined) return;
    if (!isSameReport(before, report)) this.#addReport(report, batch);
    else if (!isSameState(before, report)) {
      const { progress, traffic } = report;
      this.#published.set(session, report);
      const state = { session, progress, traffic };
      batch.states.push(state);
      batch.size += approximateSize(state as unknown as Value);
    }
  }

  #addReport(report: PeerReport, batch: Batch): void {
    this.#published.set(report.session, report);
    const shared = sharedReport(report);
    batch.peers.push(shared);
    batch.size += sizeOf(shared);
  }

  #publish(batch: Batch): void {
    const { peers, states, left } = batch;
    if (peers.length + states.length + left.length > 0) {
      this.#send({ peers: [...peers], states: [...states], left: [...left], isEnd: false });
    }
    for (const list of [peers, states, left]) list.length = 0;
    batch.size = 0;
  }

  /** A node that comes later reads everything: it does not need what is not sent here. */
  #send(content: Pick<PeerMessage, "peers" | "states" | "left" | "isEnd">): void {
    const { bus, node, feed, appId, isAlone } = this.#host;
    this.#sequence++;
    if (isAlone()) return;
    const message: PeerMessage = { node, feed, sequence: this.#sequence, ...content };
    bus.publish(peersTopic(appId), valueOf(message));
  }
}

function newBatch(): Batch {
  return { peers: [], states: [], left: [], size: 0 };
}

function sizeOf(report: PeerReport): number {
  return approximateSize(report as unknown as Value);
}

/** A report with fewer subscriptions: all nodes keep it in memory. */
function sharedReport(report: PeerReport): PeerReport {
  const { subscriptions, otherSubscriptions = 0 } = report;
  let left = DEVICE_SUBSCRIPTIONS_SIZE_MAX;
  const kept = subscriptions.findIndex((subscription) => {
    left -= approximateSize(subscription as unknown as ValueObject);
    return left < 0;
  });
  if (kept === -1) return report;
  const others = subscriptions.length - kept + otherSubscriptions;
  return { ...report, subscriptions: subscriptions.slice(0, kept), otherSubscriptions: others };
}

/** Compares everything but progress and traffic. */
function isSameReport(one: PeerReport, other: PeerReport): boolean {
  return (
    one.description === other.description &&
    one.credential === other.credential &&
    one.userId === other.userId &&
    one.address === other.address &&
    one.expiresMs === other.expiresMs &&
    one.lastError?.atMs === other.lastError?.atMs &&
    one.otherSubscriptions === other.otherSubscriptions &&
    equalValues(one.identity, other.identity) &&
    areSameSubscriptions(one.subscriptions, other.subscriptions)
  );
}

/** Compares arguments by identity: a subscription keeps its objects. */
function areSameSubscriptions(
  one: PeerReport["subscriptions"],
  other: PeerReport["subscriptions"],
): boolean {
  return (
    one.length === other.length &&
    one.every(({ query, args, state }, i) => {
      const now = other[i];
      return query === now?.query && args === now.args && state === now.state;
    })
  );
}

/** Compares progress and traffic; the time since the last message changes without one. */
function isSameState(one: PeerState, other: PeerState): boolean {
  const { heardMs: _, ...traffic } = one.traffic;
  const { heardMs: __, ...otherTraffic } = other.traffic;
  return (
    equalValues(traffic, otherTraffic) &&
    equalValues(one.progress as unknown as ValueObject, other.progress as unknown as ValueObject)
  );
}
