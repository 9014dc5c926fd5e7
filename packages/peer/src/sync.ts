/**
 * Sync: what an app says and hears of the connection to its server.
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

/** `offline`: there was no connection, and there will be another try. */
export type SyncState = "stopped" | "connecting" | "connected" | "offline";

export interface SyncStatus {
  readonly state: SyncState;
  /** Local commits of which the server has not said what became of them. */
  readonly pendingCount: number;
  /** Why there is no connection, in words; undefined while there is one. */
  readonly reason?: string | undefined;
  /** The same for programs: how the connection ended, or the code of the error that keeps it away. */
  readonly code?: AwayCode | undefined;
}

export type AwayCode = EndCode | ErrorCode;

/** Why there is no connection. */
export interface Away {
  readonly reason: string;
  readonly code: AwayCode;
}

/** What a peer is to be sent. It lasts until it is cancelled, with and without a connection. */
export interface SyncSubscription {
  readonly query: string;
  readonly isCancelled: boolean;
  readonly status: SubscriptionStatus;
  /**
   * Resolves when all that matches is here; rejects when the server does not take it, or does not let
   * this peer in with its credential.
   */
  whenReady(): Promise<void>;
  /** What came stays where it is. May be called again. */
  cancel(): void;
}

/** How long a subscription that is waited for may be without a start before the app is warned. */
export const START_MS_MAX = 2_000;

const NOT_STARTED =
  "a subscription is waited for, but sync was not started: call peer.sync.start()";

/** Nothing happens then: any time would do. */
const ALIVE_MS = 3_600_000;

export interface SyncOptions {
  /** What the sync runs on; not there any more when the peer is closed. */
  readonly sync: PeerSync;
  readonly pendingCount: () => number;
  readonly onStatus: () => void;
  readonly onWarning: (message: string) => void;
}

/** What an app has of it. */
export type PeerConnection = Omit<Sync, "admit" | "close" | "exclude" | "note">;

export class Sync {
  readonly #options: SyncOptions;
  readonly #subscriptions = new Set<SyncSubscription>();
  #away: Away | undefined;
  #isClosed = false;
  /** As it was last, when the store cannot be asked any more. */
  #last: SyncStatus | undefined;
  /** Keeps the process alive while there is something to come, also when there is no connection. */
  #alive: NodeJS.Timeout | undefined;

  #hasStarted = false;
  /** Of the warning. It keeps the process alive: without a start nothing else might, and it ended in silence. */
  #unstarted: NodeJS.Timeout | undefined;

  constructor(options: SyncOptions) {
    this.#options = options;
  }

  /** Looks for the server, and comes back to it whenever it was lost. May be called again. */
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

  /** Says goodbye. Everything local goes on. */
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
   * Wants all documents of `SELECT * FROM collection [WHERE condition]`; throws for anything else. What
   * the server does not take is told by the status of the subscription, and as an error.
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

  /** Told by whoever hears of it: why there is no connection, undefined when there is one. */
  note(away: Away | undefined): void {
    this.#away = away;
    this.#keepAlive();
  }

  /** The server does not let this peer in, for good: what waits for it is told. */
  exclude(error: PeerError): void {
    this.#options.sync.exclude(error);
  }

  /** The server has let it in. */
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

  /** A program may wait first and start soon after; one that never does is warned, once. */
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
