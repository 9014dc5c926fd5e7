/**
 * Presence of version 4: peers with the names of that version.
 */

import type {
  Observer,
  Peer as PeerOfVersion5,
  Presence as PresenceOfVersion5,
} from "../compat/index.ts";

/** As in version 5, with these names and both keys. */
export interface Peer extends Omit<PeerOfVersion5, "peerKey" | "isConnectedToDittoServer"> {
  /** The key as bytes. */
  peerKey: Uint8Array;
  peerKeyString: string;
  isConnectedToDittoCloud: boolean;
}

export interface PresenceGraph {
  localPeer: Peer;
  remotePeers: Peer[];
}

export class Presence {
  readonly #current: () => PresenceOfVersion5;

  constructor(current: () => PresenceOfVersion5) {
    this.#current = current;
  }

  get graph(): PresenceGraph {
    return graphOf(this.#current().graph);
  }

  get peerMetadata(): PresenceOfVersion5["peerMetadata"] {
    return this.#current().peerMetadata;
  }

  get peerMetadataJSONString(): string {
    return this.#current().peerMetadataJSONString;
  }

  setPeerMetadata(peerMetadata: PresenceOfVersion5["peerMetadata"]): Promise<void> {
    return this.#current().setPeerMetadata(peerMetadata);
  }

  setPeerMetadataJSONString(jsonString: string): Promise<void> {
    return this.#current().setPeerMetadataJSONString(jsonString);
  }

  /** Calls a function with the current graph at once, then each time the graph changes. */
  observe(didChangeHandler: (presenceGraph: PresenceGraph) => void): Observer {
    return this.#current().observe((graph) => didChangeHandler(graphOf(graph)));
  }
}

function graphOf({ localPeer, remotePeers }: PresenceOfVersion5["graph"]): PresenceGraph {
  return { localPeer: peerOf(localPeer), remotePeers: remotePeers.map(peerOf) };
}

function peerOf({ peerKey, isConnectedToDittoServer, ...peer }: PeerOfVersion5): Peer {
  return {
    ...peer,
    peerKey: new TextEncoder().encode(peerKey),
    peerKeyString: peerKey,
    isConnectedToDittoCloud: isConnectedToDittoServer,
  };
}
