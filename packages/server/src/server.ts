/**
 * The server: configuration → parts → listening → closing.
 *
 * Order of the opening: the lock before anything in the folder is touched, the port before the
 * stores (a port in use is told at once, and health can be asked while stores open). Order of the
 * closing: requests, stores, lock. Each part is closed whatever happened to the others.
 */

import type { Platform } from "@bigpeer/engine";
import type { Config } from "./config.ts";
import { markDataFolder, prepareDataFolder } from "./data-folder.ts";
import { acquireFolderLock, type FolderLock } from "./folder-lock.ts";
import { type Health, type HttpServer, listenHttp } from "./http-server.ts";
import { describeError, type Log } from "./log.ts";
import { Maintenance } from "./maintenance.ts";
import { nodePlatform } from "./node-platform.ts";
import { type App, Registry } from "./registry.ts";
import type { StoreFolder, StoreHost } from "./store-folder.ts";

export interface ServerHost {
  readonly log: Log;
  readonly platform?: Platform;
}

/** An app whose store is open. */
export interface OpenApp extends App {
  readonly storeFolder: StoreFolder;
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
    this.#http = await listenHttp({ host, port, log, health: () => this.#health });
    this.#lock.announce(this.#http.url);
    this.#registry = await Registry.open(dataDir, this.#host);
    for (const app of this.#registry.apps()) {
      this.#apps.push({ ...app, storeFolder: await this.#registry.openAppStore(app) });
    }
    const stores = [this.#registry.storeFolder, ...this.#apps.map((app) => app.storeFolder)];
    this.#maintenance = new Maintenance(stores, log);
    this.#health = "ready";
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
