/**
 * Peer: an offline-first store, and the sync that keeps it up to date with its server.
 *
 * Opening takes the lock, then the store, then what runs on it. Nothing is sent before
 * `sync.start`. Closing ends the connection, then the observers, the store and the lock.
 *
 * It runs on any host: what it asks of Node or of a browser comes as a PeerHost and an OpenPlace.
 */

import { PeerStore, PeerSync, type PeerSyncEvent, PendingDocuments } from "@bigpeer/engine/peer";
import { MemoryPool, type SystemRow } from "@bigpeer/engine/query";
import {
  assert,
  ERROR_CODES,
  type ErrorCode,
  type PeerDescription,
  PeerError,
} from "@bigpeer/protocol";
import { checkErase, checkListener } from "./argument-check.ts";
import type { PeerAttachments } from "./attachments/attachments.ts";
import { Auth, type PeerAuth } from "./auth.ts";
import { EventHub, type Listener } from "./event-hub.ts";
import type { AttachmentTransfers } from "./host/attachment-transfers.ts";
import type { OpenPlace, PeerHost, PeerPlace } from "./host/peer-host.ts";
import { LocalStore, type PeerDocuments } from "./local-store.ts";
import type { CheckedOptions } from "./options.ts";
import { EVENT_NAMES, type PeerEvents } from "./peer-events.ts";
import type { PendingIds } from "./pending-ids.ts";
import { type PeerPresences, Presence, type RemotePeerPresence } from "./presence.ts";
import { Remote } from "./remote.ts";
import { ReportedFaults } from "./reported-faults.ts";
import { LoginFailure, SessionToken } from "./session-token.ts";
import { type PeerConnection, Sync, type SyncStatus } from "./sync.ts";
import { VERSION } from "./version.ts";

/**
 * How {@link Peer.erase} treats writes that the server has not answered.
 *
 * @example
 * const options: EraseOptions = { force: true };
 * await peer.erase(options);
 */
export interface EraseOptions {
  /** Whether to erase the peer although writes wait, which are lost then. The default is `false`. */
  readonly force?: boolean;
}

/** Memory of all statements together, including remote ones. */
const STATEMENTS_BYTES_MAX = 256 * 1024 * 1024;

/** How often expired data is removed; first, when the app has had time to start. */
const MAINTENANCE_MS = 600_000;
const MAINTENANCE_FIRST_MS = 30_000;

interface PeerParts {
  readonly host: PeerHost;
  readonly peerStore: PeerStore;
  readonly place: PeerPlace;
  readonly events: EventHub<PeerEvents>;
}

const SESSION_STATUS = {
  stopped: "Disabled",
  connecting: "Not Connected",
  connected: "Connected",
  offline: "Not Connected",
} as const;

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
  /** Contents that are too large for documents, such as photos and files. */
  readonly attachments: PeerAttachments;
  /** Undefined on a host that has no place for contents; an app does not reach this peer then. */
  readonly #transfers: AttachmentTransfers | undefined;
  readonly #local: LocalStore;
  readonly #sync: Sync;
  readonly #auth: Auth<Peer>;
  readonly #presence: Presence;
  readonly #remote: Remote;
  /** Runs the sync, presence and remote statements. */
  readonly #engine: PeerSync;
  readonly #host: PeerHost;
  readonly #peerStore: PeerStore;
  readonly #place: PeerPlace;
  readonly #events: EventHub<PeerEvents>;
  readonly #token: SessionToken;
  readonly #stopListening: () => void;
  #stopMaintenance: () => void;
  /** The status that was emitted last. */
  #status: SyncStatus = { state: "stopped", pendingCount: 0 };
  /** Reported faults that keep this peer from its server. */
  readonly #faults = new ReportedFaults();
  /** The error of the last request for a token; undefined if it succeeded. */
  #tokenFault: unknown;
  #closing: Promise<void> | undefined;

  private constructor(options: CheckedOptions, { host, peerStore, place, events }: PeerParts) {
    const { appId } = options;
    const { platform } = host;
    this.appId = appId;
    this.#host = host;
    this.#peerStore = peerStore;
    this.#place = place;
    this.#events = events;
    this.#token = new SessionToken(options, host);
    const { store } = peerStore;
    this.#local = new LocalStore({
      store,
      platform,
      host,
      appId,
      memory: new MemoryPool(STATEMENTS_BYTES_MAX),
      systemData: { rows: (name) => this.#rowsOf(name, peerStore, options.baseUrl) },
      pending: () => followPending(peerStore),
      refused: () => peerStore.refused(),
      clearRefused: (commitId) => peerStore.clearRefused(commitId),
      onError: (error) => this.#fail(error),
    });
    this.store = this.#local;
    this.#remote = new Remote({
      host,
      runner: this.#local.runner,
      policy: options.remote,
      onRun: (run) => this.#events.emit("remote", run),
      onError: (error) => this.#fail(error),
    });
    const description = descriptionOf(options, peerStore, host);
    this.#engine = this.#newSync(options, peerStore, description);
    this.#sync = new Sync({
      sync: this.#engine,
      onActive: (isActive) => this.#transfers?.setActive(isActive),
      prefetch: (query, args, wish) => this.#transfers?.prefetch(query, args, wish),
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
    this.#transfers = host.openAttachments?.({
      options,
      place,
      peerStore,
      token: this.#token,
      onError: (error) => this.#fail(error),
    });
    this.attachments = this.#transfers?.attachments as PeerAttachments;
    const onError = (error: unknown): void => this.#fail(error);
    this.#presence = new Presence({ sync: this.#engine, description, onError, checkOpen });
    this.presence = this.#presence;
    this.#stopListening = store.onCommit(() => this.#committed());
    this.#stopMaintenance = this.#maintainLater(peerStore, MAINTENANCE_FIRST_MS);
  }

  static async open(options: CheckedOptions, host: PeerHost, openPlace: OpenPlace): Promise<Peer> {
    const { appId } = options;
    const { platform } = host;
    const events = new EventHub<PeerEvents>((warning) => host.warn(warning));
    let peerStore: PeerStore | undefined;
    let peer: Peer | undefined;
    // The app cannot listen while the peer is opened.
    const early: string[] = [];
    const place = await openPlace({
      platform,
      open: async (storage) => {
        peerStore = await PeerStore.open(storage, platform, { appId });
        return peerStore.store;
      },
      onWarning: (message) => {
        if (peer === undefined) early.push(message);
        else peer.#warn(message);
      },
    });
    assert(peerStore !== undefined, "a place that is open");
    const opened = new Peer(options, { host, peerStore, place, events });
    peer = opened;
    for (const message of early) void platform.pause().then(() => opened.#warn(message));
    return opened;
  }

  /** The attachments, with the methods for pages. For hosts: apps do not have it. */
  static transfersOf(peer: Peer): AttachmentTransfers | undefined {
    return peer.#transfers;
  }

  /** The documents, with the methods for pages. For hosts: apps do not have it. */
  static documentsOf(peer: Peer): LocalStore {
    return peer.#local;
  }

  /** The number of documents in the store. For hosts: apps do not have it. */
  static documentCountOf(peer: Peer): number {
    return peer.#peerStore.store.read((view) =>
      view.collections().reduce((sum, collection) => sum + view.count(collection), 0),
    );
  }

  /**
   * The next connection uses this credential; there is one at once if there is none. For hosts: it
   * is no method, so that apps do not have it.
   */
  static useCredential(peer: Peer, credential: CheckedOptions["credential"]): void {
    peer.#token.replace(credential);
    if (peer.sync.status.state === "offline") peer.#sync.retry();
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
    checkListener(name, listener, EVENT_NAMES);
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

  /**
   * Deletes the data of this peer on this device, and closes the peer. In a folder it removes the
   * files of the peer and leaves others. The documents stay on the server. A peer that is opened
   * there later starts empty, as another peer.
   *
   * @param options - Whether to erase waiting writes as well.
   * @throws `store.pending`: writes wait for the server. Nothing was deleted, and the peer stays open.
   * @throws `config.invalid`: `options` is not valid.
   * @throws `store.closed`: the peer is closed.
   * @example
   * await peer.store.execute("INSERT INTO tasks DOCUMENTS ({'_id': 't1'})");
   * const refusal = await peer.erase().catch((error: PeerError) => error.code);
   * console.log(refusal, peer.isClosed); // store.pending false
   * await peer.erase({ force: true });
   * console.log(peer.isClosed); // true
   */
  async erase(options: EraseOptions = {}): Promise<void> {
    this.#checkOpen();
    const isForced = checkErase(options);
    await this.#peerStore.refuseWrites(isForced);
    this.#checkOpen();
    this.#closing = this.#close(() => this.#place.erase());
    await this.#closing;
  }

  async #close(end = (): Promise<void> => this.#place.close()): Promise<void> {
    try {
      this.#stopListening();
      this.#stopMaintenance();
      this.#presence.close();
      this.#remote.close();
      await this.#transfers?.close();
      await this.#sync.close();
      this.#local.close();
    } finally {
      await end();
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
      platform: this.#host.platform,
      appId,
      description,
      dial: (handlers) => this.#host.dial(url, handlers, (reason) => this.#misplaced(reason)),
      wakeIn: this.#host.after,
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
        this.#transfers?.connected(this.#token.name);
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
        return peerStore.syncInfoRows({
          id,
          status: SESSION_STATUS[this.sync.status.state],
          more: this.#transfers?.fields,
        });
      case "refused_writes":
        return peerStore.refusedRows();
      case "peers":
        return this.#presence.graph.remotePeers.map(rowOf);
      default:
        return [];
    }
  }

  /** After `ms`, then every MAINTENANCE_MS. Returns a function that ends it. */
  #maintainLater(peerStore: PeerStore, ms = MAINTENANCE_MS): () => void {
    return this.#host.after(ms, () => {
      void this.#maintain(peerStore);
      this.#stopMaintenance = this.#maintainLater(peerStore);
    });
  }

  async #maintain(peerStore: PeerStore): Promise<void> {
    try {
      await peerStore.maintain();
      await this.#transfers?.maintain();
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

  /** Emits `warning`. Without a listener the host shows it. */
  #warn(message: string): void {
    if (!this.#events.emit("warning", message)) this.#host.warn(message);
  }

  /** Emits `error`. Without a listener the host shows a warning. */
  #fail(error: unknown): void {
    const reported = error instanceof Error ? error : new Error(String(error));
    if (!this.#events.emit("error", reported)) this.#host.warn(reported);
  }
}

/** The pending documents of a store, as observers ask for them. */
function followPending({ store }: PeerStore): PendingIds {
  const pending = new PendingDocuments();
  const refresh = (): boolean => store.read(({ reader }) => pending.refresh(reader));
  refresh();
  return {
    refresh,
    get isEmpty() {
      return pending.isEmpty;
    },
    has: (collection, idKey) => pending.has(collection, idKey),
  };
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
  { os, sdk }: PeerHost,
): PeerDescription {
  return {
    // It lasts as long as the store. A copy of the store has another one.
    key: peerStore.store.identity.historyId,
    deviceName,
    os,
    sdk: `${sdk}/${VERSION}`,
    metadata,
  };
}

/** A row of `system:peers`. */
function rowOf({ peerKeyString: id, ...fields }: RemotePeerPresence): SystemRow {
  return { id, fields: { peerKeyString: id, ...fields } };
}
