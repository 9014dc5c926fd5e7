/**
 * Management server: serves the management API on a listener of its own: apps, API keys, auth
 * providers, replications, webhooks, sinks, settings and audit logs (M1).
 */

import type { Platform } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { TrustedProxies } from "../address/client-address.ts";
import type { OpenApps } from "../apps/open-apps.ts";
import { FailedCredentials } from "../auth/failed-credentials.ts";
import type { Config } from "../config/config.ts";
import { checkServable } from "../config/servable.ts";
import type { DataApi } from "../data-api/data-api.ts";
import { type Health, healthEndpoints } from "../http/health.ts";
import type { HttpRequest } from "../http/http-request.ts";
import {
  type Answered,
  type HttpServer,
  listenHttp,
  type NamedAnswer,
  type RefusedBound,
} from "../http/http-server.ts";
import { metricsEndpoint } from "../http/metrics-endpoint.ts";
import { type Endpoint, isDataPath, Router } from "../http/router.ts";
import type { Log } from "../observability/log.ts";
import { requestLine } from "../observability/log-events.ts";
import type { Registry } from "../registry/registry.ts";
import { API_KEY_RESOURCES } from "./api-keys-resource.ts";
import { APP_RESOURCES } from "./apps-resource.ts";
import { AUDIT_RESOURCES } from "./audit-resource.ts";
import { CLUSTER_RESOURCES } from "./cluster-resource.ts";
import { COLLECTION_RESOURCES } from "./collections-resource.ts";
import { type ConsoleDataOptions, consoleData } from "./console-data.ts";
import { CONSOLE_RESOURCES } from "./console-session-resource.ts";
import { DELETED_APP_RESOURCES } from "./deleted-apps-resource.ts";
import { DESTINATION_RESOURCES } from "./destinations-resource.ts";
import {
  BIG_PEER,
  checkBigPeer,
  type ManagementHost,
  managementEndpoint,
  type Resource,
} from "./management-endpoint.ts";
import { ManagementGate } from "./management-gate.ts";
import { OPERATION_RESOURCES } from "./operations-resource.ts";
import { OVERVIEW_RESOURCES } from "./overview-resource.ts";
import { PERMISSION_TRY_RESOURCES } from "./permission-try-resource.ts";
import { problemBody } from "./problem.ts";
import { PROVIDER_TEST_RESOURCES } from "./provider-trial-resource.ts";
import { PROVIDER_RESOURCES } from "./providers-resource.ts";
import { REPLICATION_SECRET_RESOURCES } from "./replication-secret-resource.ts";
import { REPLICATION_RESOURCES } from "./replications-resource.ts";
import type { ServerFacts } from "./server-facts.ts";
import { SESSION_KEY_RESOURCES } from "./session-keys-resource.ts";
import { SETTING_RESOURCES } from "./settings-resource.ts";

export const RESOURCES: readonly Resource[] = [
  ...APP_RESOURCES,
  ...DELETED_APP_RESOURCES,
  ...API_KEY_RESOURCES,
  ...REPLICATION_RESOURCES,
  ...REPLICATION_SECRET_RESOURCES,
  ...DESTINATION_RESOURCES,
  ...PROVIDER_RESOURCES,
  ...SETTING_RESOURCES,
  ...SESSION_KEY_RESOURCES,
  ...AUDIT_RESOURCES,
  ...CONSOLE_RESOURCES,
  ...OVERVIEW_RESOURCES,
  ...COLLECTION_RESOURCES,
  ...PERMISSION_TRY_RESOURCES,
  ...PROVIDER_TEST_RESOURCES,
  ...OPERATION_RESOURCES,
  ...CLUSTER_RESOURCES,
];

export interface ManagementOptions {
  /** Must have a management port. */
  readonly config: Config;
  readonly registry: Registry;
  readonly apps: Pick<OpenApps, "closeApp">;
  readonly deliveries?: ManagementHost["deliveries"];
  /** Status of the links of a replication; absent without links. */
  readonly linkStatus?: ManagementHost["linkStatus"];
  readonly log: Log;
  readonly platform: Platform;
  /** URL of the data API, for the answer to a path of it. */
  readonly dataUrl?: () => string | undefined;
  /** Operations on the data of apps; without it there are none. */
  readonly data?: ConsoleDataOptions;
  /** See ManagementHost. */
  readonly facts?: ManagementHost["facts"];
  /** See ManagementHost. */
  readonly consoleLink?: ManagementHost["consoleLink"];
  /** Files of the console, for all other paths. */
  readonly consoleFiles?: (gate: ManagementGate) => Endpoint;
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
  const { gate, endpoints, changes } = managementEndpoints(options);
  const router = new Router({
    endpoints: [...endpoints, ...healthEndpoints(health), ...pages],
    dataEndpoints: [],
    otherwise: options.consoleFiles?.(gate),
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
  // A session may have ended, or an app been deleted.
  options.registry.onChange(() => changes?.registryChanged());
  return new ManagementServer(http, router, changes);
}

export class ManagementServer {
  readonly #http: HttpServer;
  readonly #router: Router;
  readonly #changes: DataApi["changes"] | undefined;

  constructor(http: HttpServer, router: Router, changes: DataApi["changes"] | undefined) {
    this.#http = http;
    this.#router = router;
    this.#changes = changes;
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

  /** Streams of changes of the console. */
  get streams(): Pick<DataApi["changes"], "dismissAll"> | undefined {
    return this.#changes;
  }

  /** Finishes requests in progress within a time limit. Repeated calls are harmless. */
  close(): Promise<void> {
    this.#changes?.close();
    return this.#http.close();
  }
}

interface ManagementEndpoints {
  readonly gate: ManagementGate;
  readonly endpoints: readonly Endpoint[];
  /** Streams of changes of the console. */
  readonly changes: DataApi["changes"] | undefined;
}

function managementEndpoints(options: ManagementOptions): ManagementEndpoints {
  const { config, registry, apps, linkStatus, deliveries, log, data } = options;
  const { platform, passOn, clusterStatus, consoleLink, dataUrl, facts } = options;
  const gate = new ManagementGate({
    adminToken: config.adminToken,
    failed: new FailedCredentials(() => platform.elapsed()),
    platform,
    sessionOf: (text) => registry.console.find(text, config.adminToken),
  });
  const given = { config, registry, apps, linkStatus, deliveries, platform, log };
  const host = { ...given, gate, passOn, clusterStatus, consoleLink, dataUrl, facts };
  const own = RESOURCES.map((resource) => managementEndpoint(host, resource));
  const served = data && consoleData({ config, registry, gate, data });
  const more = facts === undefined ? [] : [managementMetrics(facts, host)];
  const endpoints = [...own, ...more, ...(served?.endpoints ?? [])];
  return { gate, endpoints, changes: served?.changes };
}

/** `…/metrics`: as `/metrics` of the data port, which a browser may not read from this page. */
function managementMetrics({ metrics }: ServerFacts, host: ManagementHost): Endpoint {
  const endpoint = metricsEndpoint(metrics);
  return {
    ...endpoint,
    name: "manage_metrics",
    path: `${BIG_PEER}/metrics`,
    failureBody: problemBody,
    answer: (request, place) => {
      request.identify(host.gate.admit(request).actor);
      checkBigPeer(host.config, place.parameters);
      return endpoint.answer(request, place);
    },
  };
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
