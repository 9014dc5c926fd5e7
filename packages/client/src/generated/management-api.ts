/**
 * Types of the management API. scripts/client-schemas.mjs makes this file from the OpenAPI document.
 */

export type NewApp = {
  readonly name: string;
  /** A UUID; by default a random one. */
  readonly appId?: string | null | undefined;
  readonly authProviders?: { readonly [name: string]: unknown } | null | undefined;
};

export type AppChange = {
  readonly name?: string | null | undefined;
  readonly appId?: string | null | undefined;
  readonly authProviders: { readonly [name: string]: unknown };
};

export type NewApiKey = {
  readonly name: string;
  /** `read`, `write` and `remoteQuery`, like the permissions of an answer. */
  readonly permissions: { readonly [name: string]: unknown };
  /** A time of RFC 3339; by default never. */
  readonly expiresAt?: string | null | undefined;
  readonly description?: string | null | undefined;
};

export type ApiKeyChange = {
  readonly name?: string | null | undefined;
  /** `read`, `write` and `remoteQuery`, like the permissions of an answer. */
  readonly permissions: { readonly [name: string]: unknown };
  /** A time of RFC 3339; by default never. */
  readonly expiresAt?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly lastUsedAt?: string | null | undefined;
};

export type ApiKeyRotation = {
  /** How long the old text of the key still works; by default 0. */
  readonly graceSeconds?: number | null | undefined;
};

export type NewReplication = {
  readonly name: string;
  readonly connections?: readonly string[] | null | undefined;
  readonly queriesByCollection?: { readonly [name: string]: readonly string[] } | null | undefined;
  readonly attachments?: "onDemand" | "eager" | null | undefined;
};

export type ReplicationChange = {
  readonly name?: string | null | undefined;
  readonly connections?: readonly string[] | null | undefined;
  readonly queriesByCollection?: { readonly [name: string]: readonly string[] } | null | undefined;
  readonly attachments?: "onDemand" | "eager" | null | undefined;
};

export type ReplicationSecret = {
  /** 16 to 1,024 ASCII characters without spaces. */
  readonly secret: string;
};

export type NewWebhook = {
  readonly name: string;
  readonly collection?: string | null | undefined;
  /** A filter; by default all documents. */
  readonly query?: string | null | undefined;
  /** By default all of them. */
  readonly events?: readonly ("insert" | "update" | "delete" | "leave")[] | null | undefined;
  /** With `https:` or `http:`. */
  readonly url?: string | null | undefined;
  /** `whsec_` and 24 to 64 bytes in base64. A new webhook without one gets one. */
  readonly secret?: string | null | undefined;
  /** Whether the URL may lead to an address that is not on the public internet. */
  readonly allowPrivate?: boolean | null | undefined;
};

export type WebhookChange = {
  readonly name?: string | null | undefined;
  readonly collection?: string | null | undefined;
  /** A filter; by default all documents. */
  readonly query?: string | null | undefined;
  /** By default all of them. */
  readonly events?: readonly ("insert" | "update" | "delete" | "leave")[] | null | undefined;
  /** With `https:` or `http:`. */
  readonly url?: string | null | undefined;
  /** `whsec_` and 24 to 64 bytes in base64. A new webhook without one gets one. */
  readonly secret?: string | null | undefined;
  /** Whether the URL may lead to an address that is not on the public internet. */
  readonly allowPrivate?: boolean | null | undefined;
  readonly isPaused?: boolean | null | undefined;
};

export type NewSink = {
  readonly name: string;
  readonly collection?: string | null | undefined;
  /** A filter; by default all documents. */
  readonly query?: string | null | undefined;
  /** By default all of them. */
  readonly events?: readonly ("insert" | "update" | "delete" | "leave")[] | null | undefined;
  readonly servers?: readonly string[] | null | undefined;
  /**
   * The subject, with any of {app}, {collection}, {type} and {id}; by default
   * `bigpeer.{app}.{collection}.{type}`.
   */
  readonly subject?: string | null | undefined;
  readonly user?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly token?: string | null | undefined;
};

export type SinkChange = {
  readonly name?: string | null | undefined;
  readonly collection?: string | null | undefined;
  /** A filter; by default all documents. */
  readonly query?: string | null | undefined;
  /** By default all of them. */
  readonly events?: readonly ("insert" | "update" | "delete" | "leave")[] | null | undefined;
  readonly servers?: readonly string[] | null | undefined;
  /**
   * The subject, with any of {app}, {collection}, {type} and {id}; by default
   * `bigpeer.{app}.{collection}.{type}`.
   */
  readonly subject?: string | null | undefined;
  readonly user?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly token?: string | null | undefined;
  readonly isPaused?: boolean | null | undefined;
};

export type Resume = {
  /** Where deliveries go on: where they stopped (default), or at another position. */
  readonly from?: "position" | "now" | "oldest" | null | undefined;
};

export type NewProvider = {
  readonly name: string;
  readonly config: { readonly [name: string]: unknown };
};

export type ProviderChange = {
  readonly name?: string | null | undefined;
  readonly config: { readonly [name: string]: unknown };
};

export type SignIn = {
  /** The console token, or the admin token of the server. */
  readonly token: string;
};

export type SeeAs = {
  /** The name of an API key of the app. */
  readonly key?: string | null | undefined;
  /** The name of an auth provider of the app. */
  readonly provider?: string | null | undefined;
  /** `read` and `write`, like the permissions of an API key. */
  readonly permissions?: unknown;
  /** The user, for `provider` or `permissions`. */
  readonly userId?: string | null | undefined;
  readonly claims?: { readonly [name: string]: unknown } | null | undefined;
};

export type ConsoleQueryRequest = {
  /** One statement of the statement language. */
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  readonly as?: SeeAs | null | undefined;
};

export type PermissionTrial = {
  /** `read` and `write`, like the permissions of an API key. */
  readonly permissions: unknown;
  /** The user, if the permissions name the caller. */
  readonly userId?: string | null | undefined;
  readonly claims?: { readonly [name: string]: unknown } | null | undefined;
  /** By default all of the app. */
  readonly collections?: readonly string[] | null | undefined;
};

export type ProviderTest = {
  /** A token as a client sends it with a login. */
  readonly token: string;
};

export type Settings = {
  readonly strictV4: boolean;
  readonly unknownCollectionsAreEmpty: boolean;
};

export type SettingsChange = {
  readonly strictV4?: boolean | null | undefined;
  readonly unknownCollectionsAreEmpty?: boolean | null | undefined;
};

export type FindByIdRequest = {
  /** Name of the collection. */
  readonly collection: string;
  readonly id: unknown;
  /** Adds a download `url` to attachments. */
  readonly formatAttachment?: boolean | null | undefined;
  readonly serializedAs?: SerializedAs | null | undefined;
};

export type SerializedAs = "latestValues" | "latestValuesAndTypes";

export type RemoteExecuteRequest = {
  /** `SYNC CONTEXT ( PEERS [WHERE …] )`, then the statement for those peers. */
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type QueryResponse = {
  readonly queryType: "select" | "mutation" | "unknown";
  readonly items: readonly unknown[];
  readonly mutatedDocumentIds: readonly unknown[];
  readonly warnings: readonly QueryResponseWarning[];
  readonly totalWarningsCount: number;
  readonly transactionId?: number | undefined;
  readonly error?: QueryResponseError | undefined;
};

export type QueryResponseWarning = {
  readonly description: string;
  readonly _id?: unknown;
};

export type QueryResponseError = {
  readonly description?: string | undefined;
};

export type FindByIdResponse = {
  readonly id: unknown;
  /** The content; null when there is no such document. */
  readonly fields: unknown;
  readonly txnId?: number | undefined;
};

export type RemoteExecuteResponse = {
  readonly result: readonly RemoteExecutePeerItem[];
  readonly error?: RemoteExecuteError | undefined;
};

export type RemoteExecutePeerItem = {
  readonly peer?: unknown;
  readonly items?: readonly unknown[] | undefined;
  readonly elapsedMilliseconds?: unknown;
  readonly error?: RemoteExecuteError | undefined;
  readonly warnings?: readonly unknown[] | undefined;
  readonly totalWarningsCount?: unknown;
};

export type RemoteExecuteError = {
  readonly description: string;
};

export type RpcError = {
  readonly message: string;
};

export type UploadedAttachment = {
  readonly id: string;
  readonly len: number;
};

export type SyncPeersResponse = {
  readonly peers: readonly SyncPeer[];
  /** There are more, behind this: ask with `after`. */
  readonly next?: number | undefined;
};

export type SyncPeer = {
  /** Names the installation. */
  readonly peerKeyString: string;
  readonly deviceName: string;
  readonly os: string;
  readonly sdkVersion: string;
  /** Left out for an API key. */
  readonly userId?: string | undefined;
  readonly peerMetadata: { readonly [name: string]: unknown };
  readonly identityServiceMetadata: { readonly [name: string]: unknown };
  readonly address?: string | undefined;
  /** Milliseconds since 1970. */
  readonly connectedSince: number;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  readonly site: string;
  readonly subscriptions: readonly SyncSubscription[];
  readonly otherSubscriptions?: number | undefined;
  readonly sync: SyncProgress;
  readonly transport: SyncTransport;
};

export type SyncSubscription = {
  readonly query: string;
  readonly args: { readonly [name: string]: unknown };
  readonly collection?: string | undefined;
  readonly state: "waiting" | "filling" | "live" | "behind";
};

export type SyncProgress = {
  readonly sentUpTo: number;
  readonly appliedUpTo?: number | undefined;
  readonly lag: number;
  readonly pending?: number | undefined;
  readonly uploads: number;
};

export type SyncTransport = {
  readonly framesIn: number;
  readonly framesOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly queuedBytes: number;
  /** Milliseconds. */
  readonly roundTripMs?: number | undefined;
  /** Milliseconds. */
  readonly heardMsAgo: number;
  readonly lastError?: SyncFault | undefined;
};

export type SyncFault = {
  readonly code: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};

export type SyncExplainResponse = {
  readonly items: readonly SyncExplanation[];
};

export type SyncExplanation = {
  readonly peer: { readonly [name: string]: unknown };
  readonly verdict:
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
  readonly reason: string;
  readonly document: ExplainedDocument;
  readonly subscriptions: readonly ExplainedSubscription[];
  readonly txnIds: ExplainedTransactions;
  readonly uploads: readonly ExplainedUpload[];
};

export type ExplainedDocument = {
  readonly collection: string;
  readonly id: unknown;
  readonly exists: boolean;
  readonly isDeleted: boolean;
  readonly changedAt?: number | undefined;
};

export type ExplainedSubscription = {
  readonly query: string;
  readonly args: { readonly [name: string]: unknown };
  readonly state: string;
  readonly isMatching?: boolean | undefined;
  readonly isPermitted?: boolean | undefined;
  readonly sentUpTo?: number | undefined;
  readonly error?: string | undefined;
};

export type ExplainedTransactions = {
  readonly documentTxn?: number | undefined;
  readonly sentUpTo?: number | undefined;
  readonly appliedUpTo?: number | undefined;
  readonly serverTxn: number;
};

export type ExplainedUpload = {
  readonly site: string;
  readonly number: number;
  readonly txn: number;
  readonly outcome: "refused" | "stale";
  readonly reason: string;
};

export type App = {
  readonly name: string;
  /** A UUID. */
  readonly appId: string;
  readonly authProviders: { readonly [name: string]: AuthProvider };
};

/** Without its secrets. */
export type AuthProvider = AnonymousProvider | TokenWebhookProvider | JwtProvider;

export type AnonymousProvider = {
  readonly type: "anonymous";
  readonly permission: Permissions;
  /** In seconds. */
  readonly sessionLength: number;
  readonly loopbackOnly: boolean;
};

export type Permissions = {
  readonly remoteQuery: boolean;
  readonly read: AccessRule;
  readonly write: AccessRule;
};

export type AccessRule = {
  readonly everything: boolean;
  readonly queriesByCollection: { readonly [name: string]: readonly string[] };
};

export type TokenWebhookProvider = {
  readonly type: "tokenWebhook";
  readonly webhookUrl: string;
};

export type JwtProvider = {
  readonly type: "jwt";
  readonly jwks?: { readonly [name: string]: unknown } | undefined;
  readonly jwksUrl?: string | undefined;
  readonly issuer?: string | undefined;
  readonly audience?: string | readonly string[] | undefined;
  readonly algorithms?:
    | readonly ("HS256" | "RS256" | "PS256" | "ES256" | "EdDSA" | "Ed25519")[]
    | undefined;
  /** In seconds. */
  readonly clockTolerance?: number | undefined;
  readonly permission?: Permissions | undefined;
};

export type AppList = {
  readonly data: readonly AppSummary[];
  readonly meta: PageMeta;
};

/** An app without its auth providers. */
export type AppSummary = {
  readonly name: string;
  readonly appId: string;
};

/** Pages count from 1. */
export type PageMeta = {
  readonly page: number;
  readonly size: number;
  readonly totalPages: number;
};

export type DeletedAppList = {
  readonly data: readonly DeletedApp[];
  readonly meta: PageMeta;
};

export type DeletedApp = {
  readonly name: string;
  readonly appId: string;
  /** A time of RFC 3339, in UTC. */
  readonly deletedAt: string;
  /** From this time on its data may be removed. */
  readonly removedAfter: string;
};

/** Without its text, which is shown once. */
export type ApiKey = {
  readonly name: string;
  readonly description: string | null;
  readonly permissions: Permissions;
  /** A time of RFC 3339, in UTC. */
  readonly expiresAt: string | null;
  /** A time of RFC 3339, in UTC. */
  readonly createdAt: string;
  /** A time of RFC 3339, in UTC. */
  readonly lastUsedAt: string | null;
};

export type ApiKeyList = {
  readonly data: readonly ApiKey[];
  readonly meta: PageMeta;
};

export type Provider = {
  readonly name: string;
  readonly config: AuthProvider;
};

export type ProviderList = {
  readonly data: readonly Provider[];
  readonly meta: PageMeta;
};

export type Replication = {
  readonly name: string;
  readonly connections: readonly string[];
  readonly queriesByCollection: { readonly [name: string]: readonly string[] };
  readonly attachments?: "onDemand" | "eager" | undefined;
};

export type ReplicationList = {
  readonly data: readonly Replication[];
  readonly meta: PageMeta;
};

export type ReplicationStatus = {
  readonly name: string;
  readonly missingAttachments: number | null;
  readonly links: readonly Link[];
};

export type Link = {
  readonly direction: "dial" | "accept";
  readonly address: string;
  readonly state: "waiting" | "connecting" | "linked" | "duplicate" | "refused" | "no_secret";
  /** A time of RFC 3339, in UTC. */
  readonly since: string;
  readonly partner: string | null;
  /** A time of RFC 3339, in UTC. */
  readonly nextAttemptAt: string | null;
  readonly lastError: LinkError | null;
  readonly lag: {
    readonly transactions: number | null;
    readonly seconds: number | null;
  };
  readonly pulled: {
    readonly documents: number;
    readonly bytes: number;
    readonly transactions: number;
    readonly unchanged: number;
    readonly stale: number;
  };
  readonly served: {
    readonly documents: number;
    readonly bytes: number;
  };
  readonly subscriptions: readonly LinkSubscription[];
};

export type LinkError = {
  readonly code: string;
  readonly message: string;
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
};

export type LinkSubscription = {
  readonly collection: string;
  readonly query: string;
  readonly state: "waiting" | "filling" | "live" | "behind" | "held";
  readonly transaction: number;
};

/** Without its secret. */
export type Webhook = {
  readonly name: string;
  readonly collection: string;
  readonly query: string | null;
  readonly events: readonly ("insert" | "update" | "delete" | "leave")[];
  /** Whether an operator has paused it. */
  readonly isPaused: boolean;
  readonly url: string;
  readonly allowPrivate: boolean;
};

export type CreatedWebhook = {
  readonly name: string;
  readonly collection: string;
  readonly query: string | null;
  readonly events: readonly ("insert" | "update" | "delete" | "leave")[];
  /** Whether an operator has paused it. */
  readonly isPaused: boolean;
  readonly url: string;
  readonly allowPrivate: boolean;
  readonly secret: string;
};

export type WebhookList = {
  readonly data: readonly Webhook[];
  readonly meta: PageMeta;
};

/** Without its password and token. */
export type Sink = {
  readonly name: string;
  readonly collection: string;
  readonly query: string | null;
  readonly events: readonly ("insert" | "update" | "delete" | "leave")[];
  /** Whether an operator has paused it. */
  readonly isPaused: boolean;
  readonly servers: readonly string[];
  readonly subject: string;
  readonly user: string | null;
};

export type SinkList = {
  readonly data: readonly Sink[];
  readonly meta: PageMeta;
};

/** The counts of deliveries and failures begin with each start of the server. */
export type DeliveryStatus = {
  readonly name: string;
  readonly state: "starting" | "live" | "delivering" | "retrying" | "paused";
  readonly reason:
    | "operator"
    | "history_changed"
    | "log_trimmed"
    | "gone"
    | "dead_letters_full"
    | null;
  /** A time of RFC 3339, in UTC. */
  readonly pausedAt: string | null;
  /** Everything up to here was delivered. */
  readonly cursor: string;
  readonly lag: {
    readonly transactions: number | null;
    readonly seconds: number;
  };
  readonly attempts: number;
  /** A time of RFC 3339, in UTC. */
  readonly nextAttemptAt: string | null;
  /** A time of RFC 3339, in UTC. */
  readonly lastDeliveryAt: string | null;
  readonly lastError: {
    readonly message: string;
    readonly status: number | null;
    /** A time of RFC 3339, in UTC. */
    readonly at: string;
  } | null;
  readonly delivered: {
    readonly changes: number;
    readonly deliveries: number;
  };
  readonly failures: number;
  readonly deadLetters: number;
};

export type DeadLetterList = {
  readonly data: readonly DeadLetter[];
  readonly meta: PageMeta;
};

export type DeadLetter = {
  readonly id: string;
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error: string;
  /** The id with which it was sent. */
  readonly messageId: string;
  readonly changes: number;
};

export type WholeDeadLetter = {
  readonly id: string;
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error: string;
  /** The id with which it was sent. */
  readonly messageId: string;
  readonly changes: number;
  readonly payload: unknown;
};

/** Ends at the first dead letter that fails again. */
export type Resent = {
  readonly delivered: number;
  readonly left: number;
  readonly error: string | null;
};

export type AuditEntryList = {
  readonly data: readonly AuditEntry[];
  readonly meta: PageMeta;
};

export type AuditEntry = {
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail: unknown;
  readonly requestId: string | null;
  readonly address: string | null;
};

/** Whether the browser is signed in to the console. */
export type Session = SignedOut | SignedIn;

export type SignedOut = {
  readonly isSignedIn: false;
};

export type SignedIn = {
  readonly isSignedIn: true;
  readonly by: "console token" | "admin token";
  /** A time of RFC 3339, in UTC. */
  readonly expiresAt: string;
  readonly namespace: string;
  readonly name: string;
  /** How the paths of the API begin. */
  readonly prefix: string;
  /** Version of the server. */
  readonly version: string;
  readonly dataUrl: string | null;
};

export type ConsoleSessionList = {
  readonly data: readonly ConsoleSession[];
  readonly meta: PageMeta;
};

export type ConsoleSession = {
  /** Names the session; it does not open it. */
  readonly id: string;
  readonly by: "console token" | "admin token";
  /** A time of RFC 3339, in UTC. */
  readonly createdAt: string;
  /** A time of RFC 3339, in UTC. */
  readonly expiresAt: string;
  readonly address: string;
  /** Whether it is that of the request. */
  readonly isCurrent: boolean;
};

export type ConsoleLink = {
  /** The token is in the fragment. */
  readonly consoleUrl: string;
};

export type Overview = {
  readonly version: string;
  /** A time of RFC 3339, in UTC. */
  readonly startedAt: string;
  readonly apps: {
    readonly count: number;
    readonly shown: readonly OverviewApp[];
  };
  readonly documents: number;
  readonly disk: {
    readonly freeBytes: number;
    readonly totalBytes: number;
    readonly dataBytes: number;
  };
  readonly peers: number;
  readonly now: RecentStats | null;
  /** A time of RFC 3339, in UTC. */
  readonly lastBackupAt: string | null;
  /** Newest first. */
  readonly lastErrors: readonly LoggedError[];
  readonly series: Series;
};

/** `documents` is null until the app was counted. */
export type OverviewApp = {
  readonly name: string;
  readonly appId: string;
  readonly documents: number | null;
  readonly bytes: number;
  readonly peers: number;
};

/** Of the last few seconds. */
export type RecentStats = {
  readonly requestsPerSecond: number;
  readonly commitsPerSecond: number;
  readonly commitMs: number;
  readonly commitMaxMs: number;
  readonly loopDelayMs: number;
  readonly loopDelayMaxMs: number;
  readonly peers: number;
  readonly syncLagMs: number;
  readonly linkLagSeconds: number;
  readonly cpuShare: number;
  readonly memoryBytes: number;
};

export type LoggedError = {
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
  readonly level: "warn" | "error";
  readonly message: string;
};

/** A number of each series for each time in `at`. */
export type Series = {
  readonly stepSeconds: number;
  /** Milliseconds since 1970, oldest first. */
  readonly at: readonly number[];
  readonly requestsPerSecond: readonly number[];
  readonly commitsPerSecond: readonly number[];
  readonly commitMs: readonly number[];
  readonly commitMaxMs: readonly number[];
  readonly loopDelayMs: readonly number[];
  readonly loopDelayMaxMs: readonly number[];
  readonly peers: readonly number[];
  readonly syncLagMs: readonly number[];
  readonly linkLagSeconds: readonly number[];
  readonly cpuShare: readonly number[];
  readonly memoryBytes: readonly number[];
};

export type CollectionList = {
  readonly data: readonly Collection[];
  readonly meta: PageMeta;
};

export type Collection = {
  readonly name: string;
  readonly documents: number;
  /** Size of the documents, without indexes. */
  readonly bytes: number;
  /** Whether `bytes` is estimated from the first and the last 25 documents. */
  readonly isEstimated: boolean;
  readonly indexes: readonly CollectionIndex[];
};

export type CollectionIndex = {
  readonly name: string;
  readonly fields: readonly {
    readonly path: readonly string[];
    readonly isDescending: boolean;
  }[];
  readonly state: "complete" | "building";
  readonly progress: {
    readonly done: number;
    readonly total: number;
  } | null;
  readonly use: IndexUse | null;
};

/** Null when it is not known. */
export type IndexUse = {
  /** Statements, and lookups for subscriptions, that read the index. */
  readonly count: number;
  /** A time of RFC 3339, in UTC. */
  readonly lastAt: string | null;
  /** When the count began: usually the start of the server. */
  readonly since: string;
};

export type VisibleCounts = {
  readonly collections: readonly VisibleCount[];
};

export type VisibleCount = {
  readonly collection: string;
  readonly visible: number | null;
  readonly total: number;
  /** Why `visible` is null. */
  readonly error?: string | undefined;
};

export type ProviderVerdict = ValidToken | InvalidToken;

export type ValidToken = {
  readonly isValid: true;
  readonly userId: string | null;
  readonly permissions: { readonly [name: string]: unknown };
  readonly identity: { readonly [name: string]: unknown } | null;
  /** A time of RFC 3339, in UTC. */
  readonly expiresAt: string;
};

export type InvalidToken = {
  readonly isValid: false;
  readonly reason: string;
};

export type ReadSettingList = {
  readonly data: readonly ReadSetting[];
  readonly meta: PageMeta;
};

export type ReadSetting = {
  readonly name: string;
  /** null for none, and for a secret. */
  readonly value: string | null;
  readonly source: "default" | "option" | "environment" | "file";
  readonly description: string;
  readonly isSecret: boolean;
  readonly isSet: boolean;
};

export type HealthReport = {
  readonly status: "starting" | "ready" | "closing";
  /** Whether all checks are. */
  readonly isOk: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly isOk: boolean;
    readonly detail: string;
  }[];
};

export type Backup = {
  readonly name: string;
  /** A time of RFC 3339, in UTC. */
  readonly createdAt: string;
  readonly bytes: number;
  /** A time of RFC 3339, in UTC. */
  readonly verifiedAt: string;
};

export type BackupList = {
  readonly folder: string;
  readonly isScheduled: boolean;
  readonly running: {
    /** A time of RFC 3339, in UTC. */
    readonly startedAt: string;
  } | null;
  readonly data: readonly Backup[];
  readonly meta: PageMeta;
};

export type BackupVerdict = {
  readonly isValid: boolean;
  readonly problems: readonly string[];
};

export type ClusterStatus = {
  readonly cluster: string | null;
  readonly nodes: readonly ClusterNode[];
};

/** A node that does not answer has no stores here. */
export type ClusterNode = {
  readonly node: string;
  readonly url: string;
  readonly version: string;
  readonly entryFormat?: number | undefined;
  readonly isAlive: boolean;
  readonly heardMs: number;
  readonly ageSeconds?: number | undefined;
  readonly stores?: readonly ClusterStore[] | undefined;
};

export type ClusterStore = {
  readonly store: string;
  readonly role: string;
  readonly evaluator: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly transactionId: number;
};

/** The text of an API key. It is shown once: the server keeps a hash. */
export type ApiKeyText = string;

/** 128 bytes in base64. It is shown once. */
export type WebhookSecret = string;

/** The change was made. */
export type Done = null;

export type Problem = {
  /** For programs. */
  readonly title:
    | "InvalidRequest"
    | "InvalidName"
    | "AppIdNotUnique"
    | "AppNameMismatch"
    | "InvalidApiKeyExpiryDate"
    | "Unauthorized"
    | "HostNotAllowed"
    | "OriginNotAllowed"
    | "NotFound"
    | "BigPeerNotFound"
    | "BackupNotFound"
    | "SessionNotFound"
    | "AppNotFound"
    | "ApiKeyNotFound"
    | "AuthProviderNotFound"
    | "BigPeerReplicationNotFound"
    | "WebhookNotFound"
    | "SinkNotFound"
    | "DeadLetterNotFound"
    | "MethodNotAllowed"
    | "RequestTimeout"
    | "AppNameNotUnique"
    | "ApiKeyNameNotUnique"
    | "BigPeerReplicationNameNotUnique"
    | "WebhookNameNotUnique"
    | "SinkNameNotUnique"
    | "LimitReached"
    | "BackupRunning"
    | "BodyTooLarge"
    | "UnsupportedMediaType"
    | "TooManyRequests"
    | "InternalError"
    | "Unavailable";
  /** For people. */
  readonly detail: string;
};

/** What each operation takes and answers, as far as it is JSON. */
export type Operations = {
  readonly list_apps: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AppList;
  };
  readonly create_app: {
    readonly request: NewApp;
    readonly response: App;
  };
  readonly get_app: {
    readonly response: App;
  };
  readonly replace_app: {
    readonly request: AppChange;
    readonly response: App;
  };
  readonly update_app: {
    readonly request: AppChange;
    readonly response: App;
  };
  readonly delete_app: {
    readonly response: Done;
  };
  readonly list_deleted_apps: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: DeletedAppList;
  };
  readonly restore_app: {
    readonly response: App;
  };
  readonly list_api_keys: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ApiKeyList;
  };
  readonly create_api_key: {
    readonly request: NewApiKey;
    readonly response: ApiKeyText;
  };
  readonly get_api_key: {
    readonly response: ApiKey;
  };
  readonly replace_api_key: {
    readonly request: ApiKeyChange;
    readonly response: ApiKey;
  };
  readonly delete_api_key: {
    readonly response: Done;
  };
  readonly rotate_api_key: {
    readonly request: ApiKeyRotation;
    readonly response: ApiKeyText;
  };
  readonly get_settings: {
    readonly response: Settings;
  };
  readonly replace_settings: {
    readonly request: Settings;
    readonly response: Settings;
  };
  readonly update_settings: {
    readonly request: SettingsChange;
    readonly response: Settings;
  };
  readonly rotate_session_key: {
    readonly response: Done;
  };
  readonly list_providers: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ProviderList;
  };
  readonly create_provider: {
    readonly request: NewProvider;
    readonly response: App;
  };
  readonly get_provider: {
    readonly response: Provider;
  };
  readonly replace_provider: {
    readonly request: ProviderChange;
    readonly response: Provider;
  };
  readonly delete_provider: {
    readonly response: Done;
  };
  readonly delete_provider_by_post: {
    readonly response: Done;
  };
  readonly create_webhook_secret: {
    readonly response: WebhookSecret;
  };
  readonly list_replications: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ReplicationList;
  };
  readonly create_replication: {
    readonly request: NewReplication;
    readonly response: Replication;
  };
  readonly get_replication: {
    readonly response: Replication;
  };
  readonly replace_replication: {
    readonly request: ReplicationChange;
    readonly response: Replication;
  };
  readonly update_replication: {
    readonly request: ReplicationChange;
    readonly response: Replication;
  };
  readonly delete_replication: {
    readonly response: Done;
  };
  readonly get_replication_status: {
    readonly response: ReplicationStatus;
  };
  readonly set_replication_secret: {
    readonly request: ReplicationSecret;
    readonly response: Done;
  };
  readonly delete_replication_secret: {
    readonly response: Done;
  };
  readonly list_audit_entries: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AuditEntryList;
  };
  readonly list_remote_audit_entries: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AuditEntryList;
  };
  readonly get_cluster: {
    readonly response: ClusterStatus;
  };
  readonly list_webhooks: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: WebhookList;
  };
  readonly create_webhook: {
    readonly request: NewWebhook;
    readonly response: CreatedWebhook;
  };
  readonly get_webhook: {
    readonly response: Webhook;
  };
  readonly update_webhook: {
    readonly request: WebhookChange;
    readonly response: Webhook;
  };
  readonly delete_webhook: {
    readonly response: Done;
  };
  readonly get_webhook_status: {
    readonly response: DeliveryStatus;
  };
  readonly pause_webhook: {
    readonly response: Webhook;
  };
  readonly resume_webhook: {
    readonly request: Resume;
    readonly response: Webhook;
  };
  readonly list_webhook_dead_letters: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: DeadLetterList;
  };
  readonly get_webhook_dead_letter: {
    readonly response: WholeDeadLetter;
  };
  readonly delete_webhook_dead_letter: {
    readonly response: Done;
  };
  readonly retry_webhook_dead_letter: {
    readonly response: Resent;
  };
  readonly retry_webhook: {
    readonly response: Resent;
  };
  readonly list_sinks: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: SinkList;
  };
  readonly create_sink: {
    readonly request: NewSink;
    readonly response: Sink;
  };
  readonly get_sink: {
    readonly response: Sink;
  };
  readonly update_sink: {
    readonly request: SinkChange;
    readonly response: Sink;
  };
  readonly delete_sink: {
    readonly response: Done;
  };
  readonly get_sink_status: {
    readonly response: DeliveryStatus;
  };
  readonly pause_sink: {
    readonly response: Sink;
  };
  readonly resume_sink: {
    readonly request: Resume;
    readonly response: Sink;
  };
  readonly list_sink_dead_letters: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: DeadLetterList;
  };
  readonly get_sink_dead_letter: {
    readonly response: WholeDeadLetter;
  };
  readonly delete_sink_dead_letter: {
    readonly response: Done;
  };
  readonly retry_sink_dead_letter: {
    readonly response: Resent;
  };
  readonly retry_sink: {
    readonly response: Resent;
  };
  readonly get_console_session: {
    readonly response: Session;
  };
  readonly sign_in: {
    readonly request: SignIn;
    readonly response: Session;
  };
  readonly sign_out: {
    readonly response: Done;
  };
  readonly renew_console_token: {
    readonly response: ConsoleLink;
  };
  readonly list_console_sessions: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ConsoleSessionList;
  };
  readonly end_console_session: {
    readonly response: Done;
  };
  readonly list_statement_audit_entries: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AuditEntryList;
  };
  readonly list_collections: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: CollectionList;
  };
  readonly try_permissions: {
    readonly request: PermissionTrial;
    readonly response: VisibleCounts;
  };
  readonly test_provider: {
    readonly request: ProviderTest;
    readonly response: ProviderVerdict;
  };
  readonly get_overview: {
    readonly query: {
      /** Only points after this time, in milliseconds since 1970. */
      readonly since?: number | undefined;
    };
    readonly response: Overview;
  };
  readonly list_read_settings: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ReadSettingList;
  };
  readonly get_health: {
    readonly response: HealthReport;
  };
  readonly list_backups: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: BackupList;
  };
  readonly make_backup: {
    readonly response: Backup;
  };
  readonly verify_backup: {
    readonly response: BackupVerdict;
  };
  readonly get_metrics: {};
  readonly app_execute: {
    readonly request: ConsoleQueryRequest;
    readonly response: QueryResponse;
  };
  readonly app_findbyid: {
    readonly request: FindByIdRequest;
    readonly response: FindByIdResponse;
  };
  readonly app_changes: {
    readonly query: {
      /** Only this collection; by default all that the caller may read. */
      readonly collection?: string | undefined;
      /** Only documents that this filter chooses. */
      readonly query?: string | undefined;
      /** A JSON object with the values of the parameters in `query`. */
      readonly args?: string | undefined;
      /** Continue after this cursor; `0` for the oldest change. */
      readonly since?: string | undefined;
      /** Begin with the current rows. */
      readonly initial?: boolean | undefined;
      /** `fields`: only the changed fields of an update. */
      readonly view?: "document" | "fields" | undefined;
      /** Seconds: the answer ends with the first changes, or after this time. */
      readonly wait?: number | undefined;
      /** Stands for the credential. */
      readonly ticket?: string | undefined;
    };
  };
  readonly app_export: {
    readonly query: {
      /** Name of the collection. */
      readonly collection: string;
      /**
       * With `true`, each line is `{id, fields}`, and each value is wrapped with its type, as
       * `latestValuesAndTypes` does. A value that JSON cannot hold is CBOR in base64: `{"register":
       * {"cbor": "…"}}`, and in place of `id` stands `idCbor`.
       */
      readonly types?: "true" | "false" | undefined;
    };
  };
  readonly app_sync_peers: {
    readonly query: {
      /** How many at most. */
      readonly limit?: number | undefined;
      /** The `next` of the page before. */
      readonly after?: number | undefined;
    };
    readonly response: SyncPeersResponse;
  };
  readonly app_sync_explain: {
    readonly query: {
      /** The collection of the document. */
      readonly collection: string;
      /** The id of the document: as JSON, or as it is when it is no JSON. */
      readonly id: string;
      /** The key of the peer. */
      readonly peer: string;
    };
    readonly response: SyncExplainResponse;
  };
  readonly app_remote_execute: {
    readonly request: RemoteExecuteRequest;
    readonly response: RemoteExecuteResponse;
  };
  readonly app_upload_attachment: {
    readonly response: UploadedAttachment;
  };
  readonly app_download_attachment: {};
};
