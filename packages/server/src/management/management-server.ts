/**
 * Management server: serves the management API on a listener of its own: apps, API keys, auth
 * providers, replications, settings and audit logs (M1).
 */

import type { Platform } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { TrustedProxies } from "../address/client-address.ts";
import type { OpenApps } from "../apps/open-apps.ts";
import { FailedCredentials } from "../auth/failed-credentials.ts";
import { type Config, checkServable } from "../config/config.ts";
import { type Health, healthEndpoints } from "../http/health.ts";
import type { HttpRequest } from "../http/http-request.ts";
import {
  type Answered,
  type HttpServer,
  listenHttp,
  type NamedAnswer,
  type RefusedBound,
} from "../http/http-server.ts";
import { type Endpoint, isDataPath, Router } from "../http/router.ts";
import type { Log } from "../observability/log.ts";
import { requestLine } from "../observability/log-events.ts";
import type { Registry } from "../registry/registry.ts";
import { API_KEY_RESOURCES } from "./api-keys-resource.ts";
import { APP_RESOURCES } from "./apps-resource.ts";
import { AUDIT_RESOURCES } from "./audit-resource.ts";
import { CLUSTER_RESOURCES } from "./cluster-resource.ts";
import { DELETED_APP_RESOURCES } from "./deleted-apps-resource.ts";
import { type ManagementHost, managementEndpoint, type Resource } from "./management-endpoint.ts";
import { ManagementGate } from "./management-gate.ts";
import { problemBody } from "./problem.ts";
import { PROVIDER_RESOURCES } from "./providers-resource.ts";
import { REPLICATION_SECRET_RESOURCES } from "./replication-secret-resource.ts";
import { REPLICATION_RESOURCES } from "./replications-resource.ts";
import { SESSION_KEY_RESOURCES } from "./session-keys-resource.ts";
import { SETTING_RESOURCES } from "./settings-resource.ts";

export const RESOURCES: readonly Resource[] = [
  ...APP_RESOURCES,
  ...DELETED_APP_RESOURCES,
  ...API_KEY_RESOURCES,
  ...REPLICATION_RESOURCES,
  ...REPLICATION_SECRET_RESOURCES,
  ...PROVIDER_RESOURCES,
  ...SETTING_RESOURCES,
  ...SESSION_KEY_RESOURCES,
  ...AUDIT_RESOURCES,
  ...CLUSTER_RESOURCES,
];

export interface ManagementOptions {
  /** Must have a management port. */
  readonly config: Config;
  readonly registry: Registry;
  readonly apps: Pick<OpenApps, "closeApp">;
  /** Status of the links of a replication; absent without links. */
  readonly linkStatus?: ManagementHost["linkStatus"];
  readonly log: Log;
  readonly platform: Platform;
  /** URL of the data API, for the answer to a path of it. */
  readonly dataUrl?: () => string | undefined;
  /** Endpoints beside the API, for everyone: its OpenAPI document and the page to try it. */
  readonly pages?: readonly Endpoint[];
  /** State for `/readyz`. */
  readonly health?: () => Health;
  /** See HttpOptions. */
  readonly onRefused?: (bound: RefusedBound) => void;
  /** Called for every answer; by default answers are logged. */
  readonly onAnswered?: (answered: Answered) => void;
  /** See ManagementHost. */
  readonly passOn?: ManagementHost["passOn"];
  readonly clusterStatus?: ManagementHost["clusterStatus"];
}

/** Resolves when it listens. Throws PeerError `config.invalid` when it must not or cannot. */
export async function startManagement(options: ManagementOptions): Promise<ManagementServer> {
  const { config, log, pages = [], health = () => "ready" as const } = options;
  const { managementHost: host, managementPort: port, tls, trustedProxies } = config;
  assert(port !== undefined, "a port for the management API");
  checkServable(config);
  const router = new Router({
    endpoints: [...managementEndpoints(options), ...healthEndpoints(health), ...pages],
    dataEndpoints: [],
    elsewhere: (path) => elsewhere(path, options.dataUrl?.()),
    failureBody: problemBody,
    log,
  });
  const http = await listenHttp({
    host,
    port,
    log,
    proxies: new TrustedProxies(trustedProxies),
    ...(options.onRefused && { onRefused: options.onRefused }),
    ...(tls && { tls }),
    answer: (request) => router.answer(request),
    onAnswered: options.onAnswered ?? ((answered) => noteAnswer(log, answered)),
  }).catch((error: unknown) => {
    throw asManagementSetting(error);
  });
  return new ManagementServer(http, router);
}

export class ManagementServer {
  readonly #http: HttpServer;
  readonly #router: Router;

  constructor(http: HttpServer, router: Router) {
    this.#http = http;
    this.#router = router;
  }

  /** Answers a request that another node passed on. */
  answer(request: HttpRequest): Promise<NamedAnswer> {
    return this.#router.answer(request);
  }

  /** URL of the listener, also after it has closed. */
  get url(): string {
    return this.#http.url;
  }

  /** Requests in progress. */
  get requestCount(): number {
    return this.#http.requestCount;
  }

  /** See HttpServer. */
  reloadTls(): void {
    this.#http.reloadTls();
  }

  /** Finishes requests in progress within a time limit. Repeated calls are harmless. */
  close(): Promise<void> {
    return this.#http.close();
  }
}

function managementEndpoints(options: ManagementOptions) {
  const { config, registry, apps, linkStatus, log, platform, passOn, clusterStatus } = options;
  const gate = new ManagementGate({
    adminToken: config.adminToken,
    failed: new FailedCredentials(() => platform.elapsed()),
    platform,
  });
  const host = { config, registry, apps, linkStatus, gate, platform, log, passOn, clusterStatus };
  return RESOURCES.map((resource) => managementEndpoint(host, resource));
}

/** Hint of the data listener for paths of this API. It does not reveal the address. */
export function managementElsewhere(path: string): string | undefined {
  if (!path.startsWith("/namespace/")) return undefined;
  return "this is the data API; the management API has a port of its own (the setting management-port)";
}

/** Paths of the data listener beside the data API. */
const DATA_PORT_PATH = /^(?:\/docs(?:\/.*)?|\/metrics|(?:\/[^/]+)?(?:\/sync|\/auth\/login))$/;

function elsewhere(path: string, dataUrl: string | undefined): string | undefined {
  if (!isDataPath(path) && !DATA_PORT_PATH.test(path)) return undefined;
  const where = dataUrl === undefined ? "at the port of the setting port" : `at ${dataUrl}`;
  return `this is the management API; the data API is ${where}`;
}

function noteAnswer(log: Log, { request, operation, status, elapsedMs }: Answered): void {
  const { id: requestId, method, remoteAddress } = request;
  requestLine(log, { requestId, operation, method, status, elapsedMs, remoteAddress });
}

/** The listener names the settings of the data listener; rename them. */
function asManagementSetting(error: unknown): unknown {
  if (!(error instanceof PeerError) || error.code !== "config.invalid") return error;
  const message = error.message.replace(/--(host|port)\b/, "--management-$1");
  return new PeerError(error.code, message, { cause: error.cause });
}
