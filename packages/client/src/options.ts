/**
 * Options of the client and of its calls.
 */

/** Options of every call. */
export interface CallOptions {
  /** Ends the call: it then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** How long one attempt may take; default 40,000, and 300,000 for attachments. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed attempt is repeated at most; default 4. */
  readonly retries?: number | undefined;
}

/** Options of a call that sees the documents of the server at a transaction. */
export interface ReadOptions extends CallOptions {
  /** The server answers only when it has reached this transaction. */
  readonly txnId?: number | undefined;
  /** Whether the call sees all that this client has written and read before. */
  readonly readYourWrites?: boolean | undefined;
}

/** Options of a call that may write. */
export interface WriteOptions extends ReadOptions {
  /**
   * Names the write: the server does it once, however often it is sent with the same key and the
   * same content. By default random. With null the write has no key and is not repeated.
   */
  readonly idempotencyKey?: string | null | undefined;
}

/** Options of {@link BigPeerClient}. */
export interface ClientOptions extends Pick<CallOptions, "timeoutMs" | "retries"> {
  /** Ends each call that has no signal of its own. */
  readonly signal?: AbortSignal | undefined;
  /** Address of the data API, such as `https://peer.example.com`. */
  readonly url: string;
  /** An API key, a session or a JWT. A function is called for each call. */
  readonly key?: string | (() => string | Promise<string>) | undefined;
  /** Id of the app. By default the key decides it. */
  readonly appId?: string | undefined;
  /** Version of the data API; default `v4`. */
  readonly apiVersion?: "v4" | "v5" | undefined;
  /** Whether each call sees all that this client has written and read before; default false. */
  readonly readYourWrites?: boolean | undefined;
  /** Address of the management API, for {@link BigPeerClient.management}. */
  readonly managementUrl?: string | undefined;
  /** The admin token, if the server has one. */
  readonly adminToken?: string | undefined;
  /** Setting `namespace` of the server; default `default`. */
  readonly namespace?: string | undefined;
  /** Setting `name` of the server; default `big-peer`. */
  readonly bigPeer?: string | undefined;
  /** Used in place of the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}
