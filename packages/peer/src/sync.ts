/**
 * Sync: the connection to the server, for the app: start, stop, status and subscriptions.
 */

import type {
  EndCode,
  PeerSubscription,
  PeerSync,
  PeerSyncStatus,
  SubscriptionStatus,
} from "@bigpeer/engine";
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

/** `offline`: there is no connection, and the peer will try again. */
export type SyncState = "stopped" | "connecting" | "connected" | "offline";

export interface SyncStatus {
  readonly state: SyncState;
  /** Local commits that have no outcome yet. */
  readonly pendingCount: number;
  /** Why there is no connection, in words; undefined while there is one. */
  readonly reason?: string | undefined;
  /** The same as a code: how the connection ended, or the error that prevents it. */
  readonly code?: AwayCode | undefined;
}

export type AwayCode = EndCode | ErrorCode;

/** Why there is no connection. */
export interface Away {
  readonly reason: string;
  readonly code: AwayCode;
}

/** A subscription of the app. It lasts until it is cancelled, with and without a connection. */
export interface SyncSubscription {
  readonly query: string;
  readonly isCancelled: boolean;
  readonly status: SubscriptionStatus;
  /**
   * Resolves when all matching documents are here; rejects when the server refuses the
   * subscription, or the credential of this peer.
   */
  whenReady(): Promise<void>;
  /** Ends it; the documents stay. May be called again. */
  cancel(): void;
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
  readonly onStatus: () => void;
  readonly onWarning: (message: string) => void;
}

/** The part of Sync that an app can use. */
export type PeerConnection = Omit<Sync, "admit" | "close" | "exclude" | "note">;

export class Sync {
  readonly #options: SyncOptions;
  readonly #subscriptions = new Set<SyncSubscription>();
  #away: Away | undefined;
  #isClosed = false;
  /** The last status, for when the store is closed. */
  #last: SyncStatus | undefined;
  /** Keeps the process alive while sync is active, even without a connection. */
  #alive: NodeJS.Timeout | undefined;

  #hasStarted = false;
  /** Timer of the warning. It keeps the process alive, which might end before it otherwise. */
  #unstarted: NodeJS.Timeout | undefined;

  constructor(options: SyncOptions) {
    this.#options = options;
  }

  /** Connects to the server, and reconnects after each loss. May be called again. */
  start(): void {
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
    this.#hasStarted = true;
    clearTimeout(this.#unstarted);
    if (this.#away?.code === "stopped") this.#away = undefined;
    if (!this.isActive) this.#options.sync.admit();
    this.#options.sync.start();
    this.#keepAlive();
    this.#options.onStatus();
  }

  /** Disconnects. Local work continues. */
  async stop(): Promise<void> {
    if (this.#isClosed) return;
    await this.#options.sync.stop();
    this.#keepAlive();
    this.#options.onStatus();
  }

  get isActive(): boolean {
    return this.#options.sync.status().phase !== "stopped";
  }

  get status(): SyncStatus {
    if (this.#last !== undefined) return this.#last;
    const state = stateOf(this.#options.sync.status());
    const status: SyncStatus = { state, pendingCount: this.#options.pendingCount() };
    return state === "connected" ? status : { ...status, ...this.#away };
  }

  get subscriptions(): SyncSubscription[] {
    return [...this.#subscriptions];
  }

  /**
   * Subscribes to `SELECT * FROM collection [WHERE condition]`; throws for any other query. A
   * refusal by the server shows in the status of the subscription, and as an error.
   */
  registerSubscription(query: string, args: Arguments = {}): SyncSubscription {
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
    const held = this.#subscribe(query, args);
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
      cancel: () => this.#cancel(subscription, held),
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
