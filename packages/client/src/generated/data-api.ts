/**
 * Types of the data API. scripts/client-schemas.mjs makes this file from the OpenAPI document.
 */

export type QueryRequest = {
  /** One statement of the statement language. */
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type CountRequest = {
  /** Name of the collection. */
  readonly collection: string;
  /** A filter; `true` for all. `:name` and `$args.name` are taken from `args`. */
  readonly query: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type Sort = {
  /** A path, like `address.city`. */
  readonly property: string;
  readonly direction: "asc" | "desc";
};

export type SerializedAs = "latestValues" | "latestValuesAndTypes";

export type FindRequest = {
  /** Name of the collection. */
  readonly collection: string;
  /** A filter; `true` for all. `:name` and `$args.name` are taken from `args`. */
  readonly query: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  /** Documents at most. */
  readonly limit?: number | null | undefined;
  /** Documents to skip. */
  readonly offset?: number | null | undefined;
  readonly sort?: readonly Sort[] | null | undefined;
  /** Puts a document `query_details` with the plan before the others. */
  readonly describe?: boolean | null | undefined;
  /** Adds a download `url` to attachments. */
  readonly formatAttachment?: boolean | null | undefined;
  readonly serializedAs?: SerializedAs | null | undefined;
};

export type FindByIdRequest = {
  /** Name of the collection. */
  readonly collection: string;
  readonly id: unknown;
  /** Adds a download `url` to attachments. */
  readonly formatAttachment?: boolean | null | undefined;
  readonly serializedAs?: SerializedAs | null | undefined;
};

export type UpdateCommand = {
  readonly method: "set" | "setAttachment" | "increment" | "replaceWithCounter";
  /** Where in the document, like `a.b` or `a['b-c']`. */
  readonly path: string;
  readonly value: unknown;
};

export type TypeOverride = "counter" | "register" | "attachment";

export type WriteCommand = UpdateWriteCommand | UpsertWriteCommand | RemoveWriteCommand;

export type UpdateWriteCommand = {
  readonly method: "update";
  /** Name of the collection. */
  readonly collection: string;
  /** A filter; `true` for all. `:name` and `$args.name` are taken from `args`. */
  readonly query: string;
  readonly commands: readonly UpdateCommand[];
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type UpsertWriteCommand = {
  readonly method: "upsert";
  /** Name of the collection. */
  readonly collection: string;
  /** The fields; merged into the document. */
  readonly value: unknown;
  /** Made when it is left out. */
  readonly id?: unknown;
  readonly valueTypeOverrides?: { readonly [name: string]: TypeOverride } | null | undefined;
};

export type RemoveWriteCommand = {
  readonly method: "remove";
  /** Name of the collection. */
  readonly collection: string;
  /** A filter; `true` for all. `:name` and `$args.name` are taken from `args`. */
  readonly query: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type WriteRequest = {
  readonly commands: readonly WriteCommand[];
};

export type RemoteExecuteRequest = {
  /** `SYNC CONTEXT ( PEERS [WHERE …] )`, then the statement for those peers. */
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
};

export type Document = {
  readonly id: unknown;
  /** The content; null when there is no such document. */
  readonly fields: unknown;
};

export type QueryResponseWarning = {
  readonly description: string;
  readonly _id?: unknown;
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

export type QueryResponseError = {
  readonly description?: string | undefined;
};

export type CountResponse = {
  readonly count: number;
  readonly txnId: number;
};

export type FindResponse = {
  readonly documents: readonly Document[];
  readonly txnId?: number | undefined;
};

export type FindByIdResponse = {
  readonly id: unknown;
  /** The content; null when there is no such document. */
  readonly fields: unknown;
  readonly txnId?: number | undefined;
};

export type WriteCommandResult =
  | UpdateWriteCommandResult
  | UpsertWriteCommandResult
  | RemoveWriteCommandResult;

export type UpdateWriteCommandResult = {
  readonly method: "update";
  readonly transactionId: number;
  readonly updated: number;
  readonly error: number;
  readonly internalError?: number | undefined;
  readonly permissionDenied?: number | undefined;
};

export type UpsertWriteCommandResult = {
  readonly method: "upsert";
  readonly transactionId: number;
};

export type RemoveWriteCommandResult = {
  readonly method: "remove";
  readonly transactionId: number;
  readonly deleted: number;
  readonly internalError?: number | undefined;
  readonly permissionDenied?: number | undefined;
};

export type WriteResponse = {
  readonly results: readonly WriteCommandResult[];
};

export type RemoteExecuteError = {
  readonly description: string;
};

export type RemoteExecutePeerItem = {
  readonly peer?: unknown;
  readonly items?: readonly unknown[] | undefined;
  readonly elapsedMilliseconds?: unknown;
  readonly error?: RemoteExecuteError | undefined;
  readonly warnings?: readonly unknown[] | undefined;
  readonly totalWarningsCount?: unknown;
};

export type RemoteExecuteResponse = {
  readonly result: readonly RemoteExecutePeerItem[];
  readonly error?: RemoteExecuteError | undefined;
};

export type RpcError = {
  readonly message: string;
};

export type UploadedAttachment = {
  readonly id: string;
  readonly len: number;
};

export type BeginUploadRequest = {
  /** Bytes of the content. */
  readonly len: number;
  /**
   * Shows that the caller has the content: SHA-256, in base64url, of the content followed by the
   * text `bigpeer possession`.
   */
  readonly proof?: string | null | undefined;
};

export type UploadProgress = {
  readonly id: string;
  readonly len: number;
  readonly offset: number;
};

export type WrongUploadOffset = {
  readonly message: string;
  readonly offset: number;
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

export type LoginRequest = {
  readonly provider: string;
  readonly token: string;
};

export type LoginResponse = {
  readonly accessToken: string;
  readonly accessExpiry: string;
  readonly userId: string;
  readonly clientInfo: unknown;
};

export type LoginError = {
  readonly message: string;
  readonly clientInfo?: unknown;
};

/** What each operation takes and answers, as far as it is JSON. */
export type Operations = {
  readonly execute: {
    readonly request: QueryRequest;
    readonly response: QueryResponse;
  };
  readonly count: {
    readonly request: CountRequest;
    readonly response: CountResponse;
  };
  readonly find: {
    readonly request: FindRequest;
    readonly response: FindResponse;
  };
  readonly findbyid: {
    readonly request: FindByIdRequest;
    readonly response: FindByIdResponse;
  };
  readonly write: {
    readonly request: WriteRequest;
    readonly response: WriteResponse;
  };
  readonly remote_execute: {
    readonly request: RemoteExecuteRequest;
    readonly response: RemoteExecuteResponse;
  };
  readonly changes: {
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
  readonly changes_ticket: {
    readonly response: {
      readonly ticket: string;
    };
  };
  readonly export: {
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
  readonly sync_peers: {
    readonly query: {
      /** How many at most. */
      readonly limit?: number | undefined;
      /** The `next` of the page before. */
      readonly after?: number | undefined;
    };
    readonly response: SyncPeersResponse;
  };
  readonly sync_explain: {
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
  readonly upload_attachment: {
    readonly response: UploadedAttachment;
  };
  readonly begin_upload: {
    readonly request: BeginUploadRequest;
    readonly response: UploadProgress;
  };
  readonly continue_upload: {
    readonly response: UploadProgress;
  };
  readonly download_attachment: {};
  readonly head_attachment: {};
  readonly login: {
    readonly request: LoginRequest;
    readonly response: LoginResponse;
  };
};
