/**
 * Server: assembles, starts and closes all parts of a Big Peer.
 *
 * It opens in this order: the lock before anything in the folder is touched; the port before the
 * registry, so that a port in use is reported at once and health checks work meanwhile. Stores of
 * apps open on demand. It closes in this order: peers and requests, background work, apps,
 * registry, lock. Each part is closed even if another one fails.
 */

import type { Platform } from "@bigpeer/engine";
import { MemoryPool, TimeSlicer } from "@bigpeer/engine/query";
import { CommitMemory } from "@bigpeer/engine/store";
import { acquireFolderLock, type FolderLock, nodePlatform, openToOthers } from "@bigpeer/node";
import { assert, type Value } from "@bigpeer/protocol";
import { TrustedProxies } from "./address/client-address.ts";
import type { AppHost, OpenApp } from "./apps/open-app.ts";
import { OpenApps } from "./apps/open-apps.ts";
import { Authentication } from "./auth/authentication.ts";
import { loginEndpoint } from "./auth/login.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Config } from "./config/config.ts";
import { markDataFolder, prepareDataFolder } from "./config/data-folder.ts";
import { VERSION } from "./config/version.ts";
import { downloadEndpoint } from "./data-api/attachment-download.ts";
import { uploadEndpoint } from "./data-api/attachment-upload.ts";
import { dataEndpoints } from "./data-api/data-endpoints.ts";
import { DataGate, type DataSource, type PassedCall } from "./data-api/data-gate.ts";
import { deviceEndpoints } from "./data-api/device-endpoints.ts";
import { resumableUploadEndpoint } from "./data-api/resumable-upload.ts";
import { UploadShares } from "./data-api/upload-shares.ts";
import { apiPageEndpoints } from "./documentation/api-page.ts";
import { docsSiteEndpoints } from "./documentation/docs-site.ts";
import { managementPages } from "./documentation/management-pages.ts";
import { startPageEndpoint } from "./documentation/start-page.ts";
import type { Answer } from "./http/answer.ts";
import { Cors } from "./http/cors.ts";
import { type Health, healthEndpoints } from "./http/health.ts";
import type { HttpRequest } from "./http/http-request.ts";
import {
  type Answered,
  type HttpServer,
  listenHttp,
  type NamedAnswer,
} from "./http/http-server.ts";
import { metricsEndpoint } from "./http/metrics-endpoint.ts";
import { type Endpoint, Router } from "./http/router.ts";
import { START_REST_MS_MAX, STATEMENTS_MEMORY_MAX } from "./limits/limits.ts";
import type { ContentOutcome } from "./link/app-contents.ts";
import { withLinks } from "./link/link-rows.ts";
import { linkStatus } from "./link/link-status.ts";
import { Replicator } from "./link/replicator.ts";
import { Maintenance } from "./maintenance/maintenance.ts";
import {
  type ManagementServer,
  managementElsewhere,
  startManagement,
} from "./management/management-server.ts";
import { describeError, type Log } from "./observability/log.ts";
import { requestLine } from "./observability/log-events.ts";
import { Metrics } from "./observability/metrics.ts";
import { openApiEndpoints } from "./openapi/openapi-endpoints.ts";
import type { AuditAction, Author } from "./registry/audit-log.ts";
import { weakProviders } from "./registry/auth-provider.ts";
import { SHARED_TOKEN_LENGTH_MIN } from "./registry/provider-fields.ts";
import { prepareQuickstart, type Quickstart } from "./registry/quickstart.ts";
import { Registry } from "./registry/registry.ts";
import type { Replication } from "./registry/replications.ts";
import { deviceRows } from "./sync/device-rows.ts";
import type { DialOptions } from "./sync/dial.ts";
import { RemoteExecution } from "./sync/remote-execution.ts";
import { syncEndpoints, syncUpgrades } from "./sync/sync-endpoint.ts";
import { SyncServers } from "./sync/sync-servers.ts";
import { PublicFiles, publicEndpoint, publicStartPage } from "./web/public-files.ts";
import { sdkEndpoint } from "./web/sdk-files.ts";

export interface ServerHost {
  readonly log: Log;
  readonly platform?: Platform;
  /** Called when the server cannot go on; then it must be closed. */
  readonly onFatal?: (error: unknown) => void;
}

/** How often the last uses of keys are written. */
const FLUSH_USES_MS = 60_000;

/** Resolves when the server is ready. Closes what was opened if the start fails. */
export function startServer(config: Config, host: ServerHost): Promise<RunningServer> {
  return RunningServer.start(config, host);
}

function withAge(answer: NamedAnswer, seconds: number): NamedAnswer {
  return { ...answer, headers: { ...answer.headers, age: String(seconds) } };
}

/** Parts that exist once the registry is open. */
interface Opened {
  readonly registry: Registry;
  readonly apps: OpenApps;
  readonly maintenance: Maintenance;
  readonly flushTimer: NodeJS.Timeout;
}

export class RunningServer {
  readonly #config: Config;
  readonly #host: AppHost;
  readonly #onFatal: (error: unknown) => void;
  readonly #metrics: Metrics;
  readonly #auth: Authentication;
  readonly #sync: SyncServers;
  readonly #remote: RemoteExecution;
  readonly #links: Replicator;
  #lock: FolderLock | undefined;
  #cluster: Cluster | undefined;
  #router: Router | undefined;
  #http: HttpServer | undefined;
  #management: ManagementServer | undefined;
  #opened: Opened | undefined;
  #quickstart: Quickstart | undefined;
  #health: Health = "starting";
  /** Whether it is about to close: it serves, and asks for no more requests. */
  #isLeaving = false;
  #closing: Promise<void> | undefined;

  private constructor(config: Config, { log, platform = nodePlatform, onFatal }: ServerHost) {
    const { dataDir, isClockAccepted, statementTimeoutMs } = config;
    const { attachmentSizeMax, remoteTimeoutMs: timeoutMs } = config;
    this.#config = config;
    this.#onFatal = onFatal ?? (() => {});
    const memory = new MemoryPool(STATEMENTS_MEMORY_MAX);
    this.#host = {
      platform,
      log,
      options: {
        isClockAccepted,
        memory: new CommitMemory(),
        startRestMsMax: START_REST_MS_MAX,
      },
      dataDir,
      attachmentSizeMax,
      statementTimeoutMs,
      memory,
      slicer: new TimeSlicer(
        () => platform.pause(),
        () => platform.elapsed(),
      ),
      systemData: (app) => withLinks(deviceRows(app, this.#sync), app.id, this.#links),
    };
    this.#auth = new Authentication({
      platform,
      log,
      webhookTimeoutMs: config.webhookTimeoutMs,
      onFailed: () => this.#metrics.credentialFailed(),
    });
    this.#sync = new SyncServers({
      source: () => this.#source,
      auth: this.#auth,
      platform,
      log,
      connectionsMax: config.syncConnectionsMax,
      onRefused: (reason) => this.#metrics.peerRefused(reason),
      cluster: () => this.#cluster,
    });
    const streamsOf = (app: OpenApp) => this.#sync.serverOf(app).streams;
    const evaluates = (appId: string): boolean =>
      this.#cluster?.stores.find(appId)?.role === "evaluating";
    const targetOf = (appId: string): DialOptions | undefined => this.#cluster?.linkTarget(appId);
    this.#links = new Replicator({
      config,
      streamsOf,
      platform,
      log,
      ...(config.cluster !== undefined && { cluster: { evaluates, targetOf } }),
    });
    this.#remote = new RemoteExecution({
      syncOf: (appId) => this.#sync.syncOf(appId),
      start: (appId, sync, { sessions, run }) =>
        this.#cluster?.peers.run(appId, sync, sessions, run) ?? sync.run(sessions, run),
      record: (author, action) => this.#recordRun(author, action),
      timeoutMs,
      elapsed: () => platform.elapsed(),
      log,
      onEnd: (run) => this.#metrics.remoteEnded(run),
    });
    this.#metrics = new Metrics({
      version: VERSION,
      requestsInFlight: () =>
        (this.#http?.requestCount ?? 0) + (this.#management?.requestCount ?? 0),
      appsKnown: () => this.#opened?.registry.apps.count ?? 0,
      sync: this.#sync,
      links: () => this.#links.stats(),
      cluster: () => this.#cluster?.stats(),
    });
  }

  static async start(config: Config, host: ServerHost): Promise<RunningServer> {
    const server = new RunningServer(config, host);
    try {
      await server.#open();
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  get url(): string {
    return this.#http?.url ?? "";
  }

  /** Undefined without a management API. */
  get managementUrl(): string | undefined {
    return this.#management?.url;
  }

  /** URL for links of other Big Peers; undefined while that port is closed. */
  get replicationUrl(): string | undefined {
    return this.#links.url;
  }

  get registry(): Registry {
    assert(this.#opened !== undefined, "a server that has started");
    return this.#opened.registry;
  }

  get apps(): OpenApps {
    assert(this.#opened !== undefined, "a server that has started");
    return this.#opened.apps;
  }

  /** File with the key of the first start; undefined when it is gone or the key does not work. */
  get quickstart(): Quickstart | undefined {
    return this.#quickstart;
  }

  /** Reads the certificates and keys again; keeps the current ones if the files are invalid. */
  reloadTls(): void {
    this.#http?.reloadTls();
    this.#management?.reloadTls();
    this.#links.reloadTls();
  }

  /** Fails `/readyz` from now on. Everything is served until `close`. */
  announceClose(): void {
    this.#isLeaving = true;
  }

  /** Finishes accepted work and releases the folder. Repeated calls are harmless. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    const { dataDir, managementPort } = this.#config;
    const { log } = this.#host;
    prepareDataFolder(dataDir);
    this.#lock = await acquireFolderLock(dataDir);
    markDataFolder(dataDir);
    const warning = openToOthers(dataDir);
    if (warning !== undefined) log("warn", warning);
    const { url } = await this.#listen();
    this.#lock.announce(url);
    const stores = await this.#joinCluster();
    const registry = await Registry.open(dataDir, { ...this.#host, ...stores });
    this.#opened = this.#prepareApps(registry, {
      ...this.#host,
      ...stores,
      attachmentSpaceMax: this.#config.attachmentSpaceMax,
      contentTraffic: this.#metrics.contents,
    });
    await this.#cluster?.whenReady(registry);
    if (managementPort !== undefined) this.#management = await this.#listenManagement(this.#opened);
    this.#warnOfSecrets(registry);
    await this.#links.start(this.#opened);
    const { managementUrl } = this;
    this.#quickstart = await prepareQuickstart({ dataDir, registry, url, managementUrl, log });
    this.#health = "ready";
    this.#cluster?.upkeep.start();
  }

  /** Returns where the stores come from; nothing for a server that is alone. */
  async #joinCluster(): Promise<Pick<AppHost, "stores" | "attachmentNodes">> {
    const { cluster: config, dataDir, isClockAccepted } = this.#config;
    if (config === undefined) return {};
    const { platform, log, options } = this.#host;
    // Loaded on use: a server that is alone needs nothing of it.
    const { Cluster: Loaded } = await import("./cluster/cluster.ts");
    this.#cluster = await Loaded.join({
      config,
      dataDir,
      platform,
      options,
      isClockAccepted,
      log,
      auth: this.#auth,
      source: () => this.#opened,
      answerOf: (listener) => this.#answerOf(listener),
      links: this.#links,
      onRole: () => this.#links.rolesChanged(),
      onCutOff: () => this.#sync.dismissAll("this node is cut off from its cluster"),
      onFatal: this.#onFatal,
    });
    const { stores, upkeep } = this.#cluster;
    return { stores, attachmentNodes: (app) => upkeep.attachmentNodes(app) };
  }

  /** Answers requests that another node passes on. */
  #answerOf(listener: string): ((request: HttpRequest) => Promise<NamedAnswer>) | undefined {
    if (listener === "data") return (request) => this.#answerData(request);
    const management = this.#management;
    return management && ((request) => management.answer(request));
  }

  #answerData(request: HttpRequest): Promise<NamedAnswer> {
    assert(this.#router !== undefined, "a server that listens");
    const answer = this.#router.answer(request);
    const age = this.#cluster?.ageSeconds;
    return age === undefined ? answer : answer.then((given) => withAge(given, age));
  }

  #recordRun(author: Author, action: AuditAction): Promise<void> {
    return (
      this.#cluster?.calls.recordRun(author, action) ?? this.registry.recordRun(author, action)
    );
  }

  /** Warns about short shared tokens from before there was a minimum length; they keep working. */
  #warnOfSecrets({ apps }: Registry): void {
    for (const { id, name } of apps.names()) {
      for (const provider of weakProviders(apps.get(id)?.authProviders ?? {})) {
        const what = `the shared token of the provider ${provider} of the app ${name}`;
        const remedy = "anybody may guess it; give the provider a longer one";
        this.#host.log(
          "warn",
          `${what} has fewer than ${SHARED_TOKEN_LENGTH_MIN} characters: ${remedy}`,
        );
      }
    }
  }

  /** Undefined until the server is open, and once it starts to close. */
  get #source(): Opened | undefined {
    return this.#currentHealth === "ready" ? this.#opened : undefined;
  }

  /** For load balancers: no request should come to a server that is about to close. */
  get #shownHealth(): Health {
    return this.#isLeaving ? "closing" : this.#currentHealth;
  }

  /** A node that has lost its cluster for too long is like one that starts. */
  get #currentHealth(): Health {
    return this.#cluster?.isCutOff === true && this.#health === "ready" ? "starting" : this.#health;
  }

  async #listen(): Promise<HttpServer> {
    const { host, port, tls, syncConnectionsMax, trustedProxies } = this.#config;
    const { log } = this.#host;
    const cors = new Cors(this.#config.corsOrigins, this.#config.publicUrl);
    const router = this.#createRouter(cors, await this.#openPublicFiles());
    this.#router = router;
    const upgrades = syncUpgrades({
      host: this.#sync,
      isOpen: () => this.#source !== undefined,
      connectionsMax: syncConnectionsMax,
      cors,
      log,
      onRefused: (reason) => this.#metrics.peerRefused(reason),
    });
    this.#http = await listenHttp({
      host,
      port,
      log,
      upgrades,
      proxies: new TrustedProxies(trustedProxies),
      onRefused: (bound) => this.#metrics.boundMet(bound),
      ...(tls && { tls }),
      answer: (request) => this.#answerData(request),
      onAnswered: (answered) => this.#note(answered),
    });
    return this.#http;
  }

  #listenManagement({ registry, apps }: Opened): Promise<ManagementServer> {
    const { log, platform } = this.#host;
    return startManagement({
      config: this.#config,
      registry,
      apps,
      linkStatus: (replication) => this.#linkStatus(replication),
      log,
      platform,
      dataUrl: () => this.#config.publicUrl ?? this.#http?.url,
      pages: managementPages({ version: VERSION }),
      health: () => this.#shownHealth,
      onRefused: (bound) => this.#metrics.boundMet(bound),
      onAnswered: (answered) => this.#note(answered),
      ...(this.#cluster !== undefined && {
        passOn: (request, body) => this.#passOnManagement(request, body),
        clusterStatus: () => this.#clusterStatus(),
      }),
    });
  }

  #clusterStatus(): Promise<Value> {
    assert(this.#cluster !== undefined, "a cluster");
    return this.#cluster.status();
  }

  #passOnManagement(request: HttpRequest, body: Uint8Array): Promise<Answer> {
    assert(this.#cluster !== undefined, "a cluster");
    return this.#cluster.passOnManagement(request, body);
  }

  #prepareApps(registry: Registry, host: AppHost): Opened {
    const { dataDir, appIdleMs, appGraceMs, attachmentGraceMs } = this.#config;
    const { log, platform } = this.#host;
    const apps = new OpenApps({
      known: registry.apps,
      host,
      idleMs: appIdleMs,
      onOpened: (app) => {
        maintenance.opened(app.id);
        const unwatch = this.#metrics.watchApp(app);
        this.#sync.appOpened(app);
        return () => {
          this.#links.appClosing(app);
          this.#sync.appClosing(app);
          unwatch();
        };
      },
    });
    registry.onChange((change) => {
      this.#sync.registryChanged(change);
      this.#links.registryChanged(change);
      if (this.#cluster === undefined) return;
      // Another node may have deleted an app.
      for (const id of change.appIds) {
        if (registry.apps.get(id) === undefined) void apps.closeApp(id);
      }
    });
    const now = (): number => platform.now();
    const graces = { appGraceMs, attachmentGraceMs };
    const cluster = this.#cluster?.upkeep.purgedLogs;
    const maintenance = new Maintenance({ dataDir, registry, apps, ...graces, now, log, cluster });
    const flushTimer = setInterval(() => void this.#flushUses(registry), FLUSH_USES_MS);
    flushTimer.unref();
    return { registry, apps, maintenance, flushTimer };
  }

  async #openPublicFiles(): Promise<PublicFiles | undefined> {
    const { publicDir, dataDir } = this.#config;
    return publicDir === undefined ? undefined : PublicFiles.open(publicDir, dataDir);
  }

  #createRouter(cors: Cors, files: PublicFiles | undefined): Router {
    const { transactionWaitMs, publicUrl } = this.#config;
    const { log } = this.#host;
    const auth = this.#auth;
    const source = (): DataSource<OpenApp> | undefined => this.#source;
    const onRefused = (bound: string): void => this.#metrics.boundMet(bound);
    const passOn = ({ request, appId, bytes }: PassedCall): Promise<Answer> =>
      this.#passOnData(request, appId, bytes);
    const gate = new DataGate<OpenApp>({
      source,
      auth,
      onRefused,
      ...(this.#config.cluster !== undefined && { passOn }),
    });
    const login = loginEndpoint({ registry: () => source()?.registry, auth });
    const openApi = openApiEndpoints({ version: VERSION, serverUrl: publicUrl });
    const health = healthEndpoints(() => this.#shownHealth);
    const remote = this.#remote;
    const data = dataEndpoints({ gate, transactionWaitMs, publicUrl, remote });
    const devices = deviceEndpoints({ gate, syncOf: (appId) => this.#sync.syncOf(appId) });
    const startPage = startPageEndpoint(VERSION);
    return new Router({
      endpoints: [
        ...health,
        metricsEndpoint(this.#metrics),
        login,
        ...openApi.endpoints,
        ...apiPageEndpoints({ serverUrl: publicUrl }),
        ...docsSiteEndpoints(),
        sdkEndpoint(),
        ...syncEndpoints(),
        files === undefined ? startPage : publicStartPage(files, startPage),
      ],
      otherwise: files && publicEndpoint(files),
      elsewhere: managementElsewhere,
      dataEndpoints: [
        ...data,
        ...devices,
        ...this.#attachmentEndpoints(gate, onRefused),
        ...openApi.dataEndpoints,
      ],
      cors,
      log,
    });
  }

  #attachmentEndpoints(gate: DataGate<OpenApp>, onRefused: (bound: string) => void): Endpoint[] {
    const { contents: traffic } = this.#metrics;
    const shares = new UploadShares(onRefused);
    const uploads = { gate, sizeMax: this.#config.attachmentSizeMax, onRefused, shares, traffic };
    const find = (app: OpenApp, id: string) => this.#findContent(app, id);
    const isClosing = (): boolean => this.#health === "closing";
    return [
      uploadEndpoint(uploads),
      resumableUploadEndpoint(uploads),
      downloadEndpoint({ gate, find, isClosing, traffic }),
    ];
  }

  /** In a cluster one node runs the links of an app. */
  async #linkStatus(replication: Replication): Promise<Value> {
    const { appId, name } = replication;
    const links = this.#links;
    if (this.#cluster === undefined || !links.isElsewhere(appId)) {
      return linkStatus(replication, links);
    }
    return this.#cluster.calls.linkStatus(appId, name);
  }

  #findContent(app: OpenApp, id: string): Promise<ContentOutcome> {
    const links = this.#links;
    if (this.#cluster === undefined || !links.isElsewhere(app.id))
      return links.findContent(app, id);
    return this.#cluster.calls.findContent(app.id, id);
  }

  #passOnData(request: HttpRequest, appId: string, body: Uint8Array): Promise<Answer> {
    assert(this.#cluster !== undefined, "a cluster");
    return this.#cluster.passOnData(request, appId, body);
  }

  #note({ request, operation, status, elapsedMs, requestBytes, responseBytes }: Answered): void {
    const { id: requestId, method, remoteAddress } = request;
    const counted = { operation, method, status, elapsedMs, requestBytes, responseBytes };
    this.#metrics.answered(counted);
    requestLine(this.#host.log, {
      requestId,
      operation,
      method,
      status,
      elapsedMs,
      remoteAddress,
    });
  }

  /** A failure loses only when keys were last used. */
  async #flushUses({ keys }: Registry): Promise<void> {
    const cluster = this.#cluster;
    await this.#attempt("to write the last uses of keys", () =>
      cluster === undefined
        ? keys.flushUses()
        : keys.flushUses((uses) => cluster.calls.noteUses(uses)),
    );
  }

  async #close(): Promise<void> {
    clearInterval(this.#opened?.flushTimer);
    if (this.#cluster !== undefined) await this.#leave(this.#cluster);
    this.#health = "closing";
    // Work in progress ends when its store is closed.
    const maintained = this.#opened?.maintenance.stop();
    await Promise.all([
      this.#attempt("to end links", () => this.#links.close()),
      this.#attempt("to end sync", () => this.#sync.close()),
      this.#attempt("to close the HTTP listener", () => this.#http?.close()),
      this.#attempt("to close the management listener", () => this.#management?.close()),
    ]);
    await this.#attempt("to close the apps", () => this.#opened?.apps.close());
    this.#metrics.close();
    const isAlone = this.#cluster === undefined;
    if (this.#opened !== undefined && isAlone) await this.#flushUses(this.#opened.registry);
    await this.#attempt("to close the registry", () => this.#opened?.registry.close());
    await this.#attempt("to leave the cluster", () => this.#cluster?.close());
    await maintained;
    await this.#attempt("to release the lock", () => this.#lock?.release());
  }

  /** Requests are served until other nodes have taken over. */
  async #leave(cluster: Cluster): Promise<void> {
    this.announceClose();
    if (this.#opened !== undefined) await this.#flushUses(this.#opened.registry);
    await this.#attempt("to hand over to other nodes", () => cluster.handOver());
  }

  /** Logs an error and continues closing. Durable data stays durable. */
  async #attempt(what: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#host.log("error", `failed ${what} (closing continues): ${describeError(error)}`);
    }
  }
}
