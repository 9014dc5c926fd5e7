/**
 * The management API of a real registry with real stores, as a client sees it. Every answer is held
 * to the OpenAPI document.
 */

import { MemoryPool, TimeSlicer } from "@bigpeer/engine/query";
import { parseJson, type Value } from "@bigpeer/protocol";
import { afterAll, expect } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { OpenApps } from "../../src/apps/open-apps.ts";
import type { Config } from "../../src/config/config.ts";
import { Deliveries } from "../../src/delivery/deliveries.ts";
import { managementPages } from "../../src/documentation/management-pages.ts";
import { type ManagementServer, startManagement } from "../../src/management/management-server.ts";
import { Registry } from "../../src/registry/registry.ts";
import { expectValidManagementAnswer } from "./answer-schema.ts";
import { testConfig } from "./test-config.ts";

export interface ManagementReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Value;
}

/** How the paths of a server with default settings begin. */
export const BIG_PEER = "/namespace/default/bigPeer/big-peer";

export class ManagementApi {
  readonly server: ManagementServer;
  readonly registry: Registry;
  readonly apps: OpenApps;

  constructor(server: ManagementServer, registry: Registry, apps: OpenApps) {
    this.server = server;
    this.registry = registry;
    this.apps = apps;
  }

  /** Sends a request whose path begins below the Big Peer, with a body in JSON if there is one. */
  ask(method: string, path: string, body?: unknown): Promise<ManagementReply> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.send(method, BIG_PEER + path, text);
  }

  /** The body of a request that must succeed. */
  async get(path: string): Promise<Value> {
    return this.must("GET", path);
  }

  /** As get, with any method. */
  async must(method: string, path: string, body?: unknown): Promise<Value> {
    const reply = await this.ask(method, path, body);
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  /** Status and title of a request that must fail. */
  async fail(method: string, path: string, body?: unknown): Promise<string> {
    const { status, body: problem } = await this.ask(method, path, body);
    return `${status} ${(problem as { readonly title?: string }).title}`;
  }

  /** Sends a body as it is to a whole path. */
  send(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: Record<string, string> = { "content-type": "application/json" },
  ): Promise<ManagementReply> {
    return sendTo(this.server.url, method, path, { headers, ...(body !== undefined && { body }) });
  }
}

/** What a reply tells, without its headers. */
export function reported({ status, body }: ManagementReply): Omit<ManagementReply, "headers"> {
  return { status, body };
}

export async function sendTo(
  url: string,
  method: string,
  path: string,
  rest: RequestInit = {},
): Promise<ManagementReply> {
  const response = await fetch(url + path, { method, ...rest });
  const text = await response.text();
  const { status, headers } = response;
  const body = text === "" ? null : parseJson(text);
  if (status >= 400 && method !== "HEAD") {
    expect(body).toEqual({ title: expect.any(String), detail: expect.any(String) });
    expect(headers.get("content-type")).toBe("application/json");
  }
  expectValidManagementAnswer({ method, path, status, headers, body });
  return { status, headers, body };
}

/** One for all tests of a file, closed after them. */
export async function openManagement(changes: Partial<Config> = {}): Promise<ManagementApi> {
  const config = testConfig({ dataDir: folderOfFile(), managementPort: 0, ...changes });
  const { dataDir, attachmentSizeMax, statementTimeoutMs } = config;
  const host = testHost();
  const registry = await Registry.open(dataDir, host);
  const memory = new MemoryPool(1 << 20);
  const turns = new TimeSlicer(
    () => host.platform.pause(),
    () => host.platform.elapsed(),
  );
  const apps = new OpenApps({
    known: registry.apps,
    host: { ...host, dataDir, attachmentSizeMax, statementTimeoutMs, memory, slicer: turns },
    idleMs: 60_000,
  });
  const { log, platform } = host;
  const pages = managementPages({ version: "0.0.0" });
  const deliveries = new Deliveries({
    platform,
    log,
    attemptsMax: config.deliveryAttempts,
    timeoutMs: config.deliveryTimeoutMs,
    isClustered: false,
    changesOf: (app) => app.changes,
  });
  deliveries.start({ registry, apps });
  registry.onChange((change) => deliveries.registryChanged(change));
  const options = { config, registry, apps, deliveries, pages, log, platform };
  const server = await startManagement(options);
  afterAll(async () => {
    await server.close();
    await deliveries.close();
    await apps.close();
    await registry.close();
  });
  return new ManagementApi(server, registry, apps);
}
