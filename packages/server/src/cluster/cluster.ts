/**
 * Cluster: this node among the others: its connection to NATS, its stores, who evaluates what, and
 * the requests that go from node to node.
 *
 * It is loaded only if the server runs in a cluster.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Platform } from "@bigpeer/engine";
import {
  DRIFT_MS_MAX,
  ENTRY_FORMAT,
  type RelayedAnswer,
  type ReplicaRole,
  type SharedTransaction,
  UploadRelay,
} from "@bigpeer/engine/cluster";
import type { Store, StoreOptions, UploadAnswer } from "@bigpeer/engine/store";
import type { SessionUpload } from "@bigpeer/engine/sync";
import { assert, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { Authentication } from "../auth/authentication.ts";
import type { ClusterConfig } from "../config/config.ts";
import { VERSION } from "../config/version.ts";
import type { Answer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { HttpServer, NamedAnswer } from "../http/http-server.ts";
import type { ClusterStats } from "../observability/cluster-metrics.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { AuditAction, Author } from "../registry/audit-log.ts";
import type { Registry } from "../registry/registry.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import type { Bus } from "./bus.ts";
import { clusterStatus, ownStatus, type StatusHost } from "./cluster-status.ts";
import { ClusterStores } from "./cluster-stores.ts";
import { Elections } from "./elections.ts";
import { Evaluators } from "./evaluators.ts";
import { LogReach } from "./log-reach.ts";
import { Membership, type NodeInfo } from "./membership.ts";
import { type ConnectedLogs, connectLogs } from "./nats/connect-logs.ts";
import { NatsBus } from "./nats/nats-bus.ts";
import { NodeClient, type NodeTls } from "./node-client.ts";
import { listenForNodes, type Procedure } from "./node-listener.ts";
import { nodeNameOf } from "./node-name.ts";
import { nodeProcedures, notHere, type ProceduresHost } from "./node-procedures.ts";
import { PassOn } from "./pass-on.ts";
import { peerProcedures, SharedPeers } from "./peers/shared-peers.ts";
import { Upkeep, upkeepEndpoints, upkeepProcedures } from "./upkeep.ts";
import { isReached, sleep, within } from "./waiting.ts";

/** Parts of the server that exist once its registry is open. */
interface Opened {
  readonly registry: Registry;
  readonly apps: OpenApps;
}

export interface ClusterHost {
  readonly config: ClusterConfig;
  readonly dataDir: string;
  readonly platform: Platform;
  readonly options: StoreOptions;
  readonly isClockAccepted: boolean;
  readonly log: Log;
  readonly auth: Pick<Authentication, "credentials">;
  /** Undefined until the server is open. */
  readonly source: () => Opened | undefined;
  /** The listener of clients with this name, for requests that other nodes pass on. */
  readonly answerOf: (
    listener: string,
  ) => ((request: HttpRequest) => Promise<NamedAnswer>) | undefined;
  /** Called when this node has begun or ceased to evaluate a store. */
  readonly onRole: (store: string) => void;
  /** Called when nothing must be served any more, until the log can be reached again. */
  readonly onCutOff: () => void;
  /** Called when the registry has failed, or another process has the name of this node. */
  readonly onFatal: (error: unknown) => void;
}

/** An upload, and the token of its session. */
interface PeerUpload extends SessionUpload {
  readonly token: string;
}

/** How long a node may take to catch up, and to start. */
const CATCH_UP_MS_MAX = 5_000;
const START_MS_MAX = 60_000;

const POLL_MS = 20;

/** How long an answer that was passed on waits until this node has what it tells of. */
const ANSWER_MS_MAX = 1_000;

/** How long a node that closes waits until others have what it evaluated. */
const HAND_OVER_MS_MAX = 3_000;

export class Cluster {
  readonly #host: ClusterHost;
  readonly #parts: ConnectedLogs;
  readonly #node: string;
  readonly #instance: string = randomBytes(8).toString("hex");
  readonly #client: NodeClient;
  readonly #membership: Membership;
  readonly #elections: Elections;
  readonly #passOn: PassOn;
  readonly stores: ClusterStores;
  readonly peers: SharedPeers;
  readonly upkeep: Upkeep;
  readonly #reach: LogReach;
  readonly #evaluators: Evaluators;
  readonly #relays = new WeakMap<Store, UploadRelay<PeerUpload>>();
  #http: HttpServer | undefined;
  #isClosing = false;
  #isAbandoned = false;
  #isClockWarned = false;

  private constructor(host: ClusterHost, parts: ConnectedLogs, http: (cluster: Cluster) => void) {
    const { platform, config, dataDir, log } = host;
    this.#host = host;
    this.#parts = parts;
    this.#node = nodeNameOf(dataDir, config.name);
    this.#client = new NodeClient(config.secret, readNodeTls(config));
    http(this);
    const bus = new NatsBus(parts.nats, config.name);
    const elapsed = (): number => platform.elapsed();
    this.#membership = new Membership({
      bus,
      self: () => this.#info(),
      elapsed,
      now: () => platform.now(),
      onTwin: (info) => host.onFatal(twin(info)),
    });
    this.#elections = new Elections({
      node: this.#node,
      membership: this.#membership,
      elapsed,
      mayEvaluate: () => !this.#isClosing && this.#isClockRight(),
      log,
    });
    this.#evaluators = new Evaluators({
      stores: () => this.stores,
      membership: this.#membership,
      client: this.#client,
      ownUrl: () => this.#url,
      elapsed,
    });
    this.upkeep = new Upkeep({
      node: this.#node,
      config,
      dataDir,
      platform,
      client: this.#client,
      membership: this.#membership,
      logs: parts.logs,
      stores: () => this.stores,
      source: () => this.#source(),
      atEvaluator: (store, name, value) => this.#evaluators.call(store, name, value),
      log,
    });
    this.stores = new ClusterStores({
      node: this.#node,
      logOf: (store) => parts.logs.log(store),
      elections: this.#elections,
      platform,
      options: host.options,
      log,
      copy: (store, folder) => this.upkeep.copy(store, folder),
      onFailed: (store, error) => this.#failed(store, error),
      onRole: (store, role) => this.#roleChanged(store, role),
      onApplied: (store, transactions) => this.#applied(store, transactions),
      onOpening: (store) => this.#opening(store),
      isAbandoned: () => this.#isAbandoned,
    });
    this.#reach = new LogReach({
      log: parts.logs.log(REGISTRY_STORE),
      elapsed,
      cutOffMs: config.cutOffMs,
      onChange: (isCutOff) => this.#cutOffChanged(isCutOff),
    });
    this.peers = this.#sharePeers(bus);
    this.#passOn = this.#newPassOn();
  }

  /** Resolves when the node is connected and other nodes reach it. */
  static async join(host: ClusterHost): Promise<Cluster> {
    const parts = await connectLogs(host.config, host.log);
    const { nats } = parts;
    try {
      return await Cluster.#listen(host, parts);
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  static async #listen(host: ClusterHost, parts: ConnectedLogs): Promise<Cluster> {
    const { config, log } = host;
    let cluster: Cluster | undefined;
    const upkeep = (): Upkeep => opened(cluster).upkeep;
    const procedures = (): { [name: string]: Procedure } => ({
      ...nodeProcedures(() => opened(cluster).#proceduresHost()),
      ...peerProcedures(() => opened(cluster).peers),
      status: async () => ownStatus(opened(cluster).#statusHost()),
    });
    const http = await listenForNodes({
      host: config.host,
      port: config.port,
      secret: config.secret,
      tls: config.tlsFiles,
      procedures: { ...procedures(), ...upkeepProcedures(upkeep) },
      endpoints: upkeepEndpoints(upkeep),
      answerOf: host.answerOf,
      sequenceOf: (store) => cluster?.stores.find(store)?.position.sequence,
      log,
    });
    cluster = new Cluster(host, parts, (made) => {
      made.#http = http;
    });
    return cluster;
  }

  /** The name of this node. */
  get node(): string {
    return this.#node;
  }

  /**
   * Whether the log could not be reached for so long that nothing is served: a credential may have
   * been revoked meanwhile.
   */
  get isCutOff(): boolean {
    return this.#reach.isCutOff;
  }

  /** How old the state of this node may be, in seconds; undefined while it is in touch. */
  get ageSeconds(): number | undefined {
    return this.#reach.shownAge;
  }

  /** Resolves when the registry is complete here: prepared by this node, or by another. */
  async whenReady(registry: Registry): Promise<void> {
    const endMs = this.#elapsed() + START_MS_MAX;
    const { store } = registry.storeFolder;
    while (this.#elapsed() < endMs) {
      if (!store.isFollowing) {
        await registry.prepare(this.#host.platform);
        return;
      }
      const evaluator = this.stores.find(REGISTRY_STORE)?.evaluator ?? "";
      if (registry.isPrepared && this.#membership.find(evaluator) !== undefined) {
        return this.catchUp(REGISTRY_STORE);
      }
      await sleep(POLL_MS);
    }
    throw new PeerError("store.busy", "no node of the cluster has opened the registry in time");
  }

  /** Statistics of this node, for the metrics. */
  stats(): ClusterStats {
    const stores = Array.from(this.stores.all(), ([store, { replica }]) => {
      const { role, position } = replica;
      return { store, isEvaluating: role === "evaluating", sequence: position.sequence };
    });
    const ageSeconds = this.#reach.ageMs / 1000;
    return { nodes: this.#membership.others.length + 1, ageSeconds, stores };
  }

  /** What the nodes are and do. */
  status(): Promise<ValueObject> {
    return clusterStatus(this.#statusHost());
  }

  passOnData(request: HttpRequest, appId: string, body: Uint8Array): Promise<Answer> {
    return this.#passOn.send(request, {
      store: appId,
      listener: "data",
      body,
      isRepeatable: true,
    });
  }

  passOnManagement(request: HttpRequest, body: Uint8Array): Promise<Answer> {
    return this.#passOn.send(request, {
      store: REGISTRY_STORE,
      listener: "management",
      body,
      isRepeatable: false,
    });
  }

  /**
   * Resolves when the store here has everything that was acknowledged before the call. Rejects with
   * `store.busy` if that takes too long.
   */
  async catchUp(store: string): Promise<void> {
    const replica = this.stores.find(store);
    assert(replica !== undefined, "an open store");
    const { sequence } = await this.#evaluators.call(store, "confirm", { store });
    if (await isReached(replica.whenReached(Number(sequence)), CATCH_UP_MS_MAX)) return;
    throw new PeerError("store.busy", "this node has not caught up with the cluster yet");
  }

  /** A node that lags does not delay an answer for long. */
  async #caughtUp(store: string, sequence: number): Promise<void> {
    const wait = this.stores.find(store)?.whenReached(sequence);
    if (wait !== undefined) await isReached(wait, ANSWER_MS_MAX);
  }

  /** As Store.upload, where the app is evaluated; when it resolves, the store here has it. */
  upload(store: Store, appId: string, asked: SessionUpload, token: string): Promise<UploadAnswer> {
    return this.#relayOf(store, appId).upload({ ...asked, token });
  }

  #relayOf(store: Store, appId: string): UploadRelay<PeerUpload> {
    const known = this.#relays.get(store);
    if (known !== undefined) return known;
    const relay = new UploadRelay<PeerUpload>({
      store,
      relay: async (asked) => {
        const uploads = asked.map(({ upload }) => upload) as unknown as Value;
        const value = { store: appId, token: asked.at(-1)?.token ?? "", uploads };
        const isOpen = (): boolean => asked.some((each) => each.isOpen());
        const { answers } = await this.#evaluators.call(appId, "uploads", value, isOpen);
        return answers as unknown as readonly RelayedAnswer[];
      },
    });
    this.#relays.set(store, relay);
    return relay;
  }

  /** Writes when API keys were last used, where the registry is evaluated. */
  async noteUses(uses: readonly (readonly [string, number])[]): Promise<void> {
    await this.#evaluators.call(REGISTRY_STORE, "uses", { uses });
  }

  async recordRun(author: Author, action: AuditAction): Promise<void> {
    const value = { author: { ...author }, action: { ...action } } as unknown as ValueObject;
    await this.#evaluators.call(REGISTRY_STORE, "run", value);
  }

  /** Evaluates nothing any more: others take over at once. Call it before requests are ended. */
  async handOver(): Promise<void> {
    this.#isClosing = true;
    // It ends with the apps, which are closed next.
    void this.upkeep.stop();
    const evaluated = [...this.stores.all()].filter(([, { replica }]) => {
      return replica.role === "evaluating";
    });
    const stepping = Promise.all(evaluated.map(([, { replica }]) => replica.stepDown()));
    // Without the log, what is under way never ends.
    if ((await within(stepping, HAND_OVER_MS_MAX)) === undefined) this.#isAbandoned = true;
    this.#membership.announce();
    if (this.#membership.others.length === 0) return;
    const endMs = this.#elapsed() + HAND_OVER_MS_MAX;
    const isTaken = ([, { replica }]: (typeof evaluated)[number]): boolean =>
      this.#membership.find(replica.evaluator) !== undefined;
    while (!evaluated.every(isTaken) && this.#elapsed() < endMs) await sleep(POLL_MS);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#reach.close();
    this.#elections.close();
    this.peers.close();
    this.#membership.close();
    await this.#http?.close();
    this.#client.close();
    await this.#parts.nats.flush().catch(() => {});
    await this.#parts.nats.close();
  }

  #info(): NodeInfo {
    return {
      node: this.#node,
      instance: this.#instance,
      url: this.#url,
      version: VERSION,
      entryFormat: ENTRY_FORMAT,
      nowMs: this.#host.platform.now(),
      isClosing: this.#isClosing,
    };
  }

  get #url(): string {
    const { config } = this.#host;
    return config.advertise ?? this.#http?.url ?? "";
  }

  #proceduresHost(): ProceduresHost {
    const { auth, platform } = this.#host;
    return { auth, platform, stores: this.stores, source: () => this.#source() };
  }

  #statusHost(): StatusHost {
    return {
      cluster: this.#host.config.name,
      node: this.#node,
      version: VERSION,
      url: () => this.#url,
      stores: this.stores,
      membership: this.#membership,
      ageSeconds: () => this.ageSeconds,
      ask: (url, signal) => this.#client.call(url, "status", {}, signal),
    };
  }

  #elapsed(): number {
    return this.#host.platform.elapsed();
  }

  /** A node with a wrong clock would stamp what it evaluates with a wrong time. */
  #isClockRight(): boolean {
    const { isClockAccepted, options, log } = this.#host;
    const boundMs = options.clock?.driftMsMax ?? DRIFT_MS_MAX;
    const offsetMs = this.#membership.clockOffsetMs;
    if (isClockAccepted || Math.abs(offsetMs) <= boundMs) return true;
    if (!this.#isClockWarned) {
      const found = `the clock of this machine differs by ${Math.round(offsetMs)} ms from the others`;
      log("error", `${found}: this node evaluates nothing until it is set, or --accept-clock`);
    }
    this.#isClockWarned = true;
    return false;
  }

  #cutOffChanged(isCutOff: boolean): void {
    const { log, onCutOff } = this.#host;
    if (isCutOff) log("error", "the log of the cluster cannot be reached: nothing is served");
    else log("info", "the log of the cluster can be reached again");
    if (isCutOff) onCutOff();
  }

  #source(): Opened {
    const source = this.#host.source();
    if (source === undefined) throw notHere();
    return source;
  }

  #newPassOn(): PassOn {
    return new PassOn({
      client: this.#client,
      evaluators: this.#evaluators,
      caughtUp: (store, sequence) => this.#caughtUp(store, sequence),
      elapsed: () => this.#elapsed(),
    });
  }

  #sharePeers(bus: Bus): SharedPeers {
    const { platform, log, source } = this.#host;
    return new SharedPeers({
      node: this.#node,
      instance: this.#instance,
      bus,
      membership: this.#membership,
      client: this.#client,
      apps: () => source()?.apps,
      evaluatorOf: (appId) => this.stores.find(appId)?.evaluator,
      elapsed: () => platform.elapsed(),
      log,
    });
  }

  /** An app that is opened knows the peers of other nodes at once. */
  async #opening(store: string): Promise<void> {
    if (store !== REGISTRY_STORE) await this.peers.prepare(store);
  }

  #failed(store: string, error: unknown): void {
    const { log, onFatal, source } = this.#host;
    log("error", `the store ${store} cannot follow the log: ${describeError(error)}`);
    if (store === REGISTRY_STORE) onFatal(error);
    else void source()?.apps.closeApp(store);
  }

  #roleChanged(store: string, role: ReplicaRole): void {
    const { onRole, log, platform, source } = this.#host;
    onRole(store);
    this.peers.roleChanged(store);
    if (store !== REGISTRY_STORE || role !== "evaluating") return;
    // The node before may have been lost while it prepared the registry.
    void source()
      ?.registry.prepare(platform)
      .catch((error: unknown) => {
        log("error", `failed to prepare the registry: ${describeError(error)}`);
      });
  }

  /** The registry tells its listeners of changes that other nodes have made. */
  #applied(store: string, transactions: readonly SharedTransaction[]): void {
    if (store !== REGISTRY_STORE) return;
    const operations = transactions.flatMap(({ record }) =>
      record.steps.flatMap((step) => step.operations),
    );
    this.#host.source()?.registry.applied(operations);
  }
}

function readNodeTls({ tlsFiles }: ClusterConfig): NodeTls | undefined {
  if (tlsFiles?.caFile === undefined) return undefined;
  const { caFile, certFile, keyFile } = tlsFiles;
  const [ca = "", cert = "", key = ""] = [caFile, certFile, keyFile].map((file) => {
    return readFileSync(file, "utf8");
  });
  return { ca, cert, key };
}

function opened(cluster: Cluster | undefined): Cluster {
  if (cluster === undefined) throw notHere();
  return cluster;
}

function twin({ url }: NodeInfo): PeerError {
  const message = `another process at ${url} has the name of this node: is its data folder a copy?`;
  return new PeerError("store.in_use", message, {
    hint: "remove cluster.json from the copy, so that it gets a name of its own",
  });
}
