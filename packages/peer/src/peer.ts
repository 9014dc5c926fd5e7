/**
 * Peer: an offline-first store, and the sync that keeps it up to date with its server.
 *
 * Opening takes the lock, then the store, then what runs on it. Nothing is sent before
 * `sync.start`. Closing ends the connection, then the observers, the store and the lock.
 */

import { platform as osName } from "node:os";
import { PeerStore, PeerSync, type PeerSyncEvent, type RefusedUpload } from "@bigpeer/engine/peer";
import { MemoryPool, type SystemRow } from "@bigpeer/engine/query";
import {
  assert,
  ERROR_CODES,
  type ErrorCode,
  type PeerDescription,
  PeerError,
} from "@bigpeer/protocol";
import { describe, kindOf } from "./argument-check.ts";
import { Auth, type PeerAuth } from "./auth.ts";
import { EventHub, type Listener } from "./event-hub.ts";
import { LocalStore, type PeerDocuments } from "./local-store.ts";
import { type CheckedOptions, checkOptions, type PeerOptions } from "./options.ts";
import { openPlace, type PeerPlace } from "./peer-folder.ts";
import { peerPlatform } from "./peer-platform.ts";
import { type PeerPresences, Presence, type RemotePeerPresence } from "./presence.ts";
import { Remote, type RemoteRun } from "./remote.ts";
import { ReportedFaults } from "./reported-faults.ts";
import { LoginFailure, SessionToken } from "./session-token.ts";
import { type PeerConnection, Sync, type SyncStatus } from "./sync.ts";
import { VERSION } from "./version.ts";
import { dialWebSocket } from "./web-socket.ts";

/**
 * The events of a peer by name, with what a listener of {@link Peer.on} receives.
 *
 * @example
 * peer.on("status", ({ state, pendingCount }) => console.log(state, pendingCount));
 * peer.on("refused", ({ reason }) => console.error("refused:", reason));
 * peer.on("error", (error) => console.error(error.message));
 */
export interface PeerEvents {
  /** The new status, each time the connection or the number of waiting writes changes. */
  readonly status: SyncStatus;
  /** A write that the server refused. The documents no longer show its effect. */
  readonly refused: RefusedUpload;
  /** A remote statement that the peer ran or refused. */
  readonly remote: RemoteRun;
  /**
   * An error that no call reports: a callback, an observed query or a subscription failed, or the
   * server refused the credential. Without a listener, Node prints it as a process warning.
   */
  readonly error: Error;
  /** A text for the app or its operator, for example that the folder is a copy. */
  readonly warning: string;
}

/** Memory of all statements together, including remote ones. */
const STATEMENTS_BYTES_MAX = 256 * 1024 * 1024;

/** How often expired data is removed. */
const MAINTENANCE_MS = 600_000;

const EVENT_NAMES: readonly (keyof PeerEvents)[] = [
  "status",
  "refused",
  "remote",
  "error",
  "warning",
];

const EVENTS_LISTED = `${EVENT_NAMES.slice(0, -1).join(", ")} or ${EVENT_NAMES.at(-1)}`;

const SESSION_STATUS = {
  stopped: "Disabled",
  connecting: "Not Connected",
  connected: "Connected",
  offline: "Not Connected",
} as const;

/**
 * Opens a peer: creates it, or opens the one in the folder. The peer connects only after
 * `sync.start`.
 *
 * @param options - App, server, storage and credential.
 * @returns The peer. Close it with {@link Peer.close}.
 * @throws `config.invalid`: an option is wrong or unknown, the folder cannot be used, or the
 * package `@bigpeer/node` is not installed, which a folder needs.
 * @throws `store.in_use`: another peer has the folder open.
 * @throws `store.foreign`: the folder holds something else, or the documents of another app.
 * @throws `store.format_newer`: a newer version wrote the folder.
 * @throws `store.corrupt`: the data in the folder is damaged.
 * @throws `store.full`, `store.write_failed`: the folder cannot be written.
 * @example
 * import { openPeer } from "@bigpeer/peer";
 *
 * const phone = await openPeer({ appId, url: dataUrl, token: apiKey, memory: true });
 * const tasks = phone.sync.registerSubscription("SELECT * FROM tasks");
 * phone.sync.start();
 * await tasks.whenReady();
 * await phone.close();
 */
export async function openPeer(options: PeerOptions): Promise<Peer> {
  return Peer.open(checkOptions(options));
}

/**
 * A small peer: a document store on this device that syncs with a server.
 *
 * @example
 * const stop = peer.on("status", ({ state }) => console.log("connection:", state));
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS ({'_id': 't1', 'title': 'Tea'})");
 * stop();
 * await peer.close();
 * console.log(peer.isClosed); // true
 */
export class Peer {
  /** Id of the app whose documents the peer holds. */
  readonly appId: string;
  /** The documents: statements, observers and transactions. */
  readonly store: PeerDocuments;
  /** The connection to the server, and subscriptions. */
  readonly sync: PeerConnection;
  /** The authentication state, and logout. */
  readonly auth: PeerAuth<Peer>;
  /** The other connected peers, and the metadata of this one. */
  readonly presence: PeerPresences;
  readonly #local: LocalStore;
  readonly #sync: Sync;
  readonly #auth: Auth<Peer>;
  readonly #presence: Presence;
  readonly #remote: Remote;
  /** Runs the sync, presence and remote statements. */
  readonly #engine: PeerSync;
  readonly #place: PeerPlace;
  readonly #events: EventHub<PeerEvents>;
  readonly #token: SessionToken;
  readonly #stopListening: () => void;
  readonly #maintenance: NodeJS.Timeout;
  /** The status that was emitted last. */
  #status: SyncStatus = { state: "stopped", pendingCount: 0 };
  /** Reported faults that keep this peer from its server. */
  readonly #faults = new ReportedFaults();
  /** The error of the last request for a token; undefined if it succeeded. */
  #tokenFault: unknown;
  #closing: Promise<void> | undefined;

  private constructor(
    options: CheckedOptions,
    peerStore: PeerStore,
    place: PeerPlace,
    events: EventHub<PeerEvents>,
  ) {
    const { appId } = options;
    this.appId = appId;
    this.#place = place;
    this.#events = events;
    this.#token = new SessionToken(options);
    const { store } = peerStore;
    this.#local = new LocalStore({
      store,
      platform: peerPlatform,
      appId,
      memory: new MemoryPool(STATEMENTS_BYTES_MAX),
      systemData: { rows: (name) => this.#rowsOf(name, peerStore, options.baseUrl) },
      refused: () => peerStore.refused(),
      clearRefused: (commitId) => peerStore.clearRefused(commitId),
      onError: (error) => this.#fail(error),
    });
    this.store = this.#local;
    this.#remote = new Remote({
      runner: this.#local.runner,
      policy: options.remote,
      onRun: (run) => this.#events.emit("remote", run),
      onError: (error) => this.#fail(error),
    });
    const description = descriptionOf(options, peerStore);
    this.#engine = this.#newSync(options, peerStore, description);
    this.#sync = new Sync({
      sync: this.#engine,
      pendingCount: () => peerStore.pendingCount,
      onStatus: () => this.#emitStatus(),
      onWarning: (message) => this.#warn(message),
    });
    this.sync = this.#sync;
    const checkOpen = (): void => this.#checkOpen();
    this.#auth = new Auth<Peer>({
      token: this.#token,
      subject: () => this,
      stop: () => this.#sync.stop(),
      checkOpen,
    });
    this.auth = this.#auth;
    const onError = (error: unknown): void => this.#fail(error);
    this.#presence = new Presence({ sync: this.#engine, description, onError, checkOpen });
    this.presence = this.#presence;
    this.#stopListening = store.onCommit(() => this.#committed());
    this.#maintenance = setInterval(() => void this.#maintain(peerStore), MAINTENANCE_MS).unref();
  }

  static async open(options: CheckedOptions): Promise<Peer> {
    const { appId, folder } = options;
    const events = new EventHub<PeerEvents>();
    let peerStore: PeerStore | undefined;
    let peer: Peer | undefined;
    // The app cannot listen while the peer is opened.
    const early: string[] = [];
    const place = await openPlace({
      folder,
      platform: peerPlatform,
      open: async (storage) => {
        peerStore = await PeerStore.open(storage, peerPlatform, { appId });
        return peerStore.store;
      },
      onWarning: (message) => {
        if (peer === undefined) early.push(message);
        else peer.#warn(message);
      },
    });
    assert(peerStore !== undefined, "a place that is open");
    const opened = new Peer(options, peerStore, place, events);
    peer = opened;
    for (const message of early) setImmediate(() => opened.#warn(message));
    return opened;
  }

  /**
   * Calls a listener with each event of a name.
   *
   * @param name - `status`, `refused`, `remote`, `error` or `warning`.
   * @param listener - Receives the event.
   * @returns A function that removes the listener.
   * @throws `config.invalid`: the name is unknown, or the listener is not a function.
   */
  on<Name extends keyof PeerEvents>(name: Name, listener: Listener<PeerEvents[Name]>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      const message = `expected ${EVENTS_LISTED} as the event, found ${describe(name)}`;
      throw new PeerError("config.invalid", message);
    }
    if (typeof listener !== "function") {
      const message = `expected a function as the listener, found ${kindOf(listener)}`;
      throw new PeerError("config.invalid", message);
    }
    return this.#events.on(name, listener);
  }

  /** Whether `close()` was called. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Closes the connection, finishes the accepted work and releases the folder. Writes that still
   * wait are uploaded after the next start. A second call returns the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      this.#stopListening();
      clearInterval(this.#maintenance);
      this.#presence.close();
      this.#remote.close();
      await this.#sync.close();
      this.#local.close();
    } finally {
      await this.#place.close();
    }
  }

  #checkOpen(): void {
    if (this.isClosed) throw new PeerError("store.closed", "the peer is closed");
  }

  #newSync(
    { appId, baseUrl }: CheckedOptions,
    peerStore: PeerStore,
    description: PeerDescription,
  ): PeerSync {
    const url = `${baseUrl.replace(/^http/, "ws")}/${appId}/sync`;
    return new PeerSync({
      store: peerStore,
      platform: peerPlatform,
      appId,
      description,
      dial: (handlers) => dialWebSocket(url, handlers, (reason) => this.#misplaced(reason)),
      wakeIn: (ms, wake) => {
        const timer = setTimeout(wake, ms).unref();
        return () => clearTimeout(timer);
      },
      token: () => this.#getToken(),
      onEvent: (event) => this.#heard(event),
      run: (run, reply) => this.#remote.run(run, reply),
    });
  }

  #heard(event: PeerSyncEvent): void {
    switch (event.kind) {
      case "connected":
        this.#faults.clear();
        this.#sync.admit();
        this.#auth.accept();
        this.#sync.note(undefined);
        return this.#emitStatus();
      case "disconnected":
        return this.#disconnected(event);
      case "foreign": {
        const reason = `the server is of another app: ${event.app}`;
        const error = new PeerError("permission.denied", reason);
        this.#sync.note({ reason, code: "permission.denied" });
        this.#sync.exclude(error);
        this.#fail(error);
        return this.#emitStatus();
      }
      case "unsubscribed":
        return this.#fail(new PeerError(codeOf(event.code), event.message));
      case "failed":
        // The request for a token has reported this error itself.
        if (event.error !== this.#tokenFault) this.#fail(event.error);
        return;
      case "refused":
        for (const upload of event.uploads) this.#events.emit("refused", upload);
        return;
      case "ready":
        return;
    }
  }

  #disconnected({ code, message: reason, refusal }: Disconnected): void {
    if (code === "unauthorized" || code === "expired") this.#auth.forget();
    // The request for a token has reported a refused login itself.
    const isRefused = code === "unauthorized" && refusal === undefined;
    if (isRefused || code === "version") {
      const message = `the server does not let this peer in: ${reason}`;
      this.#failOnce(new PeerError("permission.denied", message));
    }
    this.#sync.note({ reason, code: refusal ?? code });
    this.#emitStatus();
  }

  #emitStatus(): void {
    const { status } = this.sync;
    if (isSameStatus(status, this.#status)) return;
    this.#status = status;
    this.#events.emit("status", status);
  }

  #committed(): void {
    if (!this.isClosed) this.#emitStatus();
  }

  #rowsOf(name: string, peerStore: PeerStore, id: string): Iterable<SystemRow> {
    switch (name) {
      case "data_sync_info":
        return peerStore.syncInfoRows({ id, status: SESSION_STATUS[this.sync.status.state] });
      case "refused_writes":
        return peerStore.refusedRows();
      case "peers":
        return this.#presence.graph.remotePeers.map(rowOf);
      default:
        return [];
    }
  }

  async #maintain(peerStore: PeerStore): Promise<void> {
    try {
      await peerStore.maintain();
    } catch (error) {
      if (!this.isClosed) this.#fail(error);
    }
  }

  async #getToken(): Promise<string> {
    // A token that is requested during a connection replaces the one in use.
    const isRenewal = this.#engine.status().offsetMs !== undefined;
    try {
      const given = await (isRenewal ? this.#token.renew() : this.#token.get());
      this.#tokenFault = undefined;
      return given;
    } catch (error) {
      this.#tokenFault = error;
      if (error instanceof PeerError) this.#failOnce(error);
      // While the session lasts, there is time to try again.
      else if (error instanceof LoginFailure && !isRenewal) this.#report(error);
      throw error;
    }
  }

  /** Reports what keeps the peer out once, not at each attempt: the app has to act. */
  #failOnce(error: PeerError): void {
    this.#sync.exclude(error);
    this.#report(error);
  }

  /** Something else answers at the server's address. Waiters go on waiting: the server may come. */
  #misplaced(reason: string): void {
    this.#report(new PeerError("config.invalid", reason));
  }

  #report(error: Error): void {
    if (!this.isClosed && this.#faults.add(error.message)) this.#fail(error);
  }

  /** Emits `warning`. Without a listener Node shows it. */
  #warn(message: string): void {
    if (!this.#events.emit("warning", message)) process.emitWarning(message);
  }

  /** Emits `error`. Without a listener Node shows a warning. */
  #fail(error: unknown): void {
    const reported = error instanceof Error ? error : new Error(String(error));
    if (!this.#events.emit("error", reported)) process.emitWarning(reported);
  }
}

/** The server's code, or `operation.refused` if the code is unknown here. */
function codeOf(code: string): ErrorCode {
  return ERROR_CODES.find((known) => known === code) ?? "operation.refused";
}

function isSameStatus(a: SyncStatus, b: SyncStatus): boolean {
  if (a.state !== b.state || a.pendingCount !== b.pendingCount) return false;
  return a.reason === b.reason && a.code === b.code;
}

type Disconnected = Extract<PeerSyncEvent, { readonly kind: "disconnected" }>;

function descriptionOf(
  { deviceName, metadata }: CheckedOptions,
  peerStore: PeerStore,
): PeerDescription {
  return {
    // It lasts as long as the store. A copy of the store has another one.
    key: peerStore.store.identity.historyId,
    deviceName,
    // The name alone, because statements select peers by it.
    os: osName(),
    sdk: `bigpeer-node/${VERSION}`,
    metadata,
  };
}

/** A row of `system:peers`. */
function rowOf({ peerKeyString: id, ...fields }: RemotePeerPresence): SystemRow {
  return { id, fields: { peerKeyString: id, ...fields } };
}
