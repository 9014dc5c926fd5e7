/**
 * Ditto of version 4: an instance that is made with an identity, and opens in the background.
 *
 * It opens at its first use, because an app of version 4 names its server in the transport config,
 * after the constructor.
 */

import {
  Authenticator,
  type DiskUsage,
  DittoConfig,
  DittoError,
  Ditto as DittoOfVersion5,
  type SmallPeerInfo,
  type Store,
  type Sync,
  TransportConfig,
} from "../compat/index.ts";
import type { AuthenticationHandler, Identity, LoginAuthenticator } from "./identity.ts";
import { Presence } from "./presence-v4.ts";

const DEFAULT_IDENTITY: Identity = { type: "offlinePlayground" };

export class Ditto {
  readonly identity: Identity;
  readonly presence: Presence;
  readonly #directory: string | undefined;
  #instance: DittoOfVersion5 | undefined;
  /** Until it is opened. */
  #transports: TransportConfig | undefined = new TransportConfig();

  /** `path` is the persistence directory. */
  constructor(identity: Identity = DEFAULT_IDENTITY, path?: string) {
    this.identity = identity;
    this.#directory = path;
    this.presence = new Presence(() => this.#opened.presence);
  }

  static get VERSION(): string {
    return DittoOfVersion5.VERSION;
  }

  get appID(): string {
    const { appID = DittoConfig.DEFAULT_DATABASE_ID } = this.identity as {
      readonly appID?: string;
    };
    return appID;
  }

  get store(): Store {
    return this.#opened.store;
  }

  get sync(): Sync {
    return this.#opened.sync;
  }

  get auth(): Authenticator {
    return this.#opened.auth;
  }

  get smallPeerInfo(): SmallPeerInfo {
    return this.#opened.smallPeerInfo;
  }

  get diskUsage(): DiskUsage {
    return this.#opened.diskUsage;
  }

  get deviceName(): string {
    return this.#opened.deviceName;
  }

  set deviceName(value: string) {
    this.#opened.deviceName = value;
  }

  get persistenceDirectory(): string {
    return this.#opened.absolutePersistenceDirectory;
  }

  /** The same, by its name in version 5. */
  get absolutePersistenceDirectory(): string {
    return this.persistenceDirectory;
  }

  get transportConfig(): TransportConfig {
    return this.#transports?.copy().freeze() ?? this.#opened.transportConfig;
  }

  setTransportConfig(transportConfig: TransportConfig): void {
    if (this.#transports === undefined) this.#opened.setTransportConfig(transportConfig);
    else this.#transports = transportConfig.copy();
  }

  updateTransportConfig(update: (transportConfig: TransportConfig) => void): Ditto {
    const config = this.transportConfig.copy();
    update(config);
    this.setTransportConfig(config);
    return this;
  }

  get isActivated(): boolean {
    return true;
  }

  /** Does nothing: there is no licence. */
  setOfflineOnlyLicenseToken(_licenseToken: string): void {}

  /** Does nothing. */
  async disableSyncWithV3(): Promise<void> {}

  /** As `sync.start` of version 5; the identity logs in. */
  startSync(): void {
    this.sync.start();
  }

  /** The same, for apps that handle its errors. */
  tryStartSync(): void {
    this.startSync();
  }

  stopSync(): void {
    this.sync.stop();
  }

  get isSyncActive(): boolean {
    return this.#instance?.sync.isActive ?? false;
  }

  get isClosed(): boolean {
    return this.#instance?.isClosed ?? false;
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  get #opened(): DittoOfVersion5 {
    this.#instance ??= this.#open();
    return this.#instance;
  }

  #open(): DittoOfVersion5 {
    const { identity } = this;
    const url = serverOf(identity, this.#transports?.connect.websocketURLs ?? []);
    const instance = DittoOfVersion5.openSync(
      new DittoConfig({
        databaseID: this.appID,
        connect: url === undefined ? { mode: "smallPeersOnly" } : { mode: "server", url },
        persistenceDirectory: this.#directory,
      }),
    );
    if (this.#transports !== undefined) instance.setTransportConfig(this.#transports);
    this.#transports = undefined;
    // The handler is set at once; the promise tells of nothing else.
    void instance.auth.setExpirationHandler(handlerOf(identity));
    return instance;
  }
}

/** Undefined for an identity without a server. */
function serverOf(identity: Identity, websocketURLs: readonly string[]): string | undefined {
  if (identity.type !== "onlinePlayground" && identity.type !== "onlineWithAuthentication") {
    return undefined;
  }
  const url = identity.customAuthURL ?? websocketURLs[0];
  if (url !== undefined) return url;
  const expected = "expected customAuthURL in the identity, or a URL in connect.websocketURLs";
  throw new DittoError(
    "validation/invalid-ditto-config",
    `${expected}: the address of the Big Peer`,
  );
}

type ExpirationHandler = NonNullable<Authenticator["expirationHandler"]>;

function handlerOf(identity: Identity): ExpirationHandler | null {
  if (identity.type === "onlinePlayground") {
    return ({ auth }) => auth.login(identity.token, Authenticator.DEVELOPMENT_PROVIDER);
  }
  if (identity.type !== "onlineWithAuthentication") return null;
  const { authHandler } = identity;
  return ({ auth }, seconds) => callHandler(authHandler, authenticatorOf(auth), seconds);
}

function callHandler(
  { authenticationRequired, authenticationExpiringSoon }: AuthenticationHandler,
  authenticator: LoginAuthenticator,
  seconds: number,
): void | Promise<void> {
  if (seconds === 0 || authenticationExpiringSoon === undefined) {
    return authenticationRequired(authenticator);
  }
  return authenticationExpiringSoon(authenticator, seconds);
}

function authenticatorOf(auth: Authenticator): LoginAuthenticator {
  return {
    login: (token, provider) => auth.login(token, provider),
    loginWithToken: async (token, provider) => {
      const result = await auth.login(token, provider);
      if (result.error !== null) throw result.error;
      return result;
    },
  };
}
