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
import { assert } from "@bigpeer/protocol";
import { TrustedProxies } from "./address/client-address.ts";
import type { AppHost, OpenApp } from "./apps/open-app.ts";
import { OpenApps } from "./apps/open-apps.ts";
import { warnOfSecrets } from "./apps/weak-secrets.ts";
import { Authentication } from "./auth/authentication.ts";
import { loginEndpoint } from "./auth/login.ts";
import { AppWork } from "./cluster/app-work.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Config } from "./config/config.ts";
import { markDataFolder, prepareDataFolder } from "./config/data-folder.ts";
import { VERSION } from "./config/version.ts";
import { type ChangeStreams, dismissAll } from "./data-api/change-streams.ts";
import { createDataApi, type DataApiOptions } from "./data-api/data-api.ts";
import { Deliveries } from "./delivery/deliveries.ts";
import { withHeader } from "./http/answer.ts";
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
import type { Router } from "./http/router.ts";
import { START_REST_MS_MAX, STATEMENTS_MEMORY_MAX } from "./limits/limits.ts";
import { withLinks } from "./link/link-rows.ts";
import { countLinks } from "./link/link-stats.ts";
import { Replicator } from "./link/replicator.ts";
import { BackupSchedule } from "./maintenance/backup-schedule.ts";
import { Maintenance } from "./maintenance/maintenance.ts";
import { type ManagementServer, startManagement } from "./management/management-server.ts";
import { loadWithNats } from "./nats/optional-nats.ts";
import { describeError, type Log } from "./observability/log.ts";
import { requestLine } from "./observability/log-events.ts";
import { Metrics } from "./observability/metrics.ts";
import { RecentErrors } from "./observability/recent-errors.ts";
import { type AuditAction, type AuditedKind, type Author, SERVER } from "./registry/audit-log.ts";
import { ConsoleLink } from "./registry/console-link.ts";
import { prepareQuickstart, type Quickstart } from "./registry/quickstart.ts";
import { Registry } from "./registry/registry.ts";
import { deviceRows } from "./sync/device-rows.ts";
import type { DialOptions } from "./sync/dial.ts";
import { RemoteExecution } from "./sync/remote-execution.ts";
import { syncUpgrades } from "./sync/sync-endpoint.ts";
import { SyncServers } from "./sync/sync-servers.ts";
import { dataRouter } from "./web/data-router.ts";
import { managementSite } from "./web/management-site.ts";
import { PublicFiles } from "./web/public-files.ts";

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
  readonly #errors: RecentErrors;
  readonly #auth: Authentication;
  readonly #sync: SyncServers;
  readonly #remote: RemoteExecution;
  readonly #links: Replicator;
  readonly #deliveries: Deliveries;
  readonly #work: AppWork;
  #lock: FolderLock | undefined;
  #cluster: Cluster | undefined;
  #router: Router | undefined;
  #http: HttpServer | undefined;
  #management: ManagementServer | undefined;
  #opened: Opened | undefined;
  #quickstart: Quickstart | undefined;
  #consoleLink: ConsoleLink | undefined;
  #changes: ChangeStreams<OpenApp> | undefined;
  #backups: BackupSchedule | undefined;
  #health: Health = "starting";
  /** Whether it is about to close: it serves, and asks for no more requests. */
  #isLeaving = false;
  /** Milliseconds since 1970. */
  readonly #startedAt: number;
  #closing: Promise<void> | undefined;

  private constructor(
    config: Config,
    { log: given, platform = nodePlatform, onFatal }: ServerHost,
  ) {
    this.#errors = new RecentErrors(() => platform.now());
    this.#startedAt = platform.now();
    const log = this.#errors.watch(given);
    const { dataDir, isClockAccepted, statementTimeoutMs } = config;
    const { attachmentSizeMax, remoteTimeoutMs: timeoutMs } = config;
    this.#config = config;
    this.#onFatal = onFatal ?? (() => {});
    this.#host = {
      platform,
      log,
      options: { isClockAccepted, memory: new CommitMemory(), startRestMsMax: START_REST_MS_MAX },
      dataDir,
      attachmentSizeMax,
      statementTimeoutMs,
      memory: new MemoryPool(STATEMENTS_MEMORY_MAX),
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
    this.#links = this.#createLinks(config);
    this.#deliveries = this.#createDeliveries(config);
    this.#work = new AppWork({
      links: this.#links,
      deliveries: this.#deliveries,
      calls: () => this.#cluster?.calls,
    });
    this.#remote = new RemoteExecution({
      syncOf: (appId) => this.#sync.syncOf(appId),
      start: (appId, sync, { sessions, run }) =>
        this.#cluster?.peers.run(appId, sync, sessions, run) ?? sync.run(sessions, run),
      record: (author, action) => this.#record(author, action, "runs"),
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
      deliveries: () => this.#deliveries.stats(),
      backups: () => (this.#backups?.isScheduled === true ? this.#backups.stats : undefined),
      cluster: () => this.#cluster?.stats(),
    });
  }

  #createLinks(config: Config): Replicator {
    const { platform, log } = this.#host;
    const evaluates = (appId: string): boolean =>
      this.#cluster?.stores.find(appId)?.role === "evaluating";
    const targetOf = (appId: string): DialOptions | undefined => this.#cluster?.linkTarget(appId);
    return new Replicator({
      config,
      streamsOf: (app) => this.#sync.serverOf(app).streams,
      platform,
      log,
      ...(config.cluster !== undefined && { cluster: { evaluates, targetOf } }),
    });
  }

  #createDeliveries(config: Config): Deliveries {
    const { platform, log } = this.#host;
    return new Deliveries({
      platform,
      log,
      attemptsMax: config.deliveryAttempts,
      timeoutMs: config.deliveryTimeoutMs,
      isClustered: config.cluster !== undefined,
      changesOf: (app) => app.changes,
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

  /** The link that signs in to the console; undefined where none is made. */
  get consoleLink(): Pick<ConsoleLink, "url" | "path"> | undefined {
    return this.#consoleLink;
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
    warnOfSecrets(registry, this.#host.log);
    await this.#links.start(this.#opened);
    this.#deliveries.start(this.#opened);
    const { managementUrl } = this;
    this.#quickstart = await prepareQuickstart({ dataDir, registry, url, managementUrl, log });
    this.#consoleLink = await ConsoleLink.prepare({
      dataDir,
      registry,
      // In a cluster, each node would make a link of its own and end that of another.
      managementUrl: this.#config.cluster === undefined ? managementUrl : undefined,
      log,
    });
    this.#backups = this.#startBackups();
    this.#health = "ready";
    this.#cluster?.upkeep.start();
  }

  /** Returns where the stores come from; nothing for a server that is alone. */
  async #joinCluster(): Promise<Pick<AppHost, "stores" | "attachmentNodes">> {
    const { cluster: config, dataDir, isClockAccepted } = this.#config;
    if (config === undefined) return {};
    const { platform, log, options } = this.#host;
    const { Cluster: Loaded } = await loadWithNats(() => import("./cluster/cluster.ts"));
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
      deliveries: this.#deliveries,
      onRole: () => {
        this.#links.rolesChanged();
        this.#deliveries.rolesChanged();
      },
      onCutOff: () => dismissAll([this.#sync, this.#changes, this.#management?.streams]),
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
    return age === undefined
      ? answer
      : answer.then((given) => withHeader(given, "age", String(age)));
  }

  #record(author: Author, action: AuditAction, kind: AuditedKind): Promise<void> {
    return (
      this.#cluster?.calls.record(author, action, kind) ??
      this.registry.record(author, action, kind)
    );
  }

  #startBackups(): BackupSchedule {
    const { backup, backupFolder, dataDir } = this.#config;
    const { log, platform } = this.#host;
    const record = (action: AuditAction, author = SERVER) =>
      this.#record(author, action, "changes");
    const now = (): number => platform.now();
    const { everyMs } = backup ?? {};
    return new BackupSchedule({ ...backupFolder, ...backup, everyMs, dataDir, now, log, record });
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
    const { publicDir, dataDir } = this.#config;
    const files = publicDir === undefined ? undefined : await PublicFiles.open(publicDir, dataDir);
    this.#router = this.#createRouter(cors, files);
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
      deliveries: {
        currentCursor: (appId) => this.#deliveries.currentCursor(appId),
        run: (command) => this.#work.runDelivery(command),
      },
      linkStatus: (replication) => this.#work.linkStatus(replication),
      log,
      platform,
      dataUrl: () => this.#config.publicUrl ?? this.#http?.url,
      facts: {
        config: this.#config,
        apps,
        auth: this.#auth,
        metrics: this.#metrics,
        errors: this.#errors,
        backups: () => this.#backups,
        health: () => this.#shownHealth,
        syncStatsOf: (appId) => this.#sync.statsOf(appId),
        links: () => countLinks(this.#links.stats()),
        startedAt: this.#startedAt,
      },
      ...managementSite(VERSION),
      consoleLink: () => this.#consoleLink,
      data: {
        ...this.#dataOptions(),
        passOn: ({ request, appId, bytes }) => this.#joined.passOnConsole(request, appId, bytes),
        record: (author, action) => this.#record(author, action, "statements"),
      },
      health: () => this.#shownHealth,
      onRefused: (bound) => this.#metrics.boundMet(bound),
      onAnswered: (answered) => this.#note(answered),
      ...(this.#cluster !== undefined && {
        passOn: (request, body) => this.#joined.passOnManagement(request, body),
        clusterStatus: () => this.#joined.status(),
      }),
    });
  }

  get #joined(): Cluster {
    assert(this.#cluster !== undefined, "a cluster");
    return this.#cluster;
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
          this.#deliveries.appClosing(app);
          this.#links.appClosing(app);
          this.#sync.appClosing(app);
          app.changes.close();
          unwatch();
        };
      },
    });
    registry.onChange((change) => {
      this.#sync.registryChanged(change);
      this.#links.registryChanged(change);
      this.#deliveries.registryChanged(change);
      this.#changes?.registryChanged();
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

  #createRouter(cors: Cors, files: PublicFiles | undefined): Router {
    const data = createDataApi(this.#dataOptions());
    this.#changes = data.changes;
    const login = loginEndpoint({ registry: () => this.#source?.registry, auth: this.#auth });
    return dataRouter({
      version: VERSION,
      publicUrl: this.#config.publicUrl,
      data,
      others: [...healthEndpoints(() => this.#shownHealth), metricsEndpoint(this.#metrics), login],
      files,
      cors,
      log: this.#host.log,
    });
  }

  /** What the data API works with; that of the console has the same. */
  #dataOptions(): DataApiOptions {
    const { log, platform } = this.#host;
    return {
      config: this.#config,
      source: () => this.#source,
      auth: this.#auth,
      remote: this.#remote,
      syncOf: (appId) => this.#sync.syncOf(appId),
      passOn: ({ request, appId, bytes }) => this.#joined.passOnData(request, appId, bytes),
      findContent: (app, id) => this.#work.findContent(app, id),
      isClosing: () => this.#health === "closing",
      traffic: this.#metrics.contents,
      elapsed: () => platform.elapsed(),
      changeTotals: this.#metrics.changeStreams,
      log,
      onRefused: (bound) => this.#metrics.boundMet(bound),
    };
  }

  #note({ request, operation, status, elapsedMs, requestBytes, responseBytes }: Answered): void {
    const { id: requestId, method, remoteAddress } = request;
    this.#metrics.answered({ operation, method, status, elapsedMs, requestBytes, responseBytes });
    requestLine(this.#host.log, { requestId, operation, method, status, elapsedMs, remoteAddress });
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
    // Before another node evaluates: it goes on where this one stopped.
    await this.#attempt("to end deliveries", () => this.#deliveries.close());
    await this.#backups?.stop();
    if (this.#cluster !== undefined) await this.#leave(this.#cluster);
    this.#health = "closing";
    this.#changes?.close();
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
    const written = this.#opened && this.#flushUses(this.#opened.registry);
    await this.#attempt("to hand over to other nodes", () => cluster.handOver(written));
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
