/**
 * SyncServer: the sync of one app. It brings together the store, the streams of documents, and a
 * machine for each connection.
 *
 * Connections come from outside as channels; time, too: whoever made this calls `tick` about once a
 * second. What goes wrong with one connection ends that one alone.
 */

import {
  canonicalBytes,
  getField,
  type Hello,
  isObject,
  type OutcomeKind,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import type { Authority } from "../query/permission/authority.ts";
import { FULL_PERMISSIONS, permissionsValue } from "../query/permission/permissions.ts";
import type { Store } from "../store/store.ts";
import { Connection, type ConnectionHost, type ServerConnection } from "./connection.ts";
import type { Admission, Moment } from "./session-event.ts";
import type { SessionFacts, SessionLimits } from "./session-state.ts";
import type { StreamFigures } from "./session-streams.ts";
import type { StreamLimits } from "./stream-limits.ts";
import { Streams } from "./streams.ts";
import { UploadRoom } from "./upload-room.ts";

export interface SyncServerOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  /**
   * Who that is; undefined when nobody is known by it. Asked for each hello, and again when a session
   * has a new token. Throws or rejects when it cannot be said now.
   */
  readonly admit: (
    token: string,
    hello: Hello,
    channel: Channel,
  ) => Promise<Admission | undefined> | Admission | undefined;
  readonly limits?: Partial<SyncLimits>;
  /** Told of what nobody expected. It has ended a connection. */
  readonly onFault?: (error: unknown) => void;
}

export interface SyncLimits extends SessionLimits, StreamLimits {}

export interface SyncFigures extends StreamFigures {
  /** Those that have been welcomed. */
  readonly sessions: number;
  readonly connections: number;
  readonly subscriptions: number;
  /** Credentials that were none. */
  readonly refusals: number;
  /** What became of uploads, those that came again included. */
  readonly uploads: { readonly [K in OutcomeKind]: number };
}

const MB = 1024 * 1024;

const SESSION_LIMITS: SessionLimits = {
  messageBytes: SYNC_MESSAGE_BYTES_MAX,
  uploads: 64,
  subscriptions: 1000,
  subscriptionBytes: 8 * MB,
  uploadBytes: 8 * MB,
  allUploadBytes: 128 * MB,
  helloMs: 10_000,
  admissionMs: 30_000,
  pingMs: 30_000,
  silenceMs: 60_000,
  stuckMs: 60_000,
};

const DIGEST_BYTES = 16;

export class SyncServer implements ConnectionHost {
  readonly #options: SyncServerOptions;
  readonly #connections = new Set<Connection>();
  readonly #uploads = { applied: 0, refused: 0, stale: 0 };
  /** Of those who may do everything. */
  readonly #fullRights: Uint8Array;
  #refusals = 0;
  #isClosed = false;
  readonly streams: Streams;
  readonly facts: SessionFacts;
  readonly uploadRoom: UploadRoom;

  constructor(options: SyncServerOptions) {
    const { store, platform, appId, limits } = options;
    this.#options = options;
    this.streams = new Streams({ store, platform, appId, ...(limits && { limits }) });
    const { historyId: history } = store.identity;
    this.facts = { history, app: appId, limits: { ...SESSION_LIMITS, ...limits } };
    this.uploadRoom = new UploadRoom(this.facts.limits);
    this.#fullRights = this.#digestOf(permissionsValue(FULL_PERMISSIONS));
  }

  get store(): Store {
    return this.#options.store;
  }

  get platform(): Platform {
    return this.#options.platform;
  }

  /** Takes a connection that was just made. Whoever owns it tells what comes in and when it is gone. */
  connect(channel: Channel): ServerConnection {
    const connection = new Connection(channel, this);
    if (this.#isClosed) connection.end();
    else this.#connections.add(connection);
    return connection;
  }

  tick(): void {
    const now = this.now();
    for (const connection of this.#connections) connection.tick(now);
    this.streams.tick();
  }

  figures(): SyncFigures {
    let sessions = 0;
    let subscriptions = 0;
    for (const connection of this.#connections) {
      if (connection.isOpen) sessions++;
      subscriptions += connection.subscriptionCount;
    }
    return {
      ...this.streams.figures(),
      connections: this.#connections.size,
      sessions,
      subscriptions,
      refusals: this.#refusals,
      uploads: { ...this.#uploads },
    };
  }

  /** Says goodbye to all. The store stays open: it belongs to whoever opened it. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.end();
    this.streams.close();
  }

  now(): Moment {
    return { wallMs: this.platform.now(), elapsedMs: this.platform.elapsed() };
  }

  admit(
    token: string,
    hello: Hello,
    channel: Channel,
  ): Promise<Admission | undefined> | Admission | undefined {
    return this.#options.admit(token, hello, channel);
  }

  /** The same for all who may read the same (S4). */
  rightsOf(authority: Authority | undefined): Uint8Array {
    return authority === undefined ? this.#fullRights : this.#digestOf(authority.value);
  }

  noteFailure(): void {
    this.#refusals++;
  }

  noteOutcome(kind: OutcomeKind): void {
    this.#uploads[kind]++;
  }

  noteFault(error: unknown): void {
    this.#options.onFault?.(error);
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection);
  }

  #digestOf(permissions: Value): Uint8Array {
    const read = isObject(permissions) ? getField(permissions, "read") : undefined;
    return this.platform.sha256(canonicalBytes(read ?? null)).slice(0, DIGEST_BYTES);
  }
}
