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
  NEWEST_ENTRY_FORMAT,
  type ReplicaRole,
  type SharedTransaction,
} from "@bigpeer/engine/cluster";
import type { StoreOptions } from "@bigpeer/engine/store";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { Authentication } from "../auth/authentication.ts";
import type { ClusterConfig } from "../config/config.ts";
import { VERSION } from "../config/version.ts";
import type { Answer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { HttpServer, NamedAnswer } from "../http/http-server.ts";
import { LINK_PATH } from "../link/link-listener.ts";
import type { ClusterStats } from "../observability/cluster-metrics.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { Registry } from "../registry/registry.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import type { DialOptions } from "../sync/dial.ts";
import type { Bus } from "./bus.ts";
import { clusterStatus, ownStatus, type StatusHost } from "./cluster-status.ts";
import { ClusterStores } from "./cluster-stores.ts";
import { deliveryProcedures, type NodeDeliveries } from "./delivery-procedures.ts";
import { Elections } from "./elections.ts";
import { EvaluatorCalls } from "./evaluator-calls.ts";
import { Evaluators } from "./evaluators.ts";
import { type LinkProceduresHost, linkProcedures, type NodeLinks } from "./link-procedures.ts";
import { LogReach } from "./log-reach.ts";
import { Membership, type NodeInfo } from "./membership.ts";
import { type ConnectedLogs, connectLogs } from "./nats/connect-logs.ts";
import { NatsBus } from "./nats/nats-bus.ts";
import { NodeClient, type NodeTls } from "./node-client.ts";
import { listenForNodes, type Procedure } from "./node-listener.ts";
import { nodeNameOf } from "./node-name.ts";
import { nodeProcedures, notHere, type ProceduresHost } from "./node-procedures.ts";
import { NodeReach } from "./node-reach.ts";
import { PassOn } from "./pass-on.ts";
import { peerProcedures, SharedPeers } from "./peers/shared-peers.ts";
import { ReachVerdict } from "./reach-verdict.ts";
import { Upkeep, upkeepEndpoints, upkeepProcedures } from "./upkeep.ts";
import { sleep, within } from "./waiting.ts";

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
  readonly links: NodeLinks;
  readonly deliveries: NodeDeliveries;
  /** Called when this node has begun or ceased to evaluate a store. */
  readonly onRole: (store: string) => void;
  /** Called when nothing must be served any more, until the log can be reached again. */
  readonly onCutOff: () => void;
  /** Called when the registry has failed, or another process has the name of this node. */
  readonly onFatal: (error: unknown) => void;
}

/** How long a node may take to start. */
const START_MS_MAX = 60_000;

const POLL_MS = 20;
const TICK_MS = 1_000;

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
  /** Calls of the node that evaluates a store. */
  readonly calls: EvaluatorCalls;
  readonly upkeep: Upkeep;
  readonly #reach: LogReach;
  readonly #nodeReach: NodeReach;
  readonly #verdict: ReachVerdict;
  readonly #evaluators: Evaluators;
  readonly #timer: NodeJS.Timeout;
  #http: HttpServer | undefined;
  #isClosing = false;
  #isAbandoned = false;
  #isClockWarned = false;

  private constructor(host: ClusterHost, parts: ConnectedLogs, http: (cluster: Cluster) => void) {
    const { platform, config, dataDir, log } = host;
    this.#host = host;
    this.#parts = parts;
    this.#node = nodeNameOf(dataDir, config.name);
    this.#client = new NodeClient(config.secret, readNodeTls(config), {
      onOutcome: (...outcome) => this.#nodeReach.note(...outcome),
    });
    http(this);
    const bus = new NatsBus(parts.nats, config.name);
    const elapsed = (): number => platform.elapsed();
    this.#nodeReach = new NodeReach({
      others: () => this.#membership.others,
      probe: (url, signal) => this.#client.call(url, "ping", {}, signal),
      elapsed,
    });
    this.#verdict = new ReachVerdict(elapsed);
    const isHardToReach = (): boolean => this.#verdict.isHardToReach;
    this.#membership = new Membership({
      bus,
      self: () => this.#info(),
      elapsed,
      now: () => platform.now(),
      awayMs: config.awayMs,
      onTwin: (info) => host.onFatal(twin(info)),
    });
    this.#elections = new Elections({
      node: this.#node,
      membership: this.#membership,
      elapsed,
      mayEvaluate: () => !this.#isClosing && this.#isClockRight(),
      isHardToReach,
      log,
    });
    this.#evaluators = new Evaluators({
      stores: () => this.stores,
      node: this.#node,
      membership: this.#membership,
      client: this.#client,
      ownUrl: () => this.#url,
      isHardToReach,
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
    this.stores = this.#newStores();
    this.calls = new EvaluatorCalls(this.#evaluators, this.stores);
    this.#reach = new LogReach({
      log: parts.logs.log(REGISTRY_STORE),
      elapsed,
      cutOffMs: config.cutOffMs,
      onChange: (isCutOff) => this.#cutOffChanged(isCutOff),
    });
    this.peers = this.#sharePeers(bus);
    this.#passOn = this.#newPassOn();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
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
      ...linkProcedures(() => opened(cluster).#linksHost()),
      ...deliveryProcedures(() => opened(cluster).#deliveries()),
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
      takeLink: (asked, passed) => host.links.takePassed(asked, passed),
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
        return this.calls.catchUp(REGISTRY_STORE);
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

  /** A request of the console to the node that evaluates its app. */
  passOnConsole(request: HttpRequest, appId: string, body: Uint8Array): Promise<Answer> {
    return this.#passOn.send(request, {
      store: appId,
      listener: "management",
      body,
      isRepeatable: true,
    });
  }

  /** How a link is passed on to the node that evaluates an app; undefined if there is none now. */
  linkTarget(appId: string): DialOptions | undefined {
    const url = this.#evaluators.known(appId);
    if (url === undefined) return undefined;
    return this.#client.dialOptions(url, LINK_PATH);
  }

  /**
   * Evaluates nothing any more: others take over at once. Call it before requests are ended. It waits
   * a moment for the last write, which without the log would never end.
   */
  async handOver(lastWrite: Promise<void> | undefined): Promise<void> {
    this.#isClosing = true;
    if (lastWrite !== undefined) await within(lastWrite, HAND_OVER_MS_MAX);
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
    clearInterval(this.#timer);
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
      entryFormat: NEWEST_ENTRY_FORMAT,
      nowMs: this.#host.platform.now(),
      isClosing: this.#isClosing,
      unreached: this.#nodeReach.unreached,
      isHardToReach: this.#verdict.isHardToReach,
    };
  }

  #tick(): void {
    this.stores.tick();
    this.#nodeReach.tick();
    if (!this.#verdict.update(this.#info(), this.#membership.others)) return;
    this.#membership.announce();
    const { log } = this.#host;
    if (!this.#verdict.isHardToReach) return log("info", "other nodes reach this node again");
    const found = `other nodes of the cluster do not reach this one at ${this.#url}`;
    log("error", `${found}: it evaluates nothing; check --cluster-advertise and the network`);
  }

  get #url(): string {
    const { config } = this.#host;
    return config.advertise ?? this.#http?.url ?? "";
  }

  #proceduresHost(): ProceduresHost {
    const { auth, platform } = this.#host;
    return { auth, platform, stores: this.stores, source: () => this.#source() };
  }

  #linksHost(): LinkProceduresHost {
    const { links } = this.#host;
    const sequenceOf = (store: string): number | undefined =>
      this.stores.find(store)?.position.sequence;
    return { links, source: () => this.#source(), sequenceOf };
  }

  /** Throws `cluster.elsewhere` until the server is open. */
  #deliveries(): NodeDeliveries {
    this.#source();
    return this.#host.deliveries;
  }

  #statusHost(): StatusHost {
    return {
      cluster: this.#host.config.name,
      node: this.#node,
      version: VERSION,
      entryFormat: NEWEST_ENTRY_FORMAT,
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

  #newStores(): ClusterStores {
    const { platform, options, log } = this.#host;
    const { logs } = this.#parts;
    return new ClusterStores({
      node: this.#node,
      logOf: (store) => logs.log(store),
      elections: this.#elections,
      entryFormat: () => this.#membership.entryFormat,
      platform,
      options,
      log,
      copy: (store, folder) => this.upkeep.copy(store, folder),
      onFailed: (store, error) => this.#failed(store, error),
      onRole: (store, role) => this.#roleChanged(store, role),
      onApplied: (store, transactions) => this.#applied(store, transactions),
      onOpening: (store) => this.#opening(store),
      isAbandoned: () => this.#isAbandoned,
    });
  }

  #newPassOn(): PassOn {
    return new PassOn({
      client: this.#client,
      evaluators: this.#evaluators,
      caughtUp: (store, sequence) => this.calls.caughtUp(store, sequence),
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
