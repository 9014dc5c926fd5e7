/**
 * Sync: the connection to the server, for the app: start, stop, status and subscriptions.
 */

import type {
  EndCode,
  PeerSubscription,
  PeerSync,
  PeerSyncStatus,
  SubscriptionStatus,
} from "@bigpeer/engine/peer";
import {
  checkValue,
  type ErrorCode,
  isObject,
  PeerError,
  type ValueObject,
} from "@bigpeer/protocol";
import { checkQuery, explainUndefined } from "./argument-check.ts";
import type { Arguments } from "./local-store.ts";
import { ownCopy } from "./plain-value.ts";

/**
 * The state of the connection: `stopped` until `sync.start`, `connecting`, `connected`, or
 * `offline` until the next attempt.
 *
 * @example
 * const labels: Record<SyncState, string> = {
 *   stopped: "sync is off",
 *   connecting: "connecting",
 *   connected: "up to date",
 *   offline: "offline",
 * };
 * console.log(labels[peer.sync.status.state]); // sync is off
 */
export type SyncState = "stopped" | "connecting" | "connected" | "offline";

/**
 * The connection of a peer, and how many of its writes wait for the server.
 *
 * @example
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS ({'_id': 't1'})");
 * console.log(peer.sync.status); // { state: 'stopped', pendingCount: 1 }
 */
export interface SyncStatus {
  /** The state of the connection. */
  readonly state: SyncState;
  /** Number of local writes that the server has neither applied nor refused yet. */
  readonly pendingCount: number;
  /** Why there is no connection, in words; undefined while there is one. */
  readonly reason?: string | undefined;
  /** A code for the same reason; undefined while there is a connection. */
  readonly code?: AwayCode | undefined;
}

/**
 * Why a peer is not connected: how its last connection ended, or the error that keeps it out.
 *
 * @example
 * const isLoginNeeded = (code: AwayCode | undefined): boolean =>
 *   code === "unauthorized" || code === "expired" || code === "permission.denied";
 * console.log(isLoginNeeded(peer.sync.status.code)); // false
 */
export type AwayCode = EndCode | ErrorCode;

/** Why there is no connection. */
export interface Away {
  readonly reason: string;
  readonly code: AwayCode;
}

/**
 * A query whose documents the server sends to this peer, first all of them and then each change. It
 * lasts until `cancel()`, with and without a connection.
 *
 * @example
 * const open: SyncSubscription = peer.sync.registerSubscription(
 *   "SELECT * FROM tasks WHERE isDone = :isDone",
 *   { isDone: false },
 * );
 * peer.sync.start();
 * await open.whenReady();
 * console.log(open.status); // ready
 */
export interface SyncSubscription {
  /** The query of the subscription. */
  readonly query: string;
  /** Whether `cancel()` has ended it. */
  readonly isCancelled: boolean;
  /** Whether its documents are on the device. */
  readonly status: SubscriptionStatus;
  /**
   * Waits until all matching documents are on the device. Without a connection it waits. A peer
   * that the server does not admit keeps trying: correct the cause and call it again.
   *
   * @throws `permission.denied`: the server refuses the subscription, or does not admit the peer.
   * @throws `query.too_large`, `operation.refused`: the server refuses the subscription.
   * @throws `store.closed`: the subscription is cancelled.
   */
  whenReady(): Promise<void>;
  /** Ends the subscription. Its documents stay on the device. A second call has no effect. */
  cancel(): void;
}

/**
 * The options of a subscription.
 *
 * @example
 * const options: SubscriptionOptions = { prefetch: true };
 * peer.sync.registerSubscription("SELECT * FROM tasks", {}, options);
 */
export interface SubscriptionOptions {
  /**
   * Whether the attachments of matching documents are downloaded too, before the app fetches them.
   * The default is `false`.
   */
  readonly prefetch?: boolean;
}

/** How long `whenReady` waits for a start of the sync before the app is warned. */
export const START_MS_MAX = 2_000;

const NOT_STARTED =
  "a subscription is waited for, but sync was not started: call peer.sync.start()";

/** Interval of a timer that does nothing but keep the process alive. */
const ALIVE_MS = 3_600_000;

export interface SyncOptions {
  /** Runs the sync; of no use after the peer is closed. */
  readonly sync: PeerSync;
  readonly pendingCount: () => number;
  /** Sync was started, or is being stopped: contents are transferred while it is active. */
  readonly onActive: (isActive: boolean) => Promise<void> | undefined;
  /** Checks the options, and downloads the attachments of the subscription if they say so. */
  readonly prefetch: (
    query: string,
    args: ValueObject,
    options: SubscriptionOptions,
  ) => (() => void) | undefined;
  readonly onStatus: () => void;
  readonly onWarning: (message: string) => void;
}

/**
 * `peer.sync`: the connection to the server, and the subscriptions of a peer.
 *
 * @example
 * peer.sync.registerSubscription("SELECT * FROM tasks");
 * peer.sync.start();
 * console.log(peer.sync.isActive); // true
 * await peer.sync.stop();
 */
export type PeerConnection = Omit<Sync, "admit" | "close" | "exclude" | "note" | "retry">;

export class Sync {
  readonly #options: SyncOptions;
  readonly #subscriptions = new Set<SyncSubscription>();
  #away: Away | undefined;
  #isClosed = false;
  /** The last status, for when the store is closed. */
  #last: SyncStatus | undefined;
  /** Keeps the process alive while sync is active, even without a connection. */
  #alive: ReturnType<typeof setInterval> | undefined;

  #hasStarted = false;
  /** Timer of the warning. It keeps the process alive, which might end before it otherwise. */
  #unstarted: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SyncOptions) {
    this.#options = options;
  }

  /**
   * Connects to the server, and reconnects after each loss. While it is connected, the peer uploads
   * its writes and receives the documents of its subscriptions. The process stays alive until
   * `stop()` or `close()`. A second call has no effect.
   *
   * @throws `store.closed`: the peer is closed.
   */
  start(): void {
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
    this.#hasStarted = true;
    clearTimeout(this.#unstarted);
    if (this.#away?.code === "stopped") this.#away = undefined;
    if (!this.isActive) this.#options.sync.admit();
    this.#options.sync.start();
    void this.#options.onActive(true);
    this.#keepAlive();
    this.#options.onStatus();
  }

  /** Closes the connection. Local reads and writes, and subscriptions, continue. */
  async stop(): Promise<void> {
    if (this.#isClosed) return;
    await Promise.all([this.#options.sync.stop(), this.#options.onActive(false)]);
    this.#keepAlive();
    this.#options.onStatus();
  }

  /** Whether sync was started: there is a connection, or the peer tries to get one. */
  get isActive(): boolean {
    return this.#options.sync.status().phase !== "stopped";
  }

  /** The current state of the connection. The event `status` reports each change of it. */
  get status(): SyncStatus {
    if (this.#last !== undefined) return this.#last;
    const state = stateOf(this.#options.sync.status());
    const status: SyncStatus = { state, pendingCount: this.#options.pendingCount() };
    return state === "connected" ? status : { ...status, ...this.#away };
  }

  /** The subscriptions that are not cancelled. */
  get subscriptions(): SyncSubscription[] {
    return [...this.#subscriptions];
  }

  /**
   * Subscribes to the documents that a query selects. After a restart, register the subscription
   * again: the same query with the same arguments continues where it was. If the server refuses it,
   * its status becomes `refused` and the peer emits `error`.
   *
   * @param query - `SELECT * FROM collection [WHERE condition]`.
   * @param args - A value for each `:name` in the query.
   * @param options - Whether its attachments come along.
   * @returns The subscription, which lasts until `cancel()`.
   * @throws `query.syntax`, `query.semantic`: the query does more than select documents.
   * @throws `query.arguments`: the arguments are not an object of values.
   * @throws `query.too_large`: query and arguments do not fit into one message of 16 MB.
   * @throws `config.invalid`: the options are not valid.
   * @throws `store.closed`: the peer is closed.
   */
  registerSubscription(
    query: string,
    args: Arguments = {},
    options?: SubscriptionOptions,
  ): SyncSubscription {
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
    const held = this.#subscribe(query, args);
    let endPrefetch: (() => void) | undefined;
    try {
      endPrefetch = options && this.#options.prefetch(query, valuesOf(args), options);
    } catch (error) {
      held.cancel();
      throw error;
    }
    const subscription: SyncSubscription = {
      query,
      get isCancelled() {
        return held.status === "cancelled";
      },
      get status() {
        return held.status;
      },
      whenReady: () => {
        if (held.status === "waiting") this.#expectStart();
        return held.whenReady();
      },
      cancel: () => {
        endPrefetch?.();
        this.#cancel(subscription, held);
      },
    };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Sets why there is no connection; undefined if there is one. */
  note(away: Away | undefined): void {
    this.#away = away;
    this.#keepAlive();
  }

  /** The server does not accept this peer: rejects all waiters of subscriptions. */
  exclude(error: PeerError): void {
    this.#options.sync.exclude(error);
  }

  /** The server accepts this peer. */
  admit(): void {
    this.#options.sync.admit();
  }

  /** Connects at once instead of after a wait. */
  retry(): void {
    if (this.#isClosed || !this.isActive) return;
    void this.#options.sync.stop();
    this.start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#unstarted);
    this.#subscriptions.clear();
    await this.#options.sync.close();
    this.#keepAlive();
    this.#last = { state: "stopped", pendingCount: this.#options.pendingCount() };
  }

  #subscribe(query: string, args: Arguments): PeerSubscription {
    try {
      return this.#options.sync.subscribe(checkQuery(query), valuesOf(args));
    } catch (error) {
      throw explainUndefined(error, args);
    }
  }

  /** Warns once if an app waits for a subscription and does not start the sync soon. */
  #expectStart(): void {
    if (this.#hasStarted || this.#isClosed) return;
    this.#unstarted ??= setTimeout(() => this.#options.onWarning(NOT_STARTED), START_MS_MAX);
  }

  #keepAlive(): void {
    if (!this.isActive) {
      clearInterval(this.#alive);
      this.#alive = undefined;
    } else this.#alive ??= setInterval(() => undefined, ALIVE_MS);
  }

  #cancel(subscription: SyncSubscription, held: PeerSubscription): void {
    this.#subscriptions.delete(subscription);
    held.cancel();
  }
}

function stateOf({ phase }: PeerSyncStatus): SyncState {
  switch (phase) {
    case "stopped":
      return "stopped";
    case "waiting":
      return "offline";
    case "open":
      return "connected";
    default:
      return "connecting";
  }
}

function valuesOf(args: Arguments): ValueObject {
  const values = checkValue(ownCopy(args), "args");
  if (isObject(values)) return values;
  throw new PeerError("query.arguments", "expected an object with a value for each parameter");
}
