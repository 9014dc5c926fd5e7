/**
 * Ditto: an instance, which is a peer with the interface of the reference SDK.
 *
 * It may be used before its peer is open, as `openSync` and version 4 need it. Statements wait then;
 * other calls are made when the peer is open.
 */

import { host } from "../this-host.ts";
import { VERSION } from "../version.ts";
import { Authenticator } from "./authenticator.ts";
import { DiskUsage } from "./disk-usage.ts";
import { checkConfig, DittoConfig } from "./ditto-config.ts";
import { DittoError, dittoError } from "./ditto-error.ts";
import type { HostPeer } from "./host.ts";
import type { DittoServer, Instance } from "./instance.ts";
import { Logger } from "./logger.ts";
import { Observer } from "./observer.ts";
import { OpeningPeer } from "./opening-peer.ts";
import { Presence } from "./presence.ts";
import { SmallPeerInfo } from "./small-peer-info.ts";
import { Store } from "./store.ts";
import { Sync } from "./sync.ts";
import {
  type ConditionSource,
  type TransportCondition,
  TransportConfig,
  warnOfAbsent,
} from "./transport-config.ts";

/** A server that is never connected to, for an instance without one. */
const NO_SERVER = "http://localhost";

export class Ditto implements Instance {
  readonly store: Store<Ditto>;
  readonly sync: Sync<Ditto>;
  readonly presence: Presence<Ditto>;
  readonly auth: Authenticator<Ditto>;
  readonly smallPeerInfo: SmallPeerInfo;
  readonly diskUsage: DiskUsage;
  /** The peer of this instance. For the parts of it: apps have no use for it. */
  readonly opening: OpeningPeer;
  readonly #config: DittoConfig;
  readonly #directory: string;
  #deviceName: string = host.deviceName;
  #transportConfig: TransportConfig;
  #closing: Promise<void> | undefined;

  /** Apps call `Ditto.open`. */
  constructor(config: DittoConfig, before: Promise<void> = Promise.resolve()) {
    checkConfig(config);
    this.#config = config.copy().freeze();
    const { databaseID, persistenceDirectory } = config;
    const given = persistenceDirectory ?? `ditto-${databaseID.toLowerCase()}`;
    this.#directory = host.directoryOf(given);
    this.#transportConfig = initialTransports(config);
    this.auth = new Authenticator<Ditto>(this);
    this.opening = new OpeningPeer(() => this.#open(), before);
    this.store = new Store<Ditto>(this);
    this.sync = new Sync<Ditto>(this);
    this.presence = new Presence<Ditto>(this);
    this.smallPeerInfo = new SmallPeerInfo(this);
    this.diskUsage = new DiskUsage(this);
  }

  /** Opens the documents in the persistence directory of the config. */
  static async open(config: DittoConfig = DittoConfig.default): Promise<Ditto> {
    const ditto = new Ditto(config);
    await ditto.opening.opened;
    return ditto;
  }

  /** The same, but it opens in the background: calls reject if that fails. */
  static openSync(config: DittoConfig = DittoConfig.default): Ditto {
    return new Ditto(config);
  }

  /** Version of this SDK. */
  static get VERSION(): string {
    return VERSION;
  }

  /** Folder of relative persistence directories; empty in a browser. */
  static get DEFAULT_ROOT_DIRECTORY(): string {
    return host.rootDirectory;
  }

  static isEnvironmentSupported(): boolean {
    return true;
  }

  static disableDeadlockDetection(): void {}

  static hasDeadlockDetection(): boolean {
    return false;
  }

  /** Name of the device, as other peers see it. Set it before sync starts. */
  get deviceName(): string {
    return this.#deviceName;
  }

  set deviceName(value: string) {
    this.checkOpen();
    if (value === this.#deviceName) return;
    this.#deviceName = value;
    if (this.sync.isActive)
      Logger.warning("the device name changes when the instance is next opened");
    // A peer has its name from the moment that it is opened.
    else this.opening.reopen();
  }

  /** The config that it was opened with, read-only. */
  get config(): Readonly<DittoConfig> {
    this.checkOpen();
    return this.#config;
  }

  /** The persistence directory; in a browser the name of the store. */
  get absolutePersistenceDirectory(): string {
    return this.#directory;
  }

  /** Always true: there is no licence. */
  get isActivated(): boolean {
    return true;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Does nothing: there is no licence. */
  setOfflineOnlyLicenseToken(_licenseToken: string): void {
    this.checkOpen();
  }

  /** Of version 4. Does nothing. */
  async disableSyncWithV3(): Promise<void> {}

  /** A copy, read-only. */
  get transportConfig(): TransportConfig {
    return this.#transportConfig.copy().freeze();
  }

  /** Keeps the config. Warns once of what it has no effect for. */
  setTransportConfig(transportConfig: TransportConfig): void {
    this.checkOpen();
    const { connect } = this.#config;
    this.#transportConfig = transportConfig.copy();
    warnOfAbsent(this.#transportConfig, connect.mode === "server" ? connect.url : undefined);
  }

  updateTransportConfig(update: (transportConfig: TransportConfig) => void): Ditto {
    const config = this.#transportConfig.copy();
    update(config);
    this.setTransportConfig(config);
    return this;
  }

  /** Calls a function when the connection to the server comes and goes. */
  observeTransportConditions(
    callback: (condition: TransportCondition, source: ConditionSource) => void,
  ): Observer {
    this.checkOpen();
    let end: (() => void) | undefined;
    const observer = new Observer(() => {
      forget();
      end?.();
    });
    const forget = this.opening.whenOpen((peer) => {
      end = peer.on("status", ({ state }) => {
        if (state === "connected") callback("OK", "TCP");
        else if (state === "offline") callback("CannotEstablishConnection", "TCP");
      });
    });
    return observer;
  }

  /** Ends observers, subscriptions and the connection, and releases the directory. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Throws if it is closed. For the parts of it. */
  checkOpen(): void {
    if (this.isClosed) throw new DittoError("internal", "the Ditto instance is closed");
  }

  /** Where the logins go. For the parts of it. */
  get server(): DittoServer {
    const { connect, databaseID } = this.#config;
    const url = connect.mode === "server" ? connect.url : NO_SERVER;
    return { url: httpUrl(url), appId: databaseID.toLowerCase() };
  }

  async #open(): Promise<HostPeer> {
    try {
      const peer = await host.open({
        ...this.server,
        directory: this.#directory,
        deviceName: this.#deviceName,
        login: () => this.auth.session(),
      });
      logEvents(peer);
      await this.#setSystemParameters(peer);
      return peer;
    } catch (error) {
      throw dittoError(error, { "config.invalid": "validation/invalid-ditto-config" });
    }
  }

  async #setSystemParameters(peer: HostPeer): Promise<void> {
    for (const [name, value] of Object.entries(this.#config.systemParameters ?? {})) {
      await peer.store.execute(`ALTER SYSTEM SET ${name} = ${JSON.stringify(value)}`);
    }
  }

  async #close(): Promise<void> {
    for (const part of [this.store, this.sync, this.presence, this.diskUsage]) part.close();
    const peer = await this.opening.opened.catch(() => undefined);
    await peer?.close();
    this.auth.close();
  }
}

/** The events of the peer, for the log. */
function logEvents(peer: HostPeer): void {
  peer.on("error", (error) => Logger.error(error.message));
  peer.on("warning", (message) => Logger.warning(message));
  peer.on("refused", ({ reason }) => Logger.error(`the server refused a write: ${reason}`));
  peer.on("status", ({ state, pendingCount, reason }) => {
    const why = reason === undefined ? "" : `: ${reason}`;
    Logger.debug(`sync is ${state}, ${pendingCount} writes wait${why}`);
  });
}

/** The WebSocket of the server, as the reference SDK shows it. */
function initialTransports({ connect }: DittoConfig): TransportConfig {
  const config = new TransportConfig();
  if (connect.mode === "server") {
    config.connect.websocketURLs.push(connect.url.replace(/^http/i, "ws"));
  }
  return config;
}

/** With http or https, without a trailing slash. */
function httpUrl(url: string): string {
  return url.replace(/^ws/i, "http").replace(/\/+$/, "");
}
