/**
 * Presence: the other peers, as the server knows them, and the metadata of this one.
 *
 * The server sends the peers only while they are observed. So the first read of `graph` begins an
 * observation that lasts as long as the instance.
 */

import type {
  LocalPeerPresence,
  PresenceGraph as PeerGraph,
  RemotePeerPresence,
} from "../presence.ts";
import { VERSION } from "../version.ts";
import type { AnyObject } from "./any-value.ts";
import { DittoError, dittoError } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";
import { jsonText } from "./json-text.ts";
import { Logger } from "./logger.ts";
import { Observer } from "./observer.ts";

export type ConnectionType = "P2PWiFi" | "WebSocket" | "AccessPoint" | "Bluetooth" | "Multicast";

/** A connection between two small peers. There are none: each has one to the server. */
export type Connection = {
  id: string;
  connectionType: ConnectionType;
  peer1: string;
  peer2: string;
};

export type PeerOS = "Generic" | "iOS" | "tvOS" | "Android" | "Linux" | "Windows" | "macOS";

export type Peer = {
  /** Identifies the installation. It stays the same after a restart. */
  peerKey: string;
  peerMetadata: AnyObject;
  identityServiceMetadata: AnyObject;
  deviceName: string;
  connections: Connection[];
  isConnectedToDittoServer: boolean;
  isCompatible?: boolean;
  os?: PeerOS;
  dittoSdkVersion?: string;
};

export type PresenceGraph = {
  localPeer: Peer;
  /** The other peers that are connected to the server. */
  remotePeers: Peer[];
};

export type ConnectionRequestAuthorization = "allow" | "deny";

export type ConnectionRequestHandler = (
  connectionRequest: ConnectionRequest,
) => Promise<ConnectionRequestAuthorization>;

/** Another small peer that wants to connect to this one. None does: all connect to the server. */
export interface ConnectionRequest {
  readonly peerKey: string;
  readonly peerMetadata: AnyObject;
  readonly peerMetadataJSONString: string;
  readonly identityServiceMetadata: AnyObject;
  readonly identityServiceMetadataJSONString: string;
  readonly connectionType: ConnectionType;
}

const NO_REQUESTS =
  "presence.connectionRequestHandler is never called: small peers connect to the server alone, whose permissions decide";

export class Presence<D extends Instance = Instance> {
  readonly ditto: D;
  readonly #observers = new Set<Observer>();
  #handler: ConnectionRequestHandler | null = null;
  /** Metadata that was set while the peer was opening. */
  #metadata: AnyObject | undefined;
  #isKept = false;
  /** Whether the graph is observed for its readers. */
  #isWatched = false;

  constructor(ditto: D) {
    this.ditto = ditto;
  }

  /** The current graph. After the first read it takes a moment until the other peers are in it. */
  get graph(): PresenceGraph {
    this.ditto.checkOpen();
    this.#watch();
    const { peer } = this.ditto.opening;
    return peer === undefined ? this.#early() : graphOf(peer.presence.graph);
  }

  get connectionRequestHandler(): ConnectionRequestHandler | null {
    return this.#handler;
  }

  /** Kept, and never called. */
  set connectionRequestHandler(handler: ConnectionRequestHandler | null) {
    if (handler !== null) Logger.warnOnce(NO_REQUESTS);
    this.#handler = handler;
  }

  /** The metadata of this peer: a copy. */
  get peerMetadata(): AnyObject {
    return { ...(this.ditto.opening.peer?.presence.peerMetadata ?? this.#metadata) };
  }

  get peerMetadataJSONString(): string {
    return jsonText(this.peerMetadata);
  }

  /** Replaces the metadata that other peers see, at most 16 KB. */
  async setPeerMetadata(peerMetadata: AnyObject): Promise<void> {
    this.ditto.checkOpen();
    if (typeof peerMetadata !== "object" || peerMetadata === null || Array.isArray(peerMetadata)) {
      throw new DittoError("validation/not-an-object", "expected an object as the peer metadata");
    }
    const before = this.#metadata;
    this.#metadata = peerMetadata;
    const peer = await this.ditto.opening.opened;
    try {
      peer.presence.setPeerMetadata(peerMetadata);
    } catch (error) {
      this.#metadata = before;
      throw dittoError(error, METADATA_CODES);
    }
    this.#keepMetadata();
  }

  async setPeerMetadataJSONString(jsonString: string): Promise<void> {
    await this.setPeerMetadata(parsedObject(jsonString));
  }

  /** Calls a function with the current graph at once, then each time the graph changes. */
  observe(didChangeHandler: (presenceGraph: PresenceGraph) => void): Observer {
    this.ditto.checkOpen();
    let end: (() => void) | undefined;
    let forget: (() => void) | undefined;
    const observer = new Observer(() => {
      this.#observers.delete(observer);
      forget?.();
      end?.();
    });
    this.#observers.add(observer);
    didChangeHandler(this.graph);
    if (observer.isStopped) return observer;
    forget = this.ditto.opening.whenOpen((peer) => {
      const held = peer.presence.observe((graph) => didChangeHandler(graphOf(graph)));
      end = () => held.stop();
    });
    return observer;
  }

  /** Ends all observers. */
  close(): void {
    for (const observer of this.#observers) observer.stop();
  }

  /** A peer that is opened anew gets the metadata, too. */
  #keepMetadata(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    this.ditto.opening.whenOpen((peer) => {
      if (this.#metadata !== undefined) peer.presence.setPeerMetadata(this.#metadata);
    });
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.ditto.opening.whenOpen((peer) => void peer.presence.observe(() => undefined));
  }

  /** The graph before the peer is open. */
  #early(): PresenceGraph {
    return {
      localPeer: {
        peerKey: "",
        peerMetadata: { ...this.#metadata },
        identityServiceMetadata: {},
        deviceName: this.ditto.deviceName,
        connections: [],
        isConnectedToDittoServer: false,
        isCompatible: true,
        dittoSdkVersion: VERSION,
      },
      remotePeers: [],
    };
  }
}

const METADATA_CODES = {
  "config.invalid": "validation/size-limit-exceeded",
  "value.invalid": "validation/not-json-compatible",
} as const;

/** Throws DittoError for a text that is no JSON, or no object. */
export function parsedObject(jsonString: string): AnyObject {
  let value: unknown;
  try {
    value = JSON.parse(jsonString);
  } catch (cause) {
    throw new DittoError("validation/invalid-json", `expected JSON: ${String(cause)}`, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new DittoError("validation/not-an-object", "expected the JSON of an object");
}

function graphOf({ localPeer, remotePeers }: PeerGraph): PresenceGraph {
  return {
    localPeer: peerOf(localPeer, localPeer.isConnected),
    remotePeers: remotePeers.map((peer) => peerOf(peer, true)),
  };
}

function peerOf(
  {
    peerKeyString,
    deviceName,
    os,
    sdkVersion,
    peerMetadata,
  }: LocalPeerPresence | RemotePeerPresence,
  isConnected: boolean,
): Peer {
  return {
    peerKey: peerKeyString,
    peerMetadata,
    identityServiceMetadata: {},
    deviceName,
    connections: [],
    isConnectedToDittoServer: isConnected,
    isCompatible: true,
    os: SYSTEMS[os] ?? "Generic",
    dittoSdkVersion: sdkVersion,
  };
}

/** The names of operating systems here, by those of Node. */
const SYSTEMS: Readonly<Record<string, PeerOS>> = {
  linux: "Linux",
  Linux: "Linux",
  darwin: "macOS",
  Darwin: "macOS",
  win32: "Windows",
  Windows_NT: "Windows",
  android: "Android",
  ios: "iOS",
};
