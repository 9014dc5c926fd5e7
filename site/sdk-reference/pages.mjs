/**
 * The pages of the reference: which exported symbol is described where, in which order.
 */

export const PAGES = [
  {
    path: "peer.md",
    title: "Peer",
    introduction: "Opens a small peer, and listens to its events.",
    symbols: [
      "openPeer",
      "Peer",
      "PeerOptions",
      "CommonOptions",
      "StorageOptions",
      "CredentialOptions",
      "EraseOptions",
      "PeerEvents",
      "Listener",
    ],
  },
  {
    path: "store.md",
    title: "Store",
    introduction: "Reads, writes and observes the documents on the device.",
    symbols: [
      "PeerDocuments",
      "QueryResult",
      "Warning",
      "StoreTransaction",
      "TransactionResult",
      "StoreObserver",
      "ObserverCallback",
      "ObservedResult",
      "RefusedUpload",
      "UploadStep",
      "Arguments",
      "PlainObject",
      "PlainValue",
    ],
  },
  {
    path: "sync.md",
    title: "Sync",
    introduction: "Connects to the server, and subscribes to documents.",
    symbols: [
      "PeerConnection",
      "SyncSubscription",
      "SubscriptionOptions",
      "SubscriptionStatus",
      "SyncStatus",
      "SyncState",
      "AwayCode",
      "EndCode",
    ],
  },
  {
    path: "attachments.md",
    title: "Attachments",
    introduction: "Creates and fetches contents that are too large for documents.",
    symbols: [
      "PeerAttachments",
      "AttachmentToken",
      "AttachmentContent",
      "FetchOptions",
      "FetchProgress",
      "FetchedAttachment",
    ],
  },
  {
    path: "auth.md",
    title: "Auth",
    introduction: "Logs in and out, and shows the user of the peer.",
    symbols: ["PeerAuth", "AuthStatus", "Login", "LoginDetails", "SessionDetails"],
  },
  {
    path: "presence.md",
    title: "Presence",
    introduction: "Shows which other peers of the app are connected.",
    symbols: [
      "PeerPresences",
      "PresenceGraph",
      "PeerPresence",
      "LocalPeerPresence",
      "RemotePeerPresence",
      "PresenceObserver",
    ],
  },
  {
    path: "remote.md",
    title: "Remote statements",
    introduction: "Decides which statements of others the peer runs, and reports them.",
    symbols: ["RemotePolicy", "RemoteStatement", "RemoteRun"],
  },
  {
    path: "errors.md",
    title: "Errors",
    introduction: "The error class of the SDK, and its codes.",
    symbols: ["PeerError", "ErrorCode", "ErrorDetails", "TextPlace"],
  },
];

/** Types that signatures name and another document describes. */
export const DESCRIBED_ELSEWHERE = new Map([
  ["UploadOperation", "docs/sync-protocol.md#step"],
  ["Value", "docs/data-model.md#values"],
]);
