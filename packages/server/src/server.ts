/**
 * The server: configuration → parts → listening → closing.
 *
 * Order of the opening: the lock before anything in the folder is touched, the port before the
 * stores (a port in use is told at once, and health can be asked while stores open). Order of the
 * closing: requests, stores, lock. Each part is closed whatever happened to the others.
 */

import { MemoryPool, type Platform } from "@bigpeer/engine";
import { startCollector } from "./attachments/attachment-collector.ts";
import { downloadEndpoint } from "./attachments/download.ts";
import { uploadEndpoint } from "./attachments/upload.ts";
import type { Config } from "./config.ts";
import { dataEndpoints } from "./data-api/data-endpoints.ts";
import { DataGate } from "./data-api/data-gate.ts";
import { markDataFolder, prepareDataFolder } from "./data-folder.ts";
import { FailedCredentials } from "./failed-credentials.ts";
import { acquireFolderLock, type FolderLock } from "./folder-lock.ts";
import { Cors } from "./http/cors.ts";
import { type Health, healthEndpoints } from "./http/health.ts";
import { type Answered, type HttpServer, listenHttp } from "./http/http-server.ts";
import { Router } from "./http/router.ts";
import { STATEMENTS_MEMORY_MAX } from "./limits.ts";
import { describeError, type Log } from "./log.ts";
import { requestLine } from "./log-events.ts";
import { startMaintenance } from "./maintenance.ts";
import { Metrics } from "./metrics.ts";
import { metricsEndpoint } from "./metrics-endpoint.ts";
import { nodePlatform } from "./node-platform.ts";
import { type AppHost, type OpenApp, openApp } from "./open-app.ts";
import { openApiEndpoints } from "./openapi/openapi-endpoints.ts";
import { prepareQuickstart, type Quickstart } from "./quickstart.ts";
import { type App, Registry } from "./registry.ts";
import type { RepeatedPass } from "./repeated-pass.ts";
import { VERSION } from "./version.ts";

export interface ServerHost {
  readonly log: Log;
  readonly platform?: Platform;
}

/** Resolves when the server is ready. What was opened before a failure is closed again. */
export function startServer(config: Config, host: ServerHost): Promise<RunningServer> {
  return RunningServer.start(config, host);
}

export class RunningServer {
  readonly #config: Config;
  readonly #host: AppHost;
  readonly #apps: OpenApp[] = [];
  readonly #metrics: Metrics;
  #lock: FolderLock | undefined;
  #http: HttpServer | undefined;
  #registry: Registry | undefined;
  #maintenance: RepeatedPass | undefined;
  #collector: RepeatedPass | undefined;
  #quickstart: Quickstart | undefined;
  #health: Health = "starting";
  #closing: Promise<void> | undefined;

  private constructor(config: Config, { log, platform = nodePlatform }: ServerHost) {
    const { dataDir, isClockAccepted, statementTimeoutMs, attachmentSizeMax } = config;
    this.#config = config;
    const memory = new MemoryPool(STATEMENTS_MEMORY_MAX);
    this.#host = {
      platform,
      log,
      options: { isClockAccepted },
      dataDir,
      attachmentSizeMax,
      statementTimeoutMs,
      memory,
    };
    const requestsInFlight = (): number => this.#http?.requestCount ?? 0;
    this.#metrics = new Metrics({ version: VERSION, requestsInFlight });
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

  /** In the order of their ids. */
  get apps(): readonly OpenApp[] {
    return this.#apps;
  }

  /** Where the key of the first start is; undefined when its file was deleted. */
  get quickstart(): Quickstart | undefined {
    return this.#quickstart;
  }

  /** Reads the certificate and its key again; those of before stay when the files are not good. */
  reloadTls(): void {
    this.#http?.reloadTls();
  }

  /** Finishes what was accepted and gives the folder back. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    const { dataDir, host, port, tls } = this.#config;
    prepareDataFolder(dataDir);
    this.#lock = await acquireFolderLock(dataDir);
    markDataFolder(dataDir);
    const { log } = this.#host;
    const router = this.#createRouter();
    this.#http = await listenHttp({
      host,
      port,
      log,
      ...(tls && { tls }),
      answer: (request) => router.answer(request),
      onAnswered: (answered) => this.#note(answered),
    });
    const { url } = this.#http;
    this.#lock.announce(url);
    const registry = await Registry.open(dataDir, this.#host);
    this.#registry = registry;
    for (const app of registry.apps()) await this.#openApp(registry, app);
    this.#quickstart = await prepareQuickstart({ dataDir, registry, url, log });
    const stores = [registry.storeFolder, ...this.#apps.map((app) => app.storeFolder)];
    this.#maintenance = startMaintenance(stores, { log });
    this.#collector = startCollector(this.#apps, {
      graceMs: this.#config.attachmentGraceMs,
      now: () => this.#host.platform.now(),
      log,
    });
    this.#health = "ready";
  }

  async #openApp(registry: Registry, app: App): Promise<void> {
    const opened = await openApp(registry, app, this.#host);
    this.#apps.push(opened);
    this.#metrics.watchApp(opened);
  }

  #createRouter(): Router {
    const { transactionWaitMs, publicUrl, corsOrigins, attachmentSizeMax } = this.#config;
    const gate = new DataGate<OpenApp>({
      source: () => {
        if (this.#registry === undefined || this.#health !== "ready") return undefined;
        return { keys: this.#registry.keys, apps: this.#apps };
      },
      failed: new FailedCredentials(() => this.#host.platform.elapsed()),
      onFailed: () => this.#metrics.credentialFailed(),
    });
    const openApi = openApiEndpoints({ version: VERSION, serverUrl: publicUrl });
    const health = healthEndpoints(() => this.#health);
    const data = dataEndpoints({ gate, transactionWaitMs, publicUrl });
    const upload = uploadEndpoint({ gate, sizeMax: attachmentSizeMax });
    const attachments = [upload, downloadEndpoint({ gate })];
    return new Router({
      endpoints: [...health, metricsEndpoint(this.#metrics), ...openApi.endpoints],
      dataEndpoints: [...data, ...attachments, ...openApi.dataEndpoints],
      cors: new Cors(corsOrigins),
      log: this.#host.log,
    });
  }

  #note({ request, operation, status, elapsedMs, requestBytes, responseBytes }: Answered): void {
    const { id: requestId, method } = request;
    const counted = { operation, method, status, elapsedMs, requestBytes, responseBytes };
    this.#metrics.answered(counted);
    requestLine(this.#host.log, { requestId, operation, method, status, elapsedMs });
  }

  async #close(): Promise<void> {
    this.#health = "closing";
    // A pass that is under way ends when its store is closed.
    const maintained = this.#maintenance?.stop();
    await this.#attempt("the HTTP listener", () => this.#http?.close());
    await this.#attempt("the collector of attachments", () => this.#collector?.stop());
    for (const { id, storeFolder, attachments } of this.#apps) {
      await this.#attempt(`the attachments of app ${id}`, () => attachments.close());
      await this.#attempt(`the store of app ${id}`, () => storeFolder.close());
    }
    this.#metrics.close();
    await this.#attempt("the registry", () => this.#registry?.close());
    await maintained;
    await this.#attempt("the lock", () => this.#lock?.release());
  }

  /** What is durable stays so whatever goes wrong here; the rest is still to be closed. */
  async #attempt(part: string, close: () => Promise<void> | undefined): Promise<void> {
    try {
      await close();
    } catch (error) {
      this.#host.log("error", `expected to close ${part}: ${describeError(error)}`);
    }
  }
}
