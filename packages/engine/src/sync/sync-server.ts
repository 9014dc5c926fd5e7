/**
 * SyncServer: serves the sync of one app. It connects the store, the streams of documents and a
 * state machine for each connection.
 *
 * Channels and time come from outside: the owner calls `tick` about once a second. An error in one
 * connection ends that connection alone.
 */

import {
  canonicalBytes,
  getField,
  type Hello,
  isObject,
  type OutcomeKind,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import { Budget } from "../query/frame/budget.ts";
import type { IndexUses } from "../query/frame/index-uses.ts";
import type { Steps } from "../query/frame/steps.ts";
import type { Authority } from "../query/permission/authority.ts";
import { FULL_PERMISSIONS, permissionsValue } from "../query/permission/permissions.ts";
import { TimeSlicer } from "../query/run/time-slicer.ts";
import type { ExplainSyncRequest } from "../query/system/system-collections.ts";
import type { Store } from "../store/store.ts";
import { takeUpload } from "../store/taken-upload.ts";
import type { UploadAnswer } from "../store/upload.ts";
import { Connection } from "./connection/connection.ts";
import type {
  ConnectionHost,
  HostedConnection,
  ServerConnection,
  SessionUpload,
} from "./connection/connection-host.ts";
import { DecodeQueue } from "./connection/decode-queue.ts";
import type { PeerReport } from "./device/peer-report.ts";
import { PresenceBoard, type PresenceKind, type PresentSession } from "./device/presence-board.ts";
import { PRESENCE_LIMITS, type PresenceLimits } from "./device/presence-limits.ts";
import {
  type RemoteRun,
  type RemoteRunStats,
  RemoteRuns,
  type RunningRemote,
} from "./device/remote-runs.ts";
import { type ExplainedSession, explainSync } from "./device/sync-explanation.ts";
import { STREAM_LIMITS, type StreamLimits } from "./outbox/stream-limits.ts";
import type { AdmittedPeer } from "./session/greeting.ts";
import type { Admission, Moment } from "./session/session-event.ts";
import type { SessionConfig, SessionLimits } from "./session/session-state.ts";
import type { StreamStats } from "./stream/session-streams.ts";
import { Streams } from "./streams.ts";
import { RefusedUploads } from "./upload/refused-uploads.ts";
import { UploadAllowance } from "./upload/upload-allowance.ts";
import { UploadBudget } from "./upload/upload-budget.ts";

export interface SyncServerOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  /**
   * Checks a credential; undefined if it is not valid. Called for each new token of a session, and
   * for each `hello` of a peer that was not admitted before it was connected. Throws or rejects if the check is not possible now.
   */
  readonly admit: (
    token: string,
    hello: Hello,
    channel: Channel,
  ) => Promise<Admission | undefined> | Admission | undefined;
  /** Applies an upload as takeUpload, where another node may do so; left out, the store itself. */
  readonly upload?: (asked: SessionUpload) => Promise<UploadAnswer>;
  /** Numbers a new session, higher than all before; left out, sessions are counted from 1. */
  readonly nextSession?: () => number;
  readonly limits?: Partial<SyncLimits>;
  /** Upload limits of each credential; shared where the sync of an app may stop and start again. */
  readonly allowance?: UploadAllowance;
  /** Counts the indexes that find the documents of subscriptions. */
  readonly indexUses?: IndexUses;
  /** Receives unexpected errors. */
  readonly onFault?: (error: unknown) => void;
}

export interface SyncLimits extends SessionLimits, StreamLimits, PresenceLimits {}

export interface SyncStats extends StreamStats {
  /** Sessions that have been welcomed. */
  readonly sessions: number;
  readonly connections: number;
  readonly subscriptions: number;
  /** Attempts with an invalid credential. */
  readonly refusals: number;
  /** Outcomes of uploads, including replays. */
  readonly uploads: { readonly [K in OutcomeKind]: number };
  /** Sessions that watch presence. */
  readonly watchers: number;
  readonly remoteRuns: RemoteRunStats;
}

/** A change of a peer, for the host. */
export interface PeerChange {
  /** For `left`, the last report. */
  readonly report: PeerReport;
  /** `changed`: its metadata or identity, not its progress. */
  readonly kind: PresenceKind;
}

type PeerListener = (change: PeerChange) => void;

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
const NOTHING_HELD = { close: (): void => undefined };

export class SyncServer implements ConnectionHost {
  readonly #options: SyncServerOptions;
  readonly #connections = new Set<HostedConnection>();
  /** Welcomed connections, by the number of their session. */
  readonly #sessions = new Map<number, HostedConnection>();
  readonly #peerListeners = new Set<PeerListener>();
  readonly #uploads = { applied: 0, refused: 0, stale: 0 };
  /** Digest for credentials that may read everything. */
  readonly #fullRights: Uint8Array;
  readonly #runs: RemoteRuns;
  readonly #slicer: TimeSlicer;
  readonly #budget: Budget;
  #refusals = 0;
  #lastSession = 0;
  #isClosed = false;
  readonly streams: Streams;
  readonly config: SessionConfig;
  readonly uploadBudget: UploadBudget;
  readonly allowance: UploadAllowance;
  readonly decodeQueue: DecodeQueue;
  readonly refusedUploads: RefusedUploads = new RefusedUploads();
  readonly presence: PresenceBoard;

  constructor(options: SyncServerOptions) {
    const { store, platform, appId, limits, indexUses } = options;
    this.#options = options;
    this.streams = new Streams({ store, platform, appId, indexUses, ...(limits && { limits }) });
    const { historyId: history } = store.identity;
    this.config = { history, app: appId, limits: { ...SESSION_LIMITS, ...limits } };
    this.uploadBudget = new UploadBudget(this.config.limits);
    const all = { ...STREAM_LIMITS, ...PRESENCE_LIMITS, ...limits };
    const pause = (): Promise<void> => platform.pause();
    this.decodeQueue = new DecodeQueue(pause);
    const noteFault = (error: unknown): void => this.noteFault(error);
    this.presence = new PresenceBoard({
      limits: all,
      pause,
      noteFault,
      onPeer: (session, kind) => this.#announce(session, kind),
    });
    const elapsed = (): number => platform.elapsed();
    this.allowance = options.allowance ?? new UploadAllowance(elapsed);
    this.#slicer = new TimeSlicer(pause, elapsed);
    this.#budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: Infinity });
    const runTurns = new TimeSlicer(pause, elapsed);
    this.#runs = new RemoteRuns({
      queueBytes: all.queueBytes,
      find: (session) => this.#sessions.get(session),
      elapsed,
      // All runs share one queue: if each run paused by itself, all would still ask at once.
      pause: () => runTurns.wait(),
      noteFault,
    });
    this.#fullRights = this.#digestOf(permissionsValue(FULL_PERMISSIONS));
  }

  get store(): Store {
    return this.#options.store;
  }

  get platform(): Platform {
    return this.#options.platform;
  }

  /**
   * Accepts a new connection. The owner of the channel reports frames and the end. If it has read
   * and checked `hello` itself, it passes the admitted peer, and the session starts at once.
   */
  connect(channel: Channel, peer?: AdmittedPeer): ServerConnection {
    const connection = new Connection(channel, this, peer?.hello);
    if (this.#isClosed) {
      connection.end();
      return connection;
    }
    this.#connections.add(connection);
    if (peer !== undefined) connection.join(peer);
    return connection;
  }

  tick(): void {
    const now = this.now();
    for (const connection of this.#connections) connection.tick(now);
    this.presence.tick();
    this.streams.tick();
  }

  /** The newest session of each peer, in the order of connection. */
  peers(): PeerReport[] {
    const reports: PeerReport[] = [];
    for (const session of this.presence.sessions()) {
      const report = session.report();
      if (report !== undefined) reports.push(report);
    }
    return reports;
  }

  /** The report of a session; of one on another node, if it is listed. */
  peer(session: number): PeerReport | undefined {
    return (this.#sessions.get(session) ?? this.presence.find(session))?.report();
  }

  /** Whether a session is one of this server's own. */
  hasSession(session: number): boolean {
    return this.#sessions.has(session);
  }

  /** Runs a statement on these sessions (S44). The caller has a timer and calls `expire`. */
  run(sessions: readonly number[], run: RemoteRun): RunningRemote {
    return this.#runs.run(sessions, run);
  }

  /**
   * Explains why a document is on a peer or is not: a row for each session of the peer, or one if
   * it has none. `deviceOf` looks up a device that is not connected. Runs in slices between other
   * work. Throws a PeerError if the conditions of the peer take too long.
   */
  *explain(
    request: ExplainSyncRequest,
    deviceOf?: (peerKey: string) => ValueObject | undefined,
  ): Steps<ValueObject[]> {
    const sessions: ExplainedSession[] = [];
    for (const { session, description } of this.presence.sessions()) {
      if (description.key !== request.peerKey) continue;
      const explained = this.#sessions.get(session)?.explained();
      if (explained !== undefined) sessions.push(explained);
    }
    const { refusedUploads, platform } = this;
    const elapsed = (): number => platform.elapsed();
    // `explainSync` reads the store at once: no snapshot is held during pauses.
    return yield* this.store.read((snapshot) =>
      explainSync(request, { snapshot, sessions, refusedUploads, deviceOf, elapsed }),
    );
  }

  /** Calls the listener when a peer joins or leaves, and about a second after it changed. */
  onPeers(listener: PeerListener): () => void {
    // Each call has its own end, even for the same listener.
    const own: PeerListener = (change) => listener(change);
    this.#peerListeners.add(own);
    return () => {
      this.#peerListeners.delete(own);
    };
  }

  stats(): SyncStats {
    let subscriptions = 0;
    for (const { subscriptionCount } of this.#sessions.values()) subscriptions += subscriptionCount;
    return {
      ...this.streams.stats(),
      connections: this.#connections.size,
      sessions: this.#sessions.size,
      subscriptions,
      refusals: this.#refusals,
      uploads: { ...this.#uploads },
      watchers: this.presence.watcherCount,
      remoteRuns: this.#runs.stats(),
    };
  }

  /** Ends all connections. The store stays open: its owner closes it. */
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

  upload(asked: SessionUpload): Promise<UploadAnswer> {
    const { upload, check, credential: owner, by } = asked;
    return this.#options.upload?.(asked) ?? takeUpload(this.store, upload, check, { owner, by });
  }

  /** Equal for all credentials that may read the same (S4). */
  rightsOf(authority: Authority | undefined): Uint8Array {
    return authority === undefined ? this.#fullRights : this.#digestOf(authority.value);
  }

  remember(...upload: Parameters<RefusedUploads["add"]>): Promise<void> | undefined {
    const steps = this.refusedUploads.add(...upload);
    const added = this.#slicer.take(steps, this.#budget, NOTHING_HELD);
    return added instanceof Promise ? added.catch((error) => this.noteFault(error)) : undefined;
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

  nextSession(): number {
    return this.#options.nextSession?.() ?? ++this.#lastSession;
  }

  welcomed(connection: HostedConnection): void {
    this.#sessions.set(connection.session, connection);
    this.presence.join(connection);
  }

  left(connection: HostedConnection): void {
    if (this.#sessions.delete(connection.session)) this.presence.leave(connection);
  }

  forget(connection: HostedConnection): void {
    this.#connections.delete(connection);
  }

  /** An error of a listener does not affect the peer. */
  #announce(session: PresentSession, kind: PresenceKind): void {
    if (this.#peerListeners.size === 0) return;
    const report = session.report();
    if (report === undefined) return;
    for (const listener of Array.from(this.#peerListeners)) {
      try {
        listener({ report, kind });
      } catch (error) {
        this.noteFault(error);
      }
    }
  }

  #digestOf(permissions: Value): Uint8Array {
    const read = isObject(permissions) ? getField(permissions, "read") : undefined;
    return this.platform.sha256(canonicalBytes(read ?? null)).slice(0, DIGEST_BYTES);
  }
}
