/**
 * RemotePeers: the peers of one app that are connected to other nodes.
 *
 * For each node that is alive it reads all peers once, then applies the messages of the node's feed
 * in their order. After a gap, and when the feed is another one, it reads all peers again:
 *
 *   unknown ──read──> known ──a gap, another feed, or a newer position──> read again
 *
 * A node that has died loses its peers. A node that cannot be read keeps those that are known.
 */

import type { PeerReport, SyncServer } from "@bigpeer/engine/sync";
import type { PeerMessage, PeerPage } from "./peer-message.ts";
import { RemotePeer } from "./remote-peer.ts";

/** A node that may have peers. */
export interface PeerNode {
  readonly node: string;
  /** Different after each start of the node. */
  readonly instance: string;
  readonly url: string;
}

export interface RemotePeersHost {
  /** Other nodes that are alive. */
  readonly nodes: () => readonly PeerNode[];
  /** Whether a node has died, closes, or was started again. */
  readonly isGone: (node: PeerNode) => boolean;
  /** Whether every node that is alive has been heard. */
  readonly areAllHeard: () => boolean;
  /** Whether a session has a number of this node. */
  readonly isOf: (session: number, node: PeerNode) => boolean;
  /** Reads the peers of a node after a session. */
  readonly read: (node: PeerNode, after: number) => Promise<PeerPage>;
  /** A monotonic clock. */
  readonly elapsed: () => number;
}

/** Receives the sessions of other nodes. */
export type RemotePresence = Pick<SyncServer["presence"], "join" | "change" | "leave">;

/** The shortest time between two reads of a node: under constant loss, messages help little. */
const READ_AGAIN_MS = 500;

/** A node with peers whose feed was not heard of for so long is read again. */
const SILENT_MS_MAX = 20_000;

/** Messages that are kept while a node is read; after more, it is read once more. */
const KEPT_MAX = 200;

interface Tracked {
  readonly node: PeerNode;
  /** Undefined until the node was read. */
  feed: string | undefined;
  sequence: number;
  readonly peers: Map<number, RemotePeer>;
  isReading: boolean;
  /** Must be read again. */
  isStale: boolean;
  /** Messages that came while the node was read. */
  kept: PeerMessage[];
  readMs: number;
  heardMs: number;
}

interface WholeFeed extends Pick<PeerPage, "feed" | "sequence"> {
  readonly reports: readonly PeerReport[];
}

export class RemotePeers {
  readonly #host: RemotePeersHost;
  readonly #nodes = new Map<string, Tracked>();
  #presence: RemotePresence | undefined;
  #waiters: (() => void)[] = [];
  #isClosed = false;

  constructor(host: RemotePeersHost) {
    this.#host = host;
    this.check();
  }

  /** Sessions on all other nodes. */
  get size(): number {
    let size = 0;
    for (const { peers } of this.#nodes.values()) size += peers.size;
    return size;
  }

  /** The node of a session. */
  nodeOf(session: number): PeerNode | undefined {
    for (const { node, peers } of this.#nodes.values()) if (peers.has(session)) return node;
    return undefined;
  }

  /** Nodes with a session of a peer. */
  nodesWith(peerKey: string): PeerNode[] {
    const found: PeerNode[] = [];
    for (const { node, peers } of this.#nodes.values()) {
      for (const { description } of peers.values()) {
        if (description.key !== peerKey) continue;
        found.push(node);
        break;
      }
    }
    return found;
  }

  /**
   * Whether the peers of all nodes that are alive are known. Only then a device that is not among
   * them has left.
   */
  get isComplete(): boolean {
    return this.#host.areAllHeard() && this.#areAllRead;
  }

  /** Resolves when all nodes that are known now were read. */
  whenRead(): Promise<void> {
    if (this.#areAllRead || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Lists the sessions in a presence from now on. */
  attach(presence: RemotePresence): void {
    this.#presence = presence;
    for (const { peers } of this.#nodes.values())
      for (const peer of peers.values()) presence.join(peer);
  }

  /** Call about once a second. */
  check(): void {
    if (this.#isClosed) return;
    for (const tracked of this.#nodes.values()) {
      if (this.#host.isGone(tracked.node)) this.#forget(tracked);
    }
    for (const node of this.#host.nodes()) {
      const tracked = this.#nodes.get(node.node) ?? this.#track(node);
      const silentMs = this.#host.elapsed() - tracked.heardMs;
      if (tracked.peers.size > 0 && silentMs > SILENT_MS_MAX) tracked.isStale = true;
      if (tracked.isStale) this.#readSoon(tracked);
    }
    this.#settle();
  }

  receive(message: PeerMessage): void {
    const tracked = this.#nodes.get(message.node);
    // Its first message: if it is alive, it is read now.
    if (tracked === undefined) return this.check();
    tracked.heardMs = this.#host.elapsed();
    if (!tracked.isReading) this.#take(tracked, message);
    else if (tracked.kept.length < KEPT_MAX) tracked.kept.push(message);
    else tracked.isStale = true;
  }

  /** A node says how far its feed is. */
  noteFeed(node: string, feed: string, sequence: number): void {
    const tracked = this.#nodes.get(node);
    if (tracked === undefined || this.#isClosed) return;
    tracked.heardMs = this.#host.elapsed();
    const isBehind = tracked.feed !== feed || tracked.sequence < sequence;
    if (isBehind && !tracked.isReading) this.#readSoon(tracked);
  }

  /** The app is closed here. */
  close(): void {
    this.#isClosed = true;
    this.#nodes.clear();
    this.#settle();
  }

  get #areAllRead(): boolean {
    return this.#host.nodes().every(({ node, instance }) => {
      const tracked = this.#nodes.get(node);
      return tracked?.feed !== undefined && tracked.node.instance === instance;
    });
  }

  #settle(): void {
    if (!this.#isClosed && !this.#areAllRead) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  #track(node: PeerNode): Tracked {
    const tracked: Tracked = {
      node,
      feed: undefined,
      sequence: 0,
      peers: new Map(),
      isReading: false,
      isStale: true,
      kept: [],
      readMs: Number.NEGATIVE_INFINITY,
      heardMs: this.#host.elapsed(),
    };
    this.#nodes.set(node.node, tracked);
    return tracked;
  }

  #forget(tracked: Tracked): void {
    this.#nodes.delete(tracked.node.node);
    for (const session of Array.from(tracked.peers.keys())) this.#remove(tracked, session);
  }

  #take(tracked: Tracked, message: PeerMessage): void {
    const { feed, sequence } = message;
    const isSameFeed = tracked.feed === feed;
    if (isSameFeed && sequence <= tracked.sequence) return;
    if (!isSameFeed || sequence > tracked.sequence + 1) return this.#readSoon(tracked);
    tracked.sequence = sequence;
    for (const report of message.peers) this.#put(tracked, report);
    for (const state of message.states) tracked.peers.get(state.session)?.updateState(state);
    const left = message.isEnd ? Array.from(tracked.peers.keys()) : message.left;
    for (const session of left) this.#remove(tracked, session);
  }

  /** Reads a node now, or with a later check if it was read just now. */
  #readSoon(tracked: Tracked): void {
    tracked.isStale = true;
    const nowMs = this.#host.elapsed();
    if (tracked.isReading || nowMs - tracked.readMs < READ_AGAIN_MS) return;
    tracked.readMs = nowMs;
    void this.#read(tracked);
  }

  /** Never rejects. */
  async #read(tracked: Tracked): Promise<void> {
    tracked.isReading = true;
    tracked.isStale = false;
    const isCurrent = (): boolean => this.#nodes.get(tracked.node.node) === tracked;
    try {
      const whole = await this.#readAll(tracked.node);
      if (isCurrent()) this.#replace(tracked, whole);
    } catch {
      // It is tried again while the node is alive.
      tracked.isStale = true;
    } finally {
      tracked.isReading = false;
    }
    const { kept } = tracked;
    tracked.kept = [];
    if (!isCurrent()) return;
    for (const message of kept) this.receive(message);
    this.#settle();
  }

  async #readAll(node: PeerNode): Promise<WholeFeed> {
    const reports: PeerReport[] = [];
    let first: PeerPage | undefined;
    let after: number | undefined = 0;
    while (after !== undefined) {
      const page: PeerPage = await this.#host.read(node, after);
      first ??= page;
      if (page.feed !== first.feed) throw new Error("the feed is another one");
      for (const report of page.peers) reports.push(report);
      after = page.next;
    }
    // Later pages may have changes of later messages: to apply those again does no harm.
    return { feed: first?.feed ?? "", sequence: first?.sequence ?? 0, reports };
  }

  #replace(tracked: Tracked, { feed, sequence, reports }: WholeFeed): void {
    tracked.feed = feed;
    tracked.sequence = sequence;
    tracked.heardMs = this.#host.elapsed();
    const sessions = new Set(reports.map(({ session }) => session));
    for (const session of Array.from(tracked.peers.keys())) {
      if (!sessions.has(session)) this.#remove(tracked, session);
    }
    for (const report of reports) this.#put(tracked, report);
  }

  #put(tracked: Tracked, report: PeerReport): void {
    const { isOf, elapsed } = this.#host;
    const known = tracked.peers.get(report.session);
    if (known !== undefined) {
      if (known.update(report)) this.#presence?.change(known);
      return;
    }
    if (!isOf(report.session, tracked.node)) return;
    const peer = new RemotePeer(report, elapsed);
    tracked.peers.set(report.session, peer);
    this.#presence?.join(peer);
  }

  #remove({ peers }: Tracked, session: number): void {
    const peer = peers.get(session);
    if (peer === undefined) return;
    peers.delete(session);
    this.#presence?.leave(peer);
  }
}
