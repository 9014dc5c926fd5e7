/**
 * NatsConnection: a connection to NATS servers, of a node to those of its cluster or of a sink to
 * those of the operator. The only file that imports the NATS libraries.
 *
 * Once connected it reconnects for ever, to any of the servers. Nothing is sent while it is
 * disconnected: requests fail at once and publications are dropped, so that nothing old is sent
 * after a long pause.
 */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { PeerError } from "@bigpeer/protocol";
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from "@nats-io/jetstream";
import {
  type NatsConnection as Client,
  connect,
  credsAuthenticator,
  errors,
  type Msg,
  type NodeConnectionOptions,
  type ServerInfo,
} from "@nats-io/transport-node";

export {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";
export type { Msg } from "@nats-io/transport-node";

/** How to log in; at most one way of user with password, token and credentials file. */
export interface NatsCredentials {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** Path of a `.creds` file. */
  readonly credentialsFile?: string | undefined;
}

/** Paths of PEM files. */
export interface NatsTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface NatsOptions extends NatsCredentials {
  /**
   * Addresses of all servers, such as `nats://nats-1:4222`. Others are not discovered. A user and a
   * password in an address, as in `nats://user:password@nats-1:4222`, are used for all of them.
   */
  readonly servers: readonly string[];
  /** Shown in the list of connections of nats-server. */
  readonly name: string;
  /** If given, the connection must be encrypted. */
  readonly tls?: NatsTls | undefined;
  /** How long to try at the start; 10 seconds by default. */
  readonly connectMsMax?: number | undefined;
  /** Ends the attempts at the start, after the one under way. */
  readonly signal?: AbortSignal | undefined;
}

const CONNECT_MS_MAX = 10_000;
const CONNECT_PAUSE_MS = 250;

/** For one address: a server that accepts but does not answer must not use up the whole time. */
const DIAL_MS_MAX = 3_000;

/** A server that stopped or was cut off is left after three pings: 6 to 8 seconds. */
const PING_MS = 2_000;
const PINGS_UNANSWERED_MAX = 3;

const RECONNECT_PAUSE_MS = 250;

/** How many subjects that are not permitted are named. */
const REFUSED_MAX = 20;

/** For requests to JetStream other than appends. */
const API_MS_MAX = 5_000;

/** Throws PeerError `config.invalid` when no server can be reached or the login is refused. */
export async function connectNats(options: NatsOptions): Promise<NatsConnection> {
  const settings = await settingsOf(options);
  const end = Date.now() + (options.connectMsMax ?? CONNECT_MS_MAX);
  for (;;) {
    try {
      const client = await connect(settings);
      // Addresses that failed meanwhile were removed: they are used again later.
      client.setServers(options.servers.map(withoutPassword));
      return new NatsConnection(client, await jetstreamManager(client, JETSTREAM_OPTIONS));
    } catch (error) {
      const isOver = Date.now() > end || options.signal?.aborted === true;
      if (isFinal(error) || isOver) throw failedToConnect(options, error);
    }
    await sleep(CONNECT_PAUSE_MS);
  }
}

const JETSTREAM_OPTIONS = { checkAPI: false, timeout: API_MS_MAX };

async function settingsOf(options: NatsOptions): Promise<NodeConnectionOptions> {
  const { servers, name, token, tls } = options;
  const { user, password } = options.user === undefined ? userIn(servers) : options;
  const authenticator = await authenticatorOf(options);
  return {
    // The library would take a part of a password for the port.
    servers: servers.map(withoutPassword),
    name,
    timeout: DIAL_MS_MAX,
    pingInterval: PING_MS,
    maxPingOut: PINGS_UNANSWERED_MAX,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_PAUSE_MS,
    // Addresses that servers report may not be reachable from here. They would also be tried without
    // end at the start, when each of them refuses the login.
    ignoreClusterUpdates: true,
    // A password that is being changed on the servers must not end the connection for good.
    ignoreAuthErrorAbort: true,
    // Stack traces of requests cost more than the requests.
    noAsyncTraces: true,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    ...(authenticator === undefined ? {} : { authenticator }),
    ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
  };
}

async function authenticatorOf({
  credentialsFile,
}: NatsCredentials): Promise<ReturnType<typeof credsAuthenticator> | undefined> {
  if (credentialsFile === undefined) return undefined;
  try {
    return credsAuthenticator(await readFile(credentialsFile));
  } catch (error) {
    const message = `failed to read the NATS credentials: ${messageOf(error)}`;
    throw new PeerError("config.invalid", message, { cause: error });
  }
}

function tlsOf({ ca, cert, key }: NatsTls): NonNullable<NodeConnectionOptions["tls"]> {
  return {
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(cert === undefined ? {} : { certFile: cert }),
    ...(key === undefined ? {} : { keyFile: key }),
  };
}

/** What another attempt would not change. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError ||
    error instanceof errors.InvalidArgumentError
  );
}

function failedToConnect({ servers, connectMsMax }: NatsOptions, error: unknown): PeerError {
  const addresses = servers.map(withoutPassword).join(", ");
  if (error instanceof errors.AuthorizationError) {
    const message = `NATS at ${addresses} refused the login: ${error.message}`;
    const hint = "check user and password, token or credentials file, and the users of nats-server";
    return new PeerError("config.invalid", message, { hint, cause: error });
  }
  const seconds = (connectMsMax ?? CONNECT_MS_MAX) / 1000;
  const message = `failed to connect to NATS at ${addresses} within ${seconds} seconds: ${messageOf(error)}`;
  const hint =
    "check that nats-server runs there, that the port is open, and that TLS is on or off at both sides";
  return new PeerError("config.invalid", message, { hint, cause: error });
}

/** The user and the password of the first address that has them. */
function userIn(servers: readonly string[]): NatsCredentials {
  const address = servers.find((each) => withoutPassword(each) !== each);
  if (address === undefined) return {};
  try {
    const { username, password } = new URL(address);
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch (cause) {
    const message = `expected nats://user:password@host:4222 with special characters as %xx, found another form for ${withoutPassword(address)}`;
    throw new PeerError("config.invalid", message, { cause });
  }
}

/** An address may hold credentials: `nats://user:password@host`. */
function withoutPassword(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?[^/@]*@/, "$1");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Name of an error that the library does not export. */
const NO_JETSTREAM = "JetStreamNotEnabled";

/** Calls it once to stop. */
export type Stop = () => void;

export class NatsConnection {
  readonly #client: Client;
  readonly #disconnectListeners = new Set<() => void>();
  #isConnected = true;
  /** What the server has refused, such as `publish to "a.b"`. */
  readonly #refused = new Set<string>();
  readonly #publisher: JetStreamClient;
  readonly #manager: JetStreamManager;
  /** Resolves when the connection was closed and will not come back. */
  readonly closed: Promise<void>;

  constructor(client: Client, manager: JetStreamManager) {
    this.#client = client;
    this.#manager = manager;
    this.#publisher = jetstream(client, JETSTREAM_OPTIONS);
    this.closed = client.closed().then(() => this.#disconnected());
    void this.#watch();
  }

  /** Keeps `isConnected` up to date, and notes what is not permitted. */
  async #watch(): Promise<void> {
    for await (const status of this.#client.status()) {
      if (status.type === "disconnect") this.#disconnected();
      if (status.type === "reconnect") this.#isConnected = true;
      if (status.type === "error") this.#noteRefused(status.error);
    }
  }

  #noteRefused(error: Error): void {
    if (!(error instanceof errors.PermissionViolationError)) return;
    // Inboxes have a new name each time.
    if (this.#refused.size >= REFUSED_MAX) return;
    const { operation, subject } = error;
    this.#refused.add(`${operation === "publish" ? "publish" : "subscribe"} to "${subject}"`);
  }

  /** Throws PeerError `config.invalid` if the server has refused to let this user use a subject. */
  requirePermitted(): void {
    if (this.#refused.size === 0) return;
    const message = `the NATS user of this node may not ${[...this.#refused].join(", nor ")}`;
    const hint = "permit the subjects of examples/cluster/nats-users.conf";
    throw new PeerError("config.invalid", message, { hint });
  }

  #disconnected(): void {
    this.#isConnected = false;
    for (const listener of this.#disconnectListeners) listener();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Publishes to streams and reads from them. Throws PeerError `store.busy` while disconnected. */
  get publisher(): JetStreamClient {
    this.#requireConnected();
    return this.#publisher;
  }

  /** Streams and consumers. Throws PeerError `store.busy` while disconnected. */
  get manager(): JetStreamManager {
    this.#requireConnected();
    return this.#manager;
  }

  /** A request would only wait for its time-out. */
  #requireConnected(): void {
    if (this.#isConnected) return;
    throw new PeerError("store.busy", "this node is not connected to NATS now; retry");
  }

  /** About the server of this connection; undefined while there is none. */
  get server(): ServerInfo | undefined {
    return this.#client.info;
  }

  /** Calls back each time the connection is lost, and when it is closed. */
  onDisconnect(listener: () => void): Stop {
    this.#disconnectListeners.add(listener);
    return () => this.#disconnectListeners.delete(listener);
  }

  /** Sends it to the subscribers that are there now. Dropped while disconnected. */
  publish(subject: string, bytes: Uint8Array): void {
    if (this.#isConnected) this.#client.publish(subject, bytes);
  }

  /** Publishes to JetStream. Resolves when a stream has it; rejects if none takes it. */
  async publishEvent(subject: string, bytes: Uint8Array, options: PublishOptions): Promise<void> {
    const { id, timeoutMs } = options;
    try {
      await this.publisher.publish(subject, bytes, { msgID: id, timeout: timeoutMs });
    } catch (error) {
      // The library takes silence for a server without JetStream.
      if (!(error instanceof Error && error.name === NO_JETSTREAM)) throw error;
      const message = `no stream of JetStream takes the subject ${subject}`;
      throw new PeerError("store.busy", message, { cause: error });
    }
  }

  subscribe(subject: string, listener: (message: Msg) => void): Stop {
    const subscription = this.#client.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message);
      },
    });
    return () => subscription.unsubscribe();
  }

  /** The answers of all that answer; ends when none came for a while. */
  async requestAll(subject: string, timing: RequestAllTiming): Promise<AsyncIterable<Msg>> {
    const { quietMs, totalMs } = timing;
    const options = { strategy: "stall", stall: quietMs, maxWait: totalMs } as const;
    return this.#client.requestMany(subject, new Uint8Array(), options);
  }

  /** Resolves when the server has received everything that was sent before. */
  async flush(): Promise<void> {
    await this.#client.flush();
  }

  async close(): Promise<void> {
    this.#isConnected = false;
    await this.#client.close();
    await this.closed;
  }
}

export interface PublishOptions {
  /** A stream drops a message with an id that it has, within its duplicate window. */
  readonly id: string;
  readonly timeoutMs: number;
}

export interface RequestAllTiming {
  readonly quietMs: number;
  readonly totalMs: number;
}
