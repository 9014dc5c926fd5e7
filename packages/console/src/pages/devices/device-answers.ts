/**
 * Devices as the server describes them: the connected ones, and why a document is on one or not.
 */
/** Values by their names. */
export type Fields = Readonly<Record<string, unknown>>;

export interface DeviceSubscription {
  readonly query: string;
  readonly args: Fields;
  readonly collection?: string;
  readonly state: "waiting" | "filling" | "live" | "behind";
}

export interface Device {
  readonly peerKeyString: string;
  readonly deviceName: string;
  readonly os: string;
  readonly sdkVersion: string;
  readonly userId?: string;
  readonly peerMetadata: Fields;
  readonly identityServiceMetadata: Fields;
  readonly address?: string;
  readonly connectedSince: number;
  readonly expiresAt?: number;
  readonly site: string;
  readonly subscriptions: readonly DeviceSubscription[];
  readonly otherSubscriptions?: number;
  readonly sync: {
    readonly sentUpTo: number;
    readonly appliedUpTo?: number;
    readonly lag: number;
    readonly pending?: number;
    readonly uploads: number;
  };
  readonly transport: {
    readonly framesIn: number;
    readonly framesOut: number;
    readonly bytesIn: number;
    readonly bytesOut: number;
    readonly queuedBytes: number;
    readonly roundTripMs?: number;
    readonly heardMsAgo: number;
    readonly lastError?: { readonly code: string; readonly message: string; readonly at: number };
  };
}

export interface DevicePage {
  readonly peers: readonly Device[];
  /** There are more behind this. */
  readonly next?: number;
}

/** What the collection `__small_peer_info` keeps of a device. */
export interface KnownDevice {
  readonly peerKeyString: string;
  readonly deviceName?: string;
  readonly os?: string;
  readonly sdkVersion?: string;
  readonly credential: string;
  readonly status: "connected" | "left";
  readonly lastSeen: number;
  readonly subscriptions?: readonly DeviceSubscription[];
}

export type Verdict =
  | "on_peer"
  | "sent"
  | "queued"
  | "not_yet_sent"
  | "not_subscribed"
  | "not_permitted"
  | "refused"
  | "stale"
  | "no_such_document"
  | "not_connected";

export interface ExplainedSubscription {
  readonly query: string;
  readonly args: Fields;
  readonly state: string;
  readonly isMatching?: boolean;
  readonly isPermitted?: boolean;
  readonly sentUpTo?: number;
  readonly error?: string;
}

export interface ExplainedUpload {
  readonly number: number;
  readonly txn: number;
  readonly outcome: "refused" | "stale";
  readonly reason: string;
}

export interface Explanation {
  readonly peer: {
    readonly peerKeyString: string;
    readonly deviceName?: string;
    readonly connectedSince?: number;
    readonly lastSeen?: number;
    readonly status?: string;
  };
  readonly verdict: Verdict;
  readonly reason: string;
  readonly document: {
    readonly collection: string;
    readonly id: unknown;
    readonly exists: boolean;
    readonly isDeleted: boolean;
    readonly changedAt?: number;
  };
  readonly subscriptions: readonly ExplainedSubscription[];
  readonly txnIds: {
    readonly documentTxn?: number;
    readonly sentUpTo?: number;
    readonly appliedUpTo?: number;
    readonly serverTxn: number;
  };
  readonly uploads: readonly ExplainedUpload[];
}
