/**
 * Page interface: the parts of a peer whose interface on a page differs from that on Node. A worker
 * runs the peer and answers by messages, so a page learns some things later.
 */

import type { RefusedUpload } from "@bigpeer/engine/peer";
import type { Arguments, PeerDocuments } from "../../local-store.ts";
import type { ObserverCallback, StoreObserver } from "../../observer.ts";
import type { CommonOptions, CredentialOptions } from "../../options.ts";
import type { PlainObject } from "../../plain-value.ts";
import type { PeerConnection, SubscriptionOptions, SyncSubscription } from "../../sync.ts";

/**
 * The options of a peer in a browser besides its credential.
 *
 * @example
 * const options: BrowserOptions = { appId, url: dataUrl, name: "tasks" };
 * const second = await openPeer({ ...options, token: apiKey });
 * await second.close();
 */
export interface BrowserOptions extends CommonOptions {
  /**
   * Name of the store in this browser, at most 100 characters. The default is `default`. All pages
   * of the origin that open the same app and name share one peer.
   */
  readonly name?: string;
  /** Keeps the documents in memory, for this page alone, until the peer is closed. */
  readonly memory?: true;
  /** Address of the worker script, on the origin of the page. The default is beside the SDK. */
  readonly workerUrl?: string | URL;
  /** Address of the code for patterns. The default is beside the SDK. */
  readonly patternsUrl?: string | URL;
  /** Address of the code for `EXPLAIN`, `PROFILE` and `ADVISE`. The default is beside the SDK. */
  readonly explainUrl?: string | URL;
  /** Address of the code for attachments. The default is beside the SDK. */
  readonly attachmentsUrl?: string | URL;
}

/**
 * The options of `openPeer` in a browser. The peer refuses unknown names.
 *
 * @example
 * const options: PeerOptions = { appId, url: dataUrl, token: apiKey, memory: true };
 * const third = await openPeer(options);
 * await third.close();
 */
export type PeerOptions = BrowserOptions & CredentialOptions;

/** `peer.store` on a page: the documents of the peer. Reads and writes are local. */
export interface BrowserDocuments extends Omit<PeerDocuments, "refused" | "registerObserver"> {
  /**
   * Calls a function soon with the current rows of a SELECT, then each time they change. If the
   * query is not valid, the peer emits `error` and the observer ends.
   *
   * @param query - A SELECT without the clock, random values and system collections.
   * @param callback - Receives the rows, never twice at once.
   * @returns The observer, which stays active until `cancel()`.
   * @throws `query.arguments`: there is no callback, or the arguments are not values.
   */
  registerObserver<T = PlainObject>(query: string, callback: ObserverCallback<T>): StoreObserver;
  /**
   * The same, with values for the parameters of the query.
   *
   * @param query - A SELECT without the clock, random values and system collections.
   * @param args - A value for each `:name` in the query.
   * @param callback - Receives the rows, never twice at once.
   * @param onFailed - Receives the error if the query is not valid or fails, and the observer ends.
   * Without it, the peer emits `error`.
   */
  registerObserver<T = PlainObject>(
    query: string,
    args: Arguments | undefined,
    callback: ObserverCallback<T>,
    onFailed?: (error: Error) => unknown,
  ): StoreObserver;
  /** Resolves with the writes that the server refused, the oldest first. */
  refused(): Promise<readonly RefusedUpload[]>;
}

/** `peer.sync` on a page: the connection that all pages of the app share, and subscriptions. */
export interface BrowserConnection
  extends Omit<PeerConnection, "start" | "stop" | "registerSubscription"> {
  /**
   * Connects to the server, for all pages of the app, and reconnects after each loss. A second call
   * has no effect.
   */
  start(): void;
  /** Closes the connection, for all pages. Local reads and writes, and subscriptions, continue. */
  stop(): Promise<void>;
  /**
   * Subscribes to the documents that a query selects, for as long as this page lasts. The documents
   * stay in the browser: the same query with the same arguments continues where it was. If the
   * query is not valid or the server refuses it, the status becomes `refused`, `whenReady()` rejects
   * and the peer emits `error`.
   *
   * @param query - `SELECT * FROM collection [WHERE condition]`.
   * @param args - A value for each `:name` in the query.
   * @param options - Whether its attachments come along.
   * @returns The subscription, which lasts until `cancel()`, or until the page ends.
   * @throws `config.invalid`: the options are not valid.
   */
  registerSubscription(
    query: string,
    args?: Arguments,
    options?: SubscriptionOptions,
  ): SyncSubscription;
}
