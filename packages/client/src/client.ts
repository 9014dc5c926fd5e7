/**
 * BigPeerClient: the data API of a Big Peer as methods, without a store of its own. `attachments` and
 * `management` have the rest.
 */

import { baseOf, pathText, queryText } from "./address.ts";
import { Attachments } from "./attachments.ts";
import { type Change, type ChangesOptions, changesOf } from "./changes.ts";
import { BigPeerError } from "./error.ts";
import type {
  CountRequest,
  CountResponse,
  FindByIdRequest,
  FindByIdResponse,
  FindRequest,
  FindResponse,
  LoginRequest,
  LoginResponse,
  Operations,
  QueryResponse,
  RemoteExecuteResponse,
  SyncExplainResponse,
  SyncPeersResponse,
  WriteCommand,
  WriteResponse,
} from "./generated/data-api.ts";
import { stringify } from "./json.ts";
import { Management } from "./management.ts";
import type { CallOptions, ClientOptions, ReadOptions, WriteOptions } from "./options.ts";
import { randomText } from "./random-text.ts";
import { type HttpRequest, readJson, readStream, readWithLists, send } from "./request.ts";

/** Values for the parameters of a statement or a filter. */
export type Args = Readonly<Record<string, unknown>>;

/** Result of a statement. */
export type QueryResult<T> = Omit<QueryResponse, "items" | "error" | "transactionId"> & {
  /** The rows. */
  readonly items: readonly T[];
  /** Of a write its transaction, otherwise the last one that was seen. */
  readonly transactionId: number;
};

/** Result of {@link BigPeerClient.find}. */
export type FindResult<T> = Omit<FindResponse, "documents"> & {
  readonly documents: readonly { readonly id: unknown; readonly fields: T }[];
};

/** Result of {@link BigPeerClient.findById}: `fields` is null if there is no such document. */
export type FindByIdResult<T> = Omit<FindByIdResponse, "fields"> & { readonly fields: T | null };

/** A statement takes at most 30 seconds unless the server is configured otherwise. */
const TIMEOUT_MS = 40_000;
/** The answer begins when the server has written all of it to its disk. */
const EXPORT_TIMEOUT_MS = 300_000;
const RETRIES = 4;

const JSON_HEADERS = { "content-type": "application/json" };

/**
 * A client of one app of a Big Peer.
 *
 * @example
 * import { BigPeerClient } from "@bigpeer/client";
 *
 * const cars = new BigPeerClient({ url: dataUrl, key: apiKey });
 * await cars.execute("INSERT INTO cars DOCUMENTS (:car)", { car: { _id: "c1", color: "blue" } });
 * const { items } = await cars.execute<{ color: string }>("SELECT color FROM cars");
 * console.log(items); // [ { color: 'blue' } ]
 */
export class BigPeerClient {
  /** Upload and download of attachments. */
  readonly attachments: Attachments;
  /**
   * The newest transaction that this client has seen. Hand it to another client, which then sees the
   * same. Set it to undefined after the data of the server was restored from a backup.
   */
  lastTxnId: number | undefined;
  readonly #options: ClientOptions;
  readonly #root: string;
  readonly #base: string;
  #management: Management | undefined;

  constructor(options: ClientOptions) {
    const { url, appId, apiVersion = "v4" } = options;
    this.#options = options;
    const app = appId === undefined ? "" : pathText(appId);
    this.#root = baseOf("url", url);
    this.#base = `${this.#root}${app}/api/${apiVersion}`;
    this.attachments = new Attachments((request, call) => this.#send(request, call));
  }

  /** The management API. Throws `config.invalid` without a `managementUrl`. */
  get management(): Management {
    const {
      managementUrl,
      adminToken,
      namespace = "default",
      bigPeer = "big-peer",
    } = this.#options;
    if (managementUrl === undefined) {
      throw new BigPeerError("config.invalid", "expected the option managementUrl, found none");
    }
    const base =
      baseOf("managementUrl", managementUrl) + pathText("namespace", namespace, "bigPeer", bigPeer);
    const own = adminToken === undefined ? {} : { authorization: `Bearer ${adminToken}` };
    this.#management ??= new Management((request, call) => {
      const headers = { ...own, ...request.headers };
      return this.#deliver({ ...request, headers, url: base + request.url }, call);
    });
    return this.#management;
  }

  /** Runs a statement of the query language. */
  async execute<T = unknown>(
    statement: string,
    args?: Args,
    options: WriteOptions = {},
  ): Promise<QueryResult<T>> {
    const body = { statement, args };
    const read = readWithLists<QueryResult<T>>("items", "mutatedDocumentIds", "warnings");
    const result = await this.#write<QueryResult<T>>("/store/execute", body, options, read);
    this.#note(result.transactionId);
    return result;
  }

  /** Applies commands in one transaction: all of them, or none. */
  async write(
    commands: readonly WriteCommand[],
    options: WriteOptions = {},
  ): Promise<WriteResponse> {
    const read = readWithLists<WriteResponse>("results");
    const result = await this.#write<WriteResponse>("/store/write", { commands }, options, read);
    for (const { transactionId } of result.results) this.#note(transactionId);
    return result;
  }

  /** Finds the documents that a filter chooses. */
  find<T = unknown>(request: FindRequest, options: ReadOptions = {}): Promise<FindResult<T>> {
    return this.#read("/store/find", request, options);
  }

  /** Reads one document. */
  findById<T = unknown>(
    request: FindByIdRequest,
    options: ReadOptions = {},
  ): Promise<FindByIdResult<T>> {
    return this.#read("/store/findbyid", request, options);
  }

  /** Counts the documents that a filter chooses. */
  count(request: CountRequest, options: ReadOptions = {}): Promise<CountResponse> {
    return this.#read("/store/count", request, options);
  }

  /**
   * Exports a collection as of one transaction, as a stream of lines of JSON. With `types`, a line
   * has the types of all values (H70 of docs/http-api.md).
   */
  export(
    query: Operations["export"]["query"],
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.#send(
      {
        method: "GET",
        url: `/store/export${queryText(query)}`,
        headers: {},
        isRepeatable: true,
        isStream: true,
        read: (response) => readStream(response, "application/x-ndjson"),
      },
      { ...options, timeoutMs: options.timeoutMs ?? EXPORT_TIMEOUT_MS },
    );
  }

  /**
   * Runs a statement on connected peers, which `SYNC CONTEXT ( PEERS … )` at its beginning chooses.
   * It is not repeated when no answer comes: it may have run.
   */
  remoteExecute(
    statement: string,
    args?: Args,
    options: CallOptions = {},
  ): Promise<RemoteExecuteResponse> {
    return this.#post(
      "/sync/remote_execute",
      { statement, args },
      { isRepeatable: false, read: readWithLists("result") },
      options,
    );
  }

  /**
   * Follows what changes, in the order of transactions. The iterator connects again by itself, and
   * goes on after the last change. Changes may come twice, with the same cursor.
   *
   * @example
   * await client.execute("INSERT INTO orders DOCUMENTS ({'_id': 'o1', 'total': 9})");
   * for await (const change of client.changes({ collection: "orders", initial: true })) {
   *   console.log(change.type, change.id, change.document); // insert o1 { _id: 'o1', total: 9 }
   *   break; // or go on: the loop waits for what comes
   * }
   */
  changes<T = Record<string, unknown>>(
    options: ChangesOptions = {},
  ): AsyncGenerator<Change<T>, void, void> {
    return changesOf<T>((request, call) => this.#send(request, call), options);
  }

  /**
   * A ticket that stands for the credential in the address of one change feed: for pages, whose
   * EventSource cannot send it. It is valid for 60 seconds.
   */
  async changesTicket(options: CallOptions = {}): Promise<string> {
    const request = { method: "POST", url: "/store/changes/ticket", headers: {} };
    const { ticket } = await this.#send<{ readonly ticket: string }>(
      { ...request, isRepeatable: true, read: readJson },
      options,
    );
    return ticket;
  }

  /** Lists connected peers. */
  peers(
    query: Operations["sync_peers"]["query"] = {},
    options: CallOptions = {},
  ): Promise<SyncPeersResponse> {
    return this.#get(`/sync/peers${queryText(query)}`, options, readWithLists("peers"));
  }

  /** Explains why a document is on a peer, or is not. An id that is not text is given as JSON. */
  explain(
    query: Operations["sync_explain"]["query"],
    options: CallOptions = {},
  ): Promise<SyncExplainResponse> {
    return this.#get(`/sync/explain${queryText(query)}`, options);
  }

  /** Exchanges the token of a provider for a session, whose `accessToken` is a `key`. */
  login(appId: string, request: LoginRequest, options: CallOptions = {}): Promise<LoginResponse> {
    const url = this.#root + pathText(appId, "auth", "login");
    const body = stringify(request);
    return this.#deliver<LoginResponse>(
      { method: "POST", url, headers: JSON_HEADERS, body, isRepeatable: true, read: readJson },
      options,
    );
  }

  async #read<T extends { readonly txnId?: number | undefined }>(
    path: string,
    body: object,
    options: ReadOptions,
  ): Promise<T> {
    const headers = this.#txnHeader(options);
    const result = await this.#post<T>(path, body, { headers, isRepeatable: true }, options);
    this.#note(result.txnId);
    return result;
  }

  async #write<T>(
    path: string,
    body: object,
    options: WriteOptions,
    read: HttpRequest<T>["read"],
  ): Promise<T> {
    const { idempotencyKey = randomText() } = options;
    const headers = this.#txnHeader(options);
    if (idempotencyKey !== null) headers["idempotency-key"] = idempotencyKey;
    const isRepeatable = idempotencyKey !== null;
    try {
      return await this.#post<T>(path, body, { headers, isRepeatable, read }, options);
    } catch (error) {
      if (error instanceof BigPeerError) error.idempotencyKey = idempotencyKey ?? undefined;
      throw error;
    }
  }

  #post<T>(
    path: string,
    body: object,
    request: Pick<HttpRequest<T>, "isRepeatable"> & Partial<HttpRequest<T>>,
    options: CallOptions,
  ): Promise<T> {
    const headers = { ...JSON_HEADERS, ...request.headers };
    const call = { ...request, method: "POST", url: path, body: stringify(body), headers };
    return this.#send<T>({ read: readJson, ...call }, options);
  }

  #get<T>(url: string, options: CallOptions, read: HttpRequest<T>["read"] = readJson): Promise<T> {
    return this.#send<T>({ method: "GET", url, headers: {}, isRepeatable: true, read }, options);
  }

  /** Adds the credential and the address. All attempts of a call have the same credential. */
  async #send<T>(request: HttpRequest<T>, options: CallOptions): Promise<T> {
    const { key } = this.#options;
    const credential = typeof key === "function" ? await key() : key;
    const own = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
    const headers = { ...own, ...request.headers };
    return this.#deliver({ ...request, headers, url: this.#base + request.url }, options);
  }

  #deliver<T>(request: HttpRequest<T>, options: CallOptions): Promise<T> {
    const own = this.#options;
    return send(request, {
      signal: options.signal ?? own.signal,
      timeoutMs: options.timeoutMs ?? own.timeoutMs ?? TIMEOUT_MS,
      retries: options.retries ?? own.retries ?? RETRIES,
      // A method of the window must be called as one.
      fetch: own.fetch ?? ((url, init) => fetch(url, init)),
    });
  }

  #txnHeader({ txnId, readYourWrites = this.#options.readYourWrites }: ReadOptions) {
    const headers: Record<string, string> = {};
    const last = readYourWrites === true ? this.lastTxnId : undefined;
    const wanted = Math.max(txnId ?? 0, last ?? 0);
    if (wanted > 0) headers["x-service-txn-id"] = String(wanted);
    return headers;
  }

  #note(txnId: number | undefined): void {
    this.lastTxnId = Math.max(txnId ?? 0, this.lastTxnId ?? 0);
  }
}
