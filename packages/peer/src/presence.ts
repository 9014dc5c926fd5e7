/**
 * Presence: which other peers of the app are connected, and the metadata that they see of this one.
 *
 * The server sends the list, and only while the app observes it (S41).
 */

import type { PeerSync, Presence as ServerPresence } from "@bigpeer/engine/peer";
import { equalValues, type PeerDescription, PeerError, type PresentPeer } from "@bigpeer/protocol";
import { checkFunction } from "./argument-check.ts";
import { checkMetadata } from "./options.ts";
import { ownCopy, type PlainObject, plainCopy } from "./plain-value.ts";

/**
 * A peer of the app, as others see it.
 *
 * @example
 * const describe = ({ deviceName, os }: PeerPresence): string => `${deviceName} (${os})`;
 * describe(peer.presence.graph.localPeer);
 */
export interface PeerPresence {
  /** Identifies the installation. It stays the same after a restart. */
  readonly peerKeyString: string;
  /** Name of the device. */
  readonly deviceName: string;
  /** Operating system, as Node names it: `linux`, `darwin` and so on. */
  readonly os: string;
  /** SDK and its version, for example `bigpeer-node/0.1.0`. */
  readonly sdkVersion: string;
  /** Metadata that the peer has set. */
  readonly peerMetadata: PlainObject;
}

/**
 * This peer, as others see it.
 *
 * @example
 * const local: LocalPeerPresence = peer.presence.graph.localPeer;
 * console.log(local.isConnected); // false
 */
export interface LocalPeerPresence extends PeerPresence {
  /** Whether this peer is connected to its server. */
  readonly isConnected: boolean;
}

/**
 * Another peer that is connected to the server.
 *
 * @example
 * const byAge = (a: RemotePeerPresence, b: RemotePeerPresence): number =>
 *   a.connectedSince - b.connectedSince;
 * const oldest = peer.presence.graph.remotePeers.toSorted(byAge)[0];
 */
export interface RemotePeerPresence extends PeerPresence {
  /** Since when it is connected, in milliseconds since 1970. */
  readonly connectedSince: number;
}

/**
 * The connected peers of the app, as the server knows them.
 *
 * @example
 * const { remotePeers, remotePeerCount }: PresenceGraph = peer.presence.graph;
 * console.log(remotePeers, remotePeerCount); // [] 0
 */
export interface PresenceGraph {
  /** This peer. */
  readonly localPeer: LocalPeerPresence;
  /** The peers that connected first, at most 1,000. Empty without an observer or a connection. */
  readonly remotePeers: readonly RemotePeerPresence[];
  /** Number of all connected peers, listed or not. */
  readonly remotePeerCount: number;
}

/**
 * An observer of presence, as {@link PeerPresences.observe} returns it.
 *
 * @example
 * const observer: PresenceObserver = peer.presence.observe(() => undefined);
 * observer.stop();
 * console.log(observer.isStopped); // true
 */
export interface PresenceObserver {
  /** Whether it has ended. */
  readonly isStopped: boolean;
  /** Ends the observer. A second call has no effect. */
  stop(): void;
}

export interface PresenceOptions {
  readonly sync: Pick<PeerSync, "watch" | "presence" | "setMetadata">;
  readonly description: PeerDescription;
  readonly onError: (error: unknown) => void;
  readonly checkOpen: () => void;
}

/**
 * `peer.presence`: which other peers of the app are connected, and what they see of this one.
 *
 * @example
 * const observer = peer.presence.observe(({ remotePeers }) => {
 *   console.log(remotePeers.map(({ deviceName }) => deviceName));
 * });
 * peer.presence.setPeerMetadata({ role: "till", battery: 80 });
 * observer.stop();
 */
export type PeerPresences = Omit<Presence, "close">;

/** An observer, and how it is notified. */
interface Watching {
  readonly observer: PresenceObserver;
  readonly notify: () => void;
  /** Whether the first notification came: before it there is nothing to correct. */
  isNotified: boolean;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #watching = new Set<Watching>();
  #metadata: PeerDescription["metadata"];
  /** Metadata was set: observers are notified when the current code has ended. */
  #isNotifying = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#metadata = options.description.metadata;
  }

  /**
   * The current graph. The server sends the other peers only while an observer is active;
   * otherwise the list is empty.
   */
  get graph(): PresenceGraph {
    const { sync, description } = this.#options;
    const fromServer: ServerPresence = sync.presence;
    const { key, deviceName, os, sdk } = description;
    const local = { key, deviceName, os, sdk, metadata: this.#metadata };
    return {
      localPeer: { ...shown(local), isConnected: fromServer.isConnected },
      remotePeers: fromServer.peers.map((peer) => ({ ...shown(peer), connectedSince: peer.since })),
      remotePeerCount: fromServer.total,
    };
  }

  /**
   * Calls a function soon with the current graph, then each time the graph changes.
   *
   * @param callback - Receives the graph. If it throws, the peer emits `error`.
   * @returns The observer, which stays active until `stop()`.
   * @throws `config.invalid`: `callback` is not a function.
   * @throws `store.closed`: the peer is closed.
   */
  observe(callback: (graph: PresenceGraph) => unknown): PresenceObserver {
    this.#options.checkOpen();
    checkFunction(callback, "a callback");
    let isStopped = false;
    const observer: PresenceObserver = {
      get isStopped() {
        return isStopped;
      },
      stop: () => {
        isStopped = true;
        if (this.#watching.delete(watching)) unwatch();
      },
    };
    const notify = (): void => {
      if (isStopped) return;
      watching.isNotified = true;
      this.#call(callback);
    };
    const watching: Watching = { observer, notify, isNotified: false };
    this.#watching.add(watching);
    const unwatch = this.#options.sync.watch(notify);
    return observer;
  }

  /** The metadata of this peer: a copy. */
  get peerMetadata(): PlainObject {
    return plainCopy(this.#metadata) as PlainObject;
  }

  /**
   * Replaces the metadata of this peer. Remote statements can select peers by it.
   *
   * @param metadata - An object of values, at most 16 KB as CBOR.
   * @throws `config.invalid`: the metadata is not an object, or it is too large.
   * @throws `value.invalid`: the metadata holds something that is not a value.
   * @throws `store.closed`: the peer is closed.
   */
  setPeerMetadata(metadata: Readonly<Record<string, unknown>>): void {
    this.#options.checkOpen();
    if (metadata === undefined) {
      throw new PeerError("config.invalid", "expected an object as metadata, found undefined");
    }
    const next = checkMetadata(ownCopy(metadata));
    if (equalValues(next, this.#metadata)) return;
    this.#metadata = next;
    this.#options.sync.setMetadata(next);
    if (!this.#isNotifying) queueMicrotask(() => this.#notifyAll());
    this.#isNotifying = true;
  }

  #notifyAll(): void {
    this.#isNotifying = false;
    for (const { isNotified, notify } of this.#watching) if (isNotified) notify();
  }

  close(): void {
    for (const { observer } of this.#watching) observer.stop();
  }

  #call(callback: (graph: PresenceGraph) => unknown): void {
    try {
      const given = callback(this.graph);
      if (given instanceof Promise) given.catch(this.#options.onError);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

function shown(peer: Omit<PresentPeer, "session" | "since">): PeerPresence {
  const { key, deviceName, os, sdk, metadata } = peer;
  const peerMetadata = plainCopy(metadata) as PlainObject;
  return { peerKeyString: key, deviceName, os, sdkVersion: sdk, peerMetadata };
}
