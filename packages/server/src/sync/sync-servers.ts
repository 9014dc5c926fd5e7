/**
 * Sync servers: all connected peers of a server, a sync server for each app that they use, and the
 * records of their devices.
 *
 * One timer serves them all. When apps or keys change, the affected credentials are checked again,
 * each once, however many peers use it. A sync server ends before the store of its app.
 */

import { type Platform, waitFor } from "@bigpeer/engine";
import type { ExplainSyncRequest } from "@bigpeer/engine/query";
import type { Store, UploadAnswer } from "@bigpeer/engine/store";
import { takeUpload } from "@bigpeer/engine/store";
import {
  type AdmittedPeer,
  type PresentSession,
  returnDelayMs,
  type ServerConnection,
  type SessionUpload,
  SyncServer,
  UploadAllowance,
} from "@bigpeer/engine/sync";
import { type Hello, PeerError, type ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";
import type { AppUse } from "../apps/open-apps.ts";
import { ownerOf } from "../auth/credential.ts";
import type { Bearer } from "../auth/credentials.ts";
import { Refusal } from "../http/refusal.ts";
import {
  SYNC_CLOSE_MS_MAX,
  SYNC_CREDENTIAL_SHARE,
  SYNC_HELLO_MS_MAX,
  SYNC_NEWCOMERS,
  SYNC_UNREAD_SIZE_MAX,
} from "../limits/limits.ts";
import { Newcomers } from "../limits/newcomers.ts";
import { Shares } from "../limits/shares.ts";
import { describeError, type Log } from "../observability/log.ts";
import { peerLine } from "../observability/log-events.ts";
import type { WatchedStats } from "../observability/metric-sources.ts";
import type { RegistryChange } from "../registry/registry.ts";
import { DeviceRecords, deviceRecord } from "./device-records.ts";
import type { ExplainSteps } from "./device-rows.ts";
import { type ConnectionHost, SyncConnection } from "./sync-connection.ts";
import {
  type AuthenticatedPeer,
  SyncGate,
  type SyncGateOptions,
  type SyncPlace,
  SyncRefusal,
} from "./sync-gate.ts";
import { ChannelMaker, type WebSocketChannel } from "./web-socket.ts";

export interface SyncServersOptions extends SyncGateOptions {
  readonly platform: Platform;
  readonly log: Log;
  /** Peers at a time; unlimited if left out. */
  readonly connectionsMax?: number;
  /** Called for each peer that was refused before it had a session. */
  readonly onRefused?: (reason: string) => void;
  /** The cluster that the server is a node of. */
  readonly cluster?: () => SyncCluster | undefined;
}

/** What sync needs of the other nodes of a cluster. */
export interface SyncCluster {
  readonly calls: SyncCalls;
  readonly peers: ClusterPeers;
}

/** Calls of the node that evaluates an app. */
export interface SyncCalls {
  /** Resolves when the app here has everything that was acknowledged before the call. */
  catchUp(appId: string): Promise<void>;
  /** As takeUpload, on the node that evaluates the app. */
  upload(store: Store, appId: string, asked: SessionUpload, token: string): Promise<UploadAnswer>;
}

/** Peers that are connected to other nodes of a cluster. */
export interface ClusterPeers {
  /** Numbers a session of this node, as no other node does. */
  nextSession(): number;
  /** Lists the peers of other nodes in the presence of an app, and sends them those of this one. */
  opened(app: OpenApp, sync: SyncServer): void;
  closing(appId: string): void;
  /** Call about once a second. */
  tick(): void;
  /**
   * Counts the times in which this node records the devices of an app: another number means that
   * others may have recorded some meanwhile. Undefined if it must not.
   */
  recordingTerm(app: OpenApp): number | undefined;
  /** Explanations of other nodes; undefined if none has a session of the peer. */
  explain(appId: string, request: ExplainSyncRequest): Promise<ValueObject[]> | undefined;
}

const TICK_MS = 1_000;

/** When a peer retries whose credential has too many peers. */
const FULL_RETRY_MS = 10_000;

/** Credentials that are checked before other work gets a turn. */
const REVIEWED_AT_ONCE = 50;

export class SyncServers implements ConnectionHost {
  readonly channels: ChannelMaker = new ChannelMaker(SYNC_UNREAD_SIZE_MAX);
  readonly #options: SyncServersOptions;
  readonly #gate: SyncGate;
  readonly #connections = new Set<SyncConnection>();
  /** Connections without `hello`, in the order in which they came. */
  readonly #silent = new Set<SyncConnection>();
  /** Connections whose credential is not accepted yet. */
  readonly #newcomers: Newcomers<SyncConnection>;
  /** Number of peers with a session, by credential. */
  readonly #ofCredentials: Shares;
  /** The credential that each of them counts for. */
  readonly #owners = new Map<SyncConnection, string>();
  readonly #closedApps = new WeakSet<OpenApp>();
  /** For all apps, because the sync server of one may end and start again. */
  readonly #allowance: UploadAllowance;
  /** By the id of the app. */
  readonly #servers = new Map<string, SyncServer>();
  readonly #records = new Map<string, DeviceRecords>();
  /** In a cluster: open apps, and the terms that their records were made in. */
  readonly #sharedApps = new Map<string, OpenApp>();
  readonly #terms = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  /** Changes of the registry that were not checked yet. */
  readonly #changedApps = new Set<string>();
  readonly #changedKeys = new Set<string>();
  #isReviewing = false;
  #isClosed = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: SyncServersOptions) {
    this.#options = options;
    this.#gate = new SyncGate(options);
    this.#newcomers = new Newcomers({
      ...SYNC_NEWCOMERS,
      elapsed: () => options.platform.elapsed(),
    });
    this.#allowance = new UploadAllowance(() => options.platform.elapsed());
    const max = options.connectionsMax ?? Number.POSITIVE_INFINITY;
    this.#ofCredentials = new Shares({
      max: Number.POSITIVE_INFINITY,
      perOwnerMax: Math.max(1, Math.floor(max * SYNC_CREDENTIAL_SHARE)),
    });
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Connected peers, including those without a session. */
  get connectionCount(): number {
    return this.#connections.size;
  }

  /** The sync server of an app; undefined if no peer has connected since it was opened. */
  syncOf(appId: string): SyncServer | undefined {
    return this.#servers.get(appId);
  }

  /** Like `syncOf`, but creates one. Throws a SyncRefusal if the app is closing. */
  serverOf(app: OpenApp): SyncServer {
    return this.#serverOf(app);
  }

  /** Why a document is on a peer or is not, even if no peer is connected. */
  *explain(app: OpenApp, request: ExplainSyncRequest): ExplainSteps {
    try {
      const deviceOf = (key: string): ValueObject | undefined => deviceRecord(app.store, key);
      const server = this.#serverOf(app);
      const others = this.#options.cluster?.()?.peers.explain(app.id, request);
      const rows = others === undefined ? [] : yield* waitFor(others);
      if (rows.length > 0 && !hasPeer(server, request.peerKey)) return rows;
      return [...(yield* server.explain(request, deviceOf)), ...rows];
    } catch (error) {
      if (!(error instanceof SyncRefusal)) throw error;
      throw new PeerError("store.closed", error.message);
    }
  }

  /** Statistics of the sync server of an app; undefined if it has none. */
  statsOf(appId: string): WatchedStats | undefined {
    const server = this.#servers.get(appId);
    if (server === undefined) return undefined;
    return { ...server.stats(), peers: ownSessions(server).length };
  }

  /** Ends all connections; the peers may try again. */
  dismissAll(reason: string): void {
    const refusal = new SyncRefusal("busy", reason, FULL_RETRY_MS);
    for (const connection of this.#connections) connection.dismiss(refusal);
  }

  /** Whether a peer of this address may connect. Cuts waiting connections that must give way. */
  hasRoomFor(address: string): boolean {
    return this.#newcomers.makeRoom(address);
  }

  /** Cuts a connection that was silent for too long. False if there is none. */
  cutSilent(): boolean {
    return this.#newcomers.cutSilent();
  }

  /** Takes a new connection. */
  add(channel: WebSocketChannel, place: SyncPlace): void {
    const connection = new SyncConnection(channel, place, this.#options.platform.elapsed(), this);
    this.#connections.add(connection);
    this.#silent.add(connection);
    this.#newcomers.add(connection, place.remoteAddress, () => {
      this.#options.onRefused?.("newcomers");
      // It is removed at once: others wait for its place.
      this.#connections.delete(connection);
      connection.cut();
    });
  }

  /** Call when an app was opened: corrects the records of its devices. */
  appOpened(app: OpenApp): void {
    const cluster = this.#options.cluster?.();
    if (cluster === undefined) return this.#record(app);
    if (this.#isClosed) return;
    this.#sharedApps.set(app.id, app);
    cluster.peers.opened(app, this.#serverOf(app));
  }

  #record({ id: appId, store }: OpenApp, sync?: SyncServer): void {
    const { platform, log } = this.#options;
    const options = { appId, store, platform, log, ...(sync && { sync }) };
    this.#records.set(appId, new DeviceRecords(options));
  }

  /** Only the evaluating node of an app records its devices. */
  #shareRecords(app: OpenApp, peers: ClusterPeers): void {
    const { id } = app;
    const records = this.#records.get(id);
    const term = peers.recordingTerm(app);
    if (term !== undefined && term === this.#terms.get(id) && records?.isStopped === false) return;
    records?.stop();
    this.#records.delete(id);
    if (term === undefined) return;
    this.#terms.set(id, term);
    this.#record(app, this.#serverOf(app));
  }

  /** Call before an app is closed: disconnects its peers. */
  appClosing(app: OpenApp): void {
    const { id } = app;
    this.#closedApps.add(app);
    // Devices that are disconnected here are marked when the app is opened again.
    this.#records.delete(id);
    this.#sharedApps.delete(id);
    this.#terms.delete(id);
    this.#closeServer(app);
    this.#options.cluster?.()?.peers.closing(id);
  }

  #closeServer({ id }: OpenApp): void {
    const server = this.#servers.get(id);
    if (server === undefined) return;
    this.#servers.delete(id);
    if (!this.#isClosed && !this.#gate.knows(id)) {
      for (const connection of this.#connections) {
        if (connection.peer?.appId === id) connection.reviewed(undefined);
      }
    }
    server.close();
  }

  /** Call when apps or keys have changed. */
  registryChanged({ appIds, keyIds }: RegistryChange): void {
    this.#gate.registryChanged();
    for (const id of appIds) this.#changedApps.add(id);
    for (const id of keyIds) this.#changedKeys.add(id);
    if (this.#isReviewing || this.#isClosed) return;
    this.#isReviewing = true;
    // Several changes at once need one check.
    setImmediate(() => void this.#review());
  }

  /** Sends `bye` to all peers, and cuts those that do not close in time. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const [appId, server] of this.#servers) this.#attempt(appId, () => server.close());
    this.#servers.clear();
    for (const connection of this.#connections) {
      const afterMs = returnDelayMs(this.#options.platform);
      connection.dismiss(new SyncRefusal("closing", "the server is closing", afterMs));
    }
    const recorded = Array.from(this.#records.values(), (records) => records.close());
    await Promise.all([this.#whenEmpty(), ...recorded]);
  }

  async #whenEmpty(): Promise<void> {
    if (this.#connections.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const connection of this.#connections) connection.cut();
      }, SYNC_CLOSE_MS_MAX);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async admit(hello: Hello, place: SyncPlace): Promise<AuthenticatedPeer> {
    const authenticated = await this.#gate.admit(hello, place);
    const { use, bearer } = authenticated;
    try {
      if (!this.#ofCredentials.hasLeft(ownerOf(bearer.appId, bearer.credential))) {
        const message = "this credential has as many peers as it may have";
        throw new SyncRefusal("busy", message, FULL_RETRY_MS);
      }
      await this.#catchUp(bearer.appId);
      return authenticated;
    } catch (error) {
      use.release();
      throw error;
    }
  }

  /** A peer takes a node that knows fewer of its uploads than it should for a restored one. */
  async #catchUp(appId: string): Promise<void> {
    try {
      await this.#options.cluster?.()?.calls.catchUp(appId);
    } catch (error) {
      const isKnown = error instanceof PeerError || error instanceof Refusal;
      if (!isKnown) throw error;
      throw new SyncRefusal("busy", "this node has not caught up with the cluster", TICK_MS);
    }
  }

  renew(token: string, appId: string, place: SyncPlace): Promise<Bearer | undefined> {
    return this.#gate.renew(token, appId, place);
  }

  greeted(connection: SyncConnection): void {
    this.#silent.delete(connection);
    this.#newcomers.hold(connection, true);
  }

  join(connection: SyncConnection, { app }: AppUse, peer: AdmittedPeer): ServerConnection {
    this.#newcomers.remove(connection);
    const { owner } = connection;
    if (owner !== undefined && this.#ofCredentials.take(owner)) this.#owners.set(connection, owner);
    this.#log(connection, "a peer connected");
    return this.#serverOf(app).connect(connection, peer);
  }

  refused(connection: SyncConnection, { code }: SyncRefusal): void {
    this.#newcomers.hold(connection, false);
    this.#options.onRefused?.(code);
    peerLine(this.#options.log, "a peer was refused", { ...connection.place, code });
  }

  left(connection: SyncConnection): void {
    this.#log(connection, "a peer left");
  }

  ended(connection: SyncConnection): void {
    this.#silent.delete(connection);
    this.#newcomers.remove(connection);
    this.#connections.delete(connection);
    const owner = this.#owners.get(connection);
    this.#owners.delete(connection);
    if (owner !== undefined) this.#ofCredentials.give(owner);
    if (this.#connections.size === 0) this.#onEmpty?.();
  }

  failed(error: unknown): void {
    this.#options.log("error", `failed to admit a peer (it may retry): ${describeError(error)}`);
  }

  #log({ place, peer, startMs }: SyncConnection, message: string): void {
    const elapsedMs = this.#options.platform.elapsed() - startMs;
    peerLine(this.#options.log, message, { ...place, ...peer, elapsedMs });
  }

  #serverOf(app: OpenApp): SyncServer {
    if (this.#isClosed || this.#closedApps.has(app)) {
      throw new SyncRefusal("closing", "the app is closing", TICK_MS);
    }
    const known = this.#servers.get(app.id);
    if (known !== undefined) return known;
    const peers = this.#options.cluster?.()?.peers;
    const made = new SyncServer({
      store: app.store,
      platform: this.#options.platform,
      appId: app.id,
      allowance: this.#allowance,
      admit: (token, _hello, channel) =>
        channel instanceof SyncConnection ? channel.renew(token) : undefined,
      upload: (asked) => this.#upload(app, asked),
      indexUses: app.indexUses,
      ...(peers && { nextSession: () => peers.nextSession() }),
      onFault: (error) => this.#fault(app.id, error),
    });
    this.#servers.set(app.id, made);
    this.#records.get(app.id)?.follow(made);
    return made;
  }

  #upload({ store, id }: OpenApp, asked: SessionUpload): Promise<UploadAnswer> {
    const { upload, check, credential: owner, by, channel } = asked;
    const cluster = this.#options.cluster?.();
    if (cluster === undefined || !(channel instanceof SyncConnection)) {
      return takeUpload(store, upload, check, { owner, by });
    }
    return cluster.calls.upload(store, id, asked, channel.token);
  }

  #tick(): void {
    const now = this.#options.platform.elapsed();
    const late = new SyncRefusal("malformed", `expected hello within ${SYNC_HELLO_MS_MAX} ms`);
    for (const connection of this.#silent) {
      if (now - connection.startMs < SYNC_HELLO_MS_MAX) break;
      this.#silent.delete(connection);
      connection.dismiss(late);
    }
    for (const [appId, server] of this.#servers) this.#attempt(appId, () => server.tick());
    this.#tickShared();
    for (const [appId, records] of this.#records) this.#attempt(appId, () => records.tick());
  }

  #tickShared(): void {
    const peers = this.#options.cluster?.()?.peers;
    if (peers === undefined) return;
    peers.tick();
    for (const [appId, app] of this.#sharedApps) {
      this.#attempt(appId, () => this.#shareRecords(app, peers));
    }
  }

  /** A failure in one app does not affect the others. */
  #attempt(appId: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fault(appId, error);
    }
  }

  #fault(appId: string, error: unknown): void {
    // A refusal of a peer is not a fault of the server.
    if (error instanceof SyncRefusal) return;
    this.#options.log("error", `failed to sync the app ${appId}: ${describeError(error)}`);
  }

  /** Never rejects. */
  async #review(): Promise<void> {
    try {
      while (this.#changedApps.size + this.#changedKeys.size > 0 && !this.#isClosed) {
        await this.#reviewChanged();
      }
    } catch (error) {
      const what = "failed to check the credentials of connected peers after a change";
      this.#options.log("error", `${what}: ${describeError(error)}`);
    } finally {
      this.#isReviewing = false;
    }
  }

  async #reviewChanged(): Promise<void> {
    const concerned = this.#takeConcerned();
    let count = 0;
    for (const [key, connections] of concerned) {
      const [first] = connections;
      if (first?.peer === undefined) continue;
      const { token } = first;
      const verdict = await this.#verdict(token, first.peer.appId);
      if (verdict === "unsure") continue;
      for (const connection of connections) {
        // The peer may have sent another token meanwhile.
        if (keyOf(connection) === key) connection.reviewed(verdict);
      }
      if (++count % REVIEWED_AT_ONCE === 0) await this.#options.platform.pause();
    }
  }

  /** Peers whose credential may have changed, by app and token. */
  #takeConcerned(): Map<string, SyncConnection[]> {
    const concerned = new Map<string, SyncConnection[]>();
    for (const connection of this.#connections) {
      const { peer } = connection;
      if (peer === undefined || !connection.isJoined) continue;
      const isConcerned =
        this.#changedApps.has(peer.appId) || this.#changedKeys.has(peer.credentialId);
      if (!isConcerned) continue;
      const key = keyOf(connection);
      const known = concerned.get(key);
      if (known === undefined) concerned.set(key, [connection]);
      else known.push(connection);
    }
    this.#changedApps.clear();
    this.#changedKeys.clear();
    return concerned;
  }

  /** `unsure` if the provider cannot be asked now: it has revoked nothing. */
  async #verdict(token: string, appId: string): Promise<Bearer | undefined | "unsure"> {
    try {
      return await this.#gate.find(token, appId);
    } catch (error) {
      if (error instanceof Refusal) return error.status === 401 ? undefined : "unsure";
      if (error instanceof SyncRefusal) return "unsure";
      throw error;
    }
  }
}

/** Listed sessions of this node. */
function ownSessions(server: SyncServer): PresentSession[] {
  const sessions = Array.from(server.presence.sessions());
  return sessions.filter(({ session }) => server.hasSession(session));
}

function hasPeer(server: SyncServer, key: string): boolean {
  return ownSessions(server).some(({ description }) => description.key === key);
}

/** Unique, because no token has a space in it. */
function keyOf({ peer, token }: SyncConnection): string {
  return `${peer?.appId} ${token}`;
}
