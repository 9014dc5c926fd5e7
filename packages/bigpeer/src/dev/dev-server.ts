/**
 * Development server: a server in this process on a folder of its own, which can begin again.
 */

import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Environment, Log, RunningServer } from "@bigpeer/server";
import { type QuickstartFile, readQuickstart } from "../connection/quickstart-file.ts";
import { CommandFailure } from "../program/failure.ts";

export interface DevOptions {
  /** Absolute path of the data folder. */
  readonly folder: string;
  /** Undefined for the usual one, or any free one if that is taken. */
  readonly port: number | undefined;
  readonly env: Environment;
  readonly log: Log;
  /** Called when the server cannot go on. */
  readonly onFatal: (error: unknown) => void;
}

const HOST = "127.0.0.1";
/** Of the data API; the management API has the next one. */
const USUAL_PORT = 8080;

export class DevServer {
  readonly #options: DevOptions;
  #running: RunningServer;

  private constructor(options: DevOptions, running: RunningServer) {
    this.#options = options;
    this.#running = running;
  }

  static async start(options: DevOptions): Promise<DevServer> {
    const port = String(options.port ?? (await findPort()));
    return new DevServer(options, await run(options, { port }));
  }

  get url(): string {
    return this.#running.url;
  }

  get managementUrl(): string | undefined {
    return this.#running.managementUrl;
  }

  /** The link that signs in to the console. */
  get consoleUrl(): string | undefined {
    return this.#running.consoleLink?.url;
  }

  /** The app and its key. */
  get quickstart(): QuickstartFile {
    const found = readQuickstart(join(this.#options.folder, "quickstart.json"));
    if (found?.key !== undefined) return found;
    const message = `no API key in ${this.#options.folder}: delete the folder to begin again`;
    throw new CommandFailure(message);
  }

  /** Deletes all data, and begins again at the same addresses. */
  async reset(): Promise<void> {
    const { url, managementUrl } = this.#running;
    const { port } = new URL(url);
    const management = managementUrl && new URL(managementUrl).port;
    await this.#running.close();
    rmSync(this.#options.folder, { recursive: true, force: true });
    this.#running = await run(this.#options, { port, management });
  }

  close(): Promise<void> {
    return this.#running.close();
  }
}

interface Ports {
  readonly port: string;
  /** Undefined for that of the settings, which is the next one by default. */
  readonly management?: string | undefined;
}

async function run(options: DevOptions, { port, management }: Ports): Promise<RunningServer> {
  const { folder, env, log, onFatal } = options;
  // Loaded on use: other commands need nothing of it.
  const { readConfig, startServer } = await import("@bigpeer/server");
  const flags = new Map([
    ["--data-dir", folder],
    ["--port", port],
    ["--host", HOST],
  ]);
  if (management !== undefined) flags.set("--management-port", management);
  return startServer(readConfig(flags, env), { log, onFatal });
}

async function findPort(): Promise<number> {
  const isFree = (await isPortFree(USUAL_PORT)) && (await isPortFree(USUAL_PORT + 1));
  return isFree ? USUAL_PORT : 0;
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, HOST, () => probe.close(() => resolve(true)));
  });
}
