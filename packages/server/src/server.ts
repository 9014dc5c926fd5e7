/**
 * The server: configuration → parts → listening → closing.
 *
 * Order of the opening: the lock before anything in the folder is touched, the port before the
 * stores (a port in use is told at once, and health can be asked while stores open). Order of the
 * closing: requests, stores, lock. Each part is closed whatever happened to the others.
 */

import { type Platform, StatementRunner } from "@bigpeer/engine";
import { stringifyJson } from "@bigpeer/protocol";
import type { Config } from "./config.ts";
import { DataGate } from "./data-api/data-gate.ts";
import { executeEndpoint } from "./data-api/execute.ts";
import { markDataFolder, prepareDataFolder } from "./data-folder.ts";
import { acquireFolderLock, type FolderLock } from "./folder-lock.ts";
import { type Health, healthEndpoints } from "./http/health.ts";
import { type HttpServer, listenHttp } from "./http/http-server.ts";
import { Router } from "./http/router.ts";
import { describeError, type Log } from "./log.ts";
import { Maintenance } from "./maintenance.ts";
import { nodePlatform } from "./node-platform.ts";
import { prepareQuickstart, type Quickstart } from "./quickstart.ts";
import { type App, Registry } from "./registry.ts";
import type { StoreFolder, StoreHost } from "./store-folder.ts";
import { VERSION } from "./version.ts";

export interface ServerHost {
  readonly log: Log;
  readonly platform?: Platform;
}

/** An app whose store is open. */
export interface OpenApp extends App {
  readonly storeFolder: StoreFolder;
  readonly statements: StatementRunner;
}

/** Resolves when the server is ready. What was opened before a failure is closed again. */
export function startServer(config: Config, host: ServerHost): Promise<RunningServer> {
  return RunningServer.start(config, host);
}

export class RunningServer {
  readonly #config: Config;
  readonly #host: StoreHost;
  readonly #apps: OpenApp[] = [];
  #lock: FolderLock | undefined;
  #http: HttpServer | undefined;
  #registry: Registry | undefined;
  #maintenance: Maintenance | undefined;
  #quickstart: Quickstart | undefined;
  #health: Health = "starting";
  #closing: Promise<void> | undefined;

  private constructor(config: Config, { log, platform = nodePlatform }: ServerHost) {
    this.#config = config;
    this.#host = { platform, log, options: { isClockAccepted: config.isClockAccepted } };
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

  /** Finishes what was accepted and gives the folder back. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    const { dataDir, host, port } = this.#config;
    prepareDataFolder(dataDir);
    this.#lock = await acquireFolderLock(dataDir);
    markDataFolder(dataDir);
    const { log } = this.#host;
    const router = this.#createRouter();
    this.#http = await listenHttp({ host, port, log, answer: (request) => router.answer(request) });
    const { url } = this.#http;
    this.#lock.announce(url);
    const registry = await Registry.open(dataDir, this.#host);
    this.#registry = registry;
    for (const app of registry.apps()) this.#apps.push(await this.#openApp(registry, app));
    this.#quickstart = await prepareQuickstart({ dataDir, registry, url, log });
    const stores = [registry.storeFolder, ...this.#apps.map((app) => app.storeFolder)];
    this.#maintenance = new Maintenance(stores, log);
    this.#health = "ready";
  }

  async #openApp(registry: Registry, app: App): Promise<OpenApp> {
    const storeFolder = await registry.openAppStore(app);
    const { store } = storeFolder;
    const { platform, log } = this.#host;
    const statements = new StatementRunner({
      store,
      platform,
      appId: app.id,
      limits: { timeMs: this.#config.statementTimeoutMs },
      facts: { info: () => [{ namespace: "core", key: "server_version", value: VERSION }] },
      onSlow: ({ fields }) => log("warn", `slow statement: ${stringifyJson(fields)}`),
    });
    return { ...app, storeFolder, statements };
  }

  #createRouter(): Router {
    const gate = new DataGate(() => {
      if (this.#registry === undefined || this.#health !== "ready") return undefined;
      return { keys: this.#registry.keys, apps: this.#apps };
    });
    return new Router({
      endpoints: healthEndpoints(() => this.#health),
      dataEndpoints: [executeEndpoint(gate)],
      log: this.#host.log,
    });
  }

  async #close(): Promise<void> {
    this.#health = "closing";
    this.#maintenance?.stop();
    await this.#attempt("the HTTP listener", () => this.#http?.close());
    for (const { id, storeFolder } of this.#apps) {
      await this.#attempt(`the store of app ${id}`, () => storeFolder.close());
    }
    await this.#attempt("the registry", () => this.#registry?.close());
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
