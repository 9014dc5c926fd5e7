/**
 * Presence: which other peers of the app are connected, and the metadata that they see of this one.
 *
 * The server sends the list, and only while the app observes it (S41).
 */

import type { PeerSync, Presence as ServerPresence } from "@bigpeer/engine";
import { equalValues, type PeerDescription, PeerError, type PresentPeer } from "@bigpeer/protocol";
import { kindOf } from "./argument-check.ts";
import { checkMetadata } from "./options.ts";
import { ownCopy, type PlainObject, plainCopy } from "./plain-value.ts";

/** A peer of the app, as others see it. */
export interface PeerPresence {
  /** Identifies the installation: the same after each restart. */
  readonly peerKeyString: string;
  readonly deviceName: string;
  readonly os: string;
  readonly sdkVersion: string;
  readonly peerMetadata: PlainObject;
}

export interface LocalPeerPresence extends PeerPresence {
  /** Whether this peer is connected to its server. */
  readonly isConnected: boolean;
}

export interface RemotePeerPresence extends PeerPresence {
  /** Milliseconds since 1970. */
  readonly connectedSince: number;
}

export interface PresenceGraph {
  readonly localPeer: LocalPeerPresence;
  /** The peers that connected first, at most 1,000. Empty without an observer or a connection. */
  readonly remotePeers: readonly RemotePeerPresence[];
  /** Number of all connected peers, listed or not. */
  readonly remotePeerCount: number;
}

export interface PresenceObserver {
  readonly isStopped: boolean;
  /** May be called again. */
  stop(): void;
}

export interface PresenceOptions {
  readonly sync: Pick<PeerSync, "watch" | "presence" | "setMetadata">;
  readonly description: PeerDescription;
  readonly onError: (error: unknown) => void;
  readonly checkOpen: () => void;
}

/** The part of Presence that an app can use. */
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

  /** Calls `callback` soon with the current graph, then each time it changes. */
  observe(callback: (graph: PresenceGraph) => unknown): PresenceObserver {
    this.#options.checkOpen();
    if (typeof callback !== "function") {
      throw new PeerError("config.invalid", `expected a callback, found ${kindOf(callback)}`);
    }
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

  get peerMetadata(): PlainObject {
    return plainCopy(this.#metadata) as PlainObject;
  }

  /** Replaces the metadata of this peer, also that of its options: at most 16 KB. */
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
