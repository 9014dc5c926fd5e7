/**
 * Peer: a store that works without a connection, and the sync that keeps it equal with its server.
 *
 * Order of the opening: the lock, the store, what runs on it. Nothing is sent before `sync.start`.
 * Order of the closing: the connection, observers, the store, the lock.
 */

import { platform as osName, release } from "node:os";
import {
  PeerStore,
  PeerSync,
  type PeerSyncEvent,
  type RefusedUpload,
  type SystemRow,
} from "@bigpeer/engine";
import { nodePlatform } from "@bigpeer/node";
import { assert, ERROR_CODES, type ErrorCode, PeerError } from "@bigpeer/protocol";
import { kindOf, toldOf } from "./argument-check.ts";
import { EventHub, type Listener } from "./event-hub.ts";
import { LocalStore, type PeerDocuments } from "./local-store.ts";
import { type CheckedOptions, checkOptions, type PeerOptions } from "./options.ts";
import { openPlace, type PeerPlace } from "./peer-folder.ts";
import { SessionToken } from "./session-token.ts";
import { type PeerConnection, Sync, type SyncStatus } from "./sync.ts";
import { VERSION } from "./version.ts";
import { dialWebSocket } from "./web-socket.ts";

export interface PeerEvents {
  /** The connection, or the number of writes that wait for it. */
  readonly status: SyncStatus;
  /** A write that the server did not take. Its effect is gone; it can be read with `store.refused`. */
  readonly refused: RefusedUpload;
  /** What failed and nobody else was told: a callback, a query, a subscription, a credential. */
  readonly error: Error;
  /** What somebody should know. */
  readonly warning: string;
}

/** How often it is forgotten what need not be kept. */
const MAINTENANCE_MS = 600_000;

const EVENT_NAMES: readonly (keyof PeerEvents)[] = ["status", "refused", "error", "warning"];

const SESSION_STATUS = {
  stopped: "Disabled",
  connecting: "Not Connected",
  connected: "Connected",
  offline: "Not Connected",
} as const;

/** Makes a peer, or opens the one that is in the folder. Rejects with a PeerError. */
export async function openPeer(options: PeerOptions): Promise<Peer> {
  return Peer.open(checkOptions(options));
}

export class Peer {
  readonly appId: string;
  readonly store: PeerDocuments;
  readonly sync: PeerConnection;
  readonly #local: LocalStore;
  readonly #sync: Sync;
  readonly #place: PeerPlace;
  readonly #events: EventHub<PeerEvents>;
  readonly #token: SessionToken;
  readonly #stopListening: () => void;
  readonly #maintenance: NodeJS.Timeout;
  /** As it was told last. */
  #pendingCount = 0;
  /** Why the server does not let this peer in, as it was told last. */
  #refusal: string | undefined;
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
      platform: nodePlatform,
      appId,
      facts: { rows: (name) => this.#rowsOf(name, peerStore, options.baseUrl) },
      refused: () => peerStore.refused(),
      onError: (error) => this.#fail(error),
    });
    this.store = this.#local;
    this.#sync = new Sync({
      sync: this.#newSync(options, peerStore),
      pendingCount: () => peerStore.pendingCount,
      onStatus: () => this.#tellStatus(),
    });
    this.sync = this.#sync;
    this.#stopListening = store.onCommit(() => this.#committed());
    this.#maintenance = setInterval(() => void this.#maintain(peerStore), MAINTENANCE_MS).unref();
  }

  static async open(options: CheckedOptions): Promise<Peer> {
    const { appId, folder } = options;
    const events = new EventHub<PeerEvents>();
    let peerStore: PeerStore | undefined;
    const warnings: string[] = [];
    const place = await openPlace({
      folder,
      platform: nodePlatform,
      open: async (storage) => {
        peerStore = await PeerStore.open(storage, nodePlatform, { appId });
        return peerStore.store;
      },
      onWarning: (message) => {
        if (!events.emit("warning", message)) warnings.push(message);
      },
    });
    assert(peerStore !== undefined, "a place that is open");
    const peer = new Peer(options, peerStore, place, events);
    // Nobody could listen while it was opened.
    for (const message of warnings) setImmediate(() => events.emit("warning", message));
    return peer;
  }

  /** Calls `listener` with each event of the name. Returns the way to stop it. */
  on<Name extends keyof PeerEvents>(name: Name, listener: Listener<PeerEvents[Name]>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      const message = `expected status, refused, error or warning as the event, found ${toldOf(name)}`;
      throw new PeerError("config.invalid", message);
    }
    if (typeof listener !== "function") {
      const message = `expected a function as the listener, found ${kindOf(listener)}`;
      throw new PeerError("config.invalid", message);
    }
    return this.#events.on(name, listener);
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Finishes what was accepted, and gives the folder back. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      this.#stopListening();
      clearInterval(this.#maintenance);
      await this.#sync.close();
      this.#local.close();
    } finally {
      await this.#place.close();
    }
  }

  #newSync(options: CheckedOptions, peerStore: PeerStore): PeerSync {
    const { appId, baseUrl, deviceName, metadata } = options;
    const url = `${baseUrl.replace(/^http/, "ws")}/${appId}/sync`;
    return new PeerSync({
      store: peerStore,
      platform: nodePlatform,
      appId,
      description: {
        // It lasts as long as the store, and a copy of the store has another one.
        key: peerStore.store.identity.historyId,
        deviceName,
        os: `${osName()} ${release()}`,
        sdk: `bigpeer-node/${VERSION}`,
        metadata,
      },
      dial: (handlers) => dialWebSocket(url, handlers),
      wakeIn: (ms, wake) => {
        const timer = setTimeout(wake, ms).unref();
        return () => clearTimeout(timer);
      },
      token: () => this.#getToken(),
      onEvent: (event) => this.#heard(event),
    });
  }

  #heard(event: PeerSyncEvent): void {
    switch (event.kind) {
      case "connected":
        this.#refusal = undefined;
        this.#sync.note(undefined);
        return this.#tellStatus();
      case "disconnected":
        if (event.code === "unauthorized" || event.code === "expired") this.#token.forget();
        if (event.code === "unauthorized" || event.code === "version") {
          const message = `the server does not let this peer in: ${event.message}`;
          this.#failOnce(new PeerError("permission.denied", message));
        }
        this.#sync.note(event.message);
        return this.#tellStatus();
      case "foreign":
        this.#sync.note(`the server is of another app: ${event.app}`);
        this.#fail(
          new PeerError("permission.denied", `the server is of another app: ${event.app}`),
        );
        return this.#tellStatus();
      case "unsubscribed":
        return this.#fail(new PeerError(codeOf(event.code), event.message));
      case "failed":
        return this.#fail(event.error);
      case "refused":
        for (const upload of event.uploads) this.#events.emit("refused", upload);
        return;
      case "ready":
        return;
    }
  }

  #tellStatus(): void {
    const { status } = this.sync;
    this.#pendingCount = status.pendingCount;
    this.#events.emit("status", status);
  }

  #committed(): void {
    if (!this.isClosed && this.sync.status.pendingCount !== this.#pendingCount) this.#tellStatus();
  }

  #rowsOf(name: string, peerStore: PeerStore, id: string): Iterable<SystemRow> {
    switch (name) {
      case "data_sync_info":
        return peerStore.syncInfoRows({ id, status: SESSION_STATUS[this.sync.status.state] });
      case "refused_writes":
        return peerStore.refusedRows();
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
    try {
      return await this.#token.get();
    } catch (error) {
      if (error instanceof PeerError) this.#failOnce(error);
      throw error;
    }
  }

  /** What keeps the peer out is told once, not at every try: somebody has to do something. */
  #failOnce(error: PeerError): void {
    if (error.message === this.#refusal) return;
    this.#refusal = error.message;
    this.#fail(error);
  }

  /** An error that nobody listens for is shown where Node shows warnings. */
  #fail(error: unknown): void {
    const told = error instanceof Error ? error : new Error(String(error));
    if (!this.#events.emit("error", told)) process.emitWarning(told);
  }
}

/** The server's code, where it is one that we know. */
function codeOf(code: string): ErrorCode {
  return ERROR_CODES.find((known) => known === code) ?? "operation.refused";
}
