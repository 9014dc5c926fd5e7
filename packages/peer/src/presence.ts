/**
 * Presence: which other peers of the app are connected, and what they are told of this one.
 *
 * Who is there is told by the server, and only while somebody observes it.
 */

import type { PeerSync, Presence as ToldPresence } from "@bigpeer/engine";
import { equalValues, type PeerDescription, PeerError, type PresentPeer } from "@bigpeer/protocol";
import { kindOf } from "./argument-check.ts";
import { checkMetadata } from "./options.ts";
import { ownCopy, type PlainObject, plainCopy } from "./plain-value.ts";

/** A peer of the app, as others see it. */
export interface PeerPresence {
  /** Names the installation: the same after every restart. */
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
  /** Those that came first, 1,000 at most. Empty while nobody observes, and without a connection. */
  readonly remotePeers: readonly RemotePeerPresence[];
  /** All of them, listed or not. */
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

/** What an app has of it. */
export type PeerPresences = Omit<Presence, "close">;

/** Who is told, and how. */
interface Watching {
  readonly observer: PresenceObserver;
  readonly tell: () => void;
  /** The first news come by themselves: until then there is nothing to correct. */
  isTold: boolean;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #watching = new Set<Watching>();
  #metadata: PeerDescription["metadata"];
  /** Metadata was set, and who observes is told when the code that did it is over. */
  #isTelling = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#metadata = options.description.metadata;
  }

  get graph(): PresenceGraph {
    const { sync, description } = this.#options;
    const told: ToldPresence = sync.presence;
    const { key, deviceName, os, sdk } = description;
    const local = { key, deviceName, os, sdk, metadata: this.#metadata };
    return {
      localPeer: { ...shown(local), isConnected: told.isConnected },
      remotePeers: told.peers.map((peer) => ({ ...shown(peer), connectedSince: peer.since })),
      remotePeerCount: told.total,
    };
  }

  /** Calls `callback` soon with the graph of now, then whenever it is another. */
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
    const tell = (): void => {
      if (isStopped) return;
      watching.isTold = true;
      this.#call(callback);
    };
    const watching: Watching = { observer, tell, isTold: false };
    this.#watching.add(watching);
    const unwatch = this.#options.sync.watch(tell);
    return observer;
  }

  get peerMetadata(): PlainObject {
    return plainCopy(this.#metadata) as PlainObject;
  }

  /** Replaces what others may know of this peer, also `metadata` of its options: 16 KB at most. */
  setPeerMetadata(metadata: Readonly<Record<string, unknown>>): void {
    this.#options.checkOpen();
    if (metadata === undefined) {
      throw new PeerError("config.invalid", "expected an object as metadata, found undefined");
    }
    const next = checkMetadata(ownCopy(metadata));
    if (equalValues(next, this.#metadata)) return;
    this.#metadata = next;
    this.#options.sync.setMetadata(next);
    if (!this.#isTelling) queueMicrotask(() => this.#tell());
    this.#isTelling = true;
  }

  #tell(): void {
    this.#isTelling = false;
    for (const { isTold, tell } of this.#watching) if (isTold) tell();
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
