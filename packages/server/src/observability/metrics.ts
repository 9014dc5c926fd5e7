/**
 * Metrics: collects the metrics of a server in the text format of Prometheus.
 *
 * Requests and commits are counted as they happen; the state of stores and the process is read at
 * each scrape. Labels have few values: an endpoint, a method, a status, an app. Each server has a
 * registry of its own. docs/operating.md has the table.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { DATA_FILE } from "@bigpeer/node";
import { assert } from "@bigpeer/protocol";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type ClusterStats, clusterMetricsText } from "./cluster-metrics.ts";
import { DurationHistogram, type Durations } from "./duration-histogram.ts";
import { linkMetricsText, type StatsByApp } from "./link-metrics.ts";
import type {
  CountedRequest,
  EndedRun,
  WatchedApp,
  WatchedStats,
  WatchedSync,
} from "./metric-sources.ts";
import { ProcessStats } from "./process-stats.ts";

export interface MetricsOptions {
  readonly version: string;
  /** Number of requests in progress. */
  readonly requestsInFlight: () => number;
  /** Number of apps, open or not. */
  readonly appsKnown: () => number;
  readonly sync?: WatchedSync;
  readonly links?: () => StatsByApp;
  /** Undefined for a server that is alone. */
  readonly cluster?: () => ClusterStats | undefined;
}

const DURATIONS_S = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const PAUSES_S = [0.001, 0.01, 0.1, 1, 5];

/** Methods with a label of their own; a client may send any text. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A store with more collections does not report its documents: counting would take too long. */
const COLLECTIONS_COUNTED_MAX = 1_000;

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: RequestMetrics;
  readonly #apps: AppMetrics;
  readonly #sync: SyncMetrics;
  readonly #remote: RemoteMetrics;
  readonly #process: ProcessMetrics;
  readonly #links: () => StatsByApp;
  readonly #cluster: () => ClusterStats | undefined;
  #scraping: Promise<string> | undefined;

  constructor(options: MetricsOptions) {
    this.#links = options.links ?? (() => []);
    this.#cluster = options.cluster ?? (() => undefined);
    gauge(this.#registry, "bigpeer_info", "1; the version is the label.", ["version"]).set(
      { version: options.version },
      1,
    );
    this.#requests = new RequestMetrics(this.#registry, options.requestsInFlight);
    this.#apps = new AppMetrics(this.#registry, options.appsKnown);
    this.#sync = new SyncMetrics(this.#registry, options.sync);
    this.#remote = new RemoteMetrics(this.#registry);
    this.#process = new ProcessMetrics(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts a request. On the path of every request, so it takes less than a microsecond. */
  answered(request: CountedRequest): void {
    this.#requests.answered(request);
  }

  /** Counts an invalid credential. */
  credentialFailed(): void {
    this.#requests.credentialFailed();
  }

  /** Counts a request or connection that was refused or closed because of a limit. */
  boundMet(bound: string): void {
    this.#requests.boundMet(bound);
  }

  /** Counts a peer that was refused before it had a session. */
  peerRefused(reason: string): void {
    this.#sync.refused(reason);
  }

  /** Counts a statement on peers, also one that was refused. */
  remoteEnded(run: EndedRun): void {
    this.#remote.ended(run);
  }

  /** Reports an app from now on. Returns a function that removes it. */
  watchApp(app: WatchedApp): () => void {
    return this.#apps.watch(app);
  }

  /** All metrics as text. Concurrent scrapes share one result. */
  scrape(): Promise<string> {
    this.#scraping ??= this.#scrape().finally(() => {
      this.#scraping = undefined;
    });
    return this.#scraping;
  }

  async #scrape(): Promise<string> {
    // Waits for the other requests of this turn of the event loop.
    await setImmediate();
    this.#requests.collect();
    this.#apps.collect();
    this.#sync.collect(this.#apps.ids);
    this.#process.collect();
    const own = `${await this.#registry.metrics()}\n${this.#requests.text()}`;
    return `${own}${linkMetricsText(this.#links())}${clusterMetricsText(this.#cluster())}`;
  }

  /** Stops watching the process and the apps. Repeated calls are harmless. */
  close(): void {
    this.#process.close();
    this.#apps.close();
  }
}

/** Counts of one endpoint. */
interface Operation {
  readonly durations: Durations;
  /** Number of requests by method and status. */
  readonly counts: Map<string, Map<number, number>>;
  requestBytes: number;
  responseBytes: number;
}

/** Metrics of the listeners. Counted here, and copied to the registry at each scrape. */
class RequestMetrics {
  readonly #operations = new Map<string, Operation>();
  readonly #countInFlight: () => number;
  readonly #durations = new DurationHistogram({
    name: "bigpeer_http_request_duration_seconds",
    help: "Time from the head of a request to its answer.",
    label: "operation",
    bounds: DURATIONS_S,
  });
  readonly #requests: Counter;
  readonly #inFlight: Gauge;
  readonly #requestBytes: Counter;
  readonly #responseBytes: Counter;
  readonly #failedCredentials: Counter;
  readonly #bounds: Counter;

  constructor(registry: Registry, countInFlight: () => number) {
    this.#countInFlight = countInFlight;
    const count = (name: string, help: string, ...labels: string[]): Counter =>
      counter(registry, `bigpeer_${name}`, help, labels);
    const labels = ["operation", "method", "status"];
    this.#requests = count("http_requests_total", "Requests answered.", ...labels);
    const inFlight = "Requests that are not answered yet.";
    this.#inFlight = gauge(registry, "bigpeer_http_requests_in_flight", inFlight);
    const came = "Bytes of bodies that came.";
    this.#requestBytes = count("http_request_bytes_total", came, "operation");
    const went = "Bytes of bodies that went out.";
    this.#responseBytes = count("http_response_bytes_total", went, "operation");
    const failed = "Credentials that opened nothing.";
    this.#failedCredentials = count("failed_credentials_total", failed);
    const refused = "Requests and connections refused or cut because of a bound.";
    this.#bounds = count("bound_refused_total", refused, "bound");
  }

  answered(request: CountedRequest): void {
    const { method, status, requestBytes = 0, responseBytes = 0 } = request;
    const operation = this.#operation(request.operation);
    const statuses = statusesOf(operation, METHODS.has(method) ? method : "other");
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    operation.requestBytes += requestBytes;
    operation.responseBytes += responseBytes;
    operation.durations.observe(request.elapsedMs / 1_000);
  }

  credentialFailed(): void {
    this.#failedCredentials.inc();
  }

  boundMet(bound: string): void {
    this.#bounds.inc({ bound });
  }

  collect(): void {
    for (const each of [this.#requests, this.#requestBytes, this.#responseBytes]) each.reset();
    for (const [operation, { counts, requestBytes, responseBytes }] of this.#operations) {
      for (const [method, statuses] of counts) {
        for (const [status, count] of statuses) {
          this.#requests.inc({ operation, method, status }, count);
        }
      }
      this.#requestBytes.inc({ operation }, requestBytes);
      this.#responseBytes.inc({ operation }, responseBytes);
    }
    this.#inFlight.set(this.#countInFlight());
  }

  /** Metrics that are not in the registry. */
  text(): string {
    return this.#durations.text();
  }

  #operation(name: string): Operation {
    const known = this.#operations.get(name);
    if (known !== undefined) return known;
    const durations = this.#durations.of(name);
    const made = { durations, counts: new Map(), requestBytes: 0, responseBytes: 0 };
    this.#operations.set(name, made);
    return made;
  }
}

function statusesOf({ counts }: Operation, method: string): Map<number, number> {
  const known = counts.get(method);
  if (known !== undefined) return known;
  const made = new Map<number, number>();
  counts.set(method, made);
  return made;
}

interface Watch {
  readonly app: WatchedApp;
  readonly unwatch: () => void;
}

/** Metrics of the stores and statements of apps. */
class AppMetrics {
  readonly #watches = new Map<string, Watch>();
  readonly #commits: Counter;
  readonly #commitDurations: Histogram;
  readonly #commitTransactions: Counter;
  readonly #statements: Counter;
  readonly #stats: ReturnType<typeof appGauges>;
  readonly #countKnown: () => number;
  readonly #known: Gauge;
  readonly #open: Gauge;

  constructor(registry: Registry, countKnown: () => number) {
    this.#countKnown = countKnown;
    this.#known = gauge(registry, "bigpeer_apps", "Apps of the server.");
    this.#open = gauge(registry, "bigpeer_apps_open", "Apps whose stores are open.");
    const count = (name: string, help: string, ...labels: string[]): Counter =>
      counter(registry, `bigpeer_${name}`, help, ["app", ...labels]);
    this.#commits = count("commits_total", "Groups of transactions written to disk.", "outcome");
    this.#commitDurations = new Histogram({
      registers: [registry],
      name: "bigpeer_commit_duration_seconds",
      help: "Time until a group of transactions was durable.",
      labelNames: ["app"],
      buckets: DURATIONS_S,
    });
    this.#commitTransactions = count("commit_transactions_total", "Transactions made durable.");
    this.#statements = count("statements_total", "Statements that ended.", "outcome");
    this.#stats = appGauges(registry);
  }

  watch(app: WatchedApp): () => void {
    const { id } = app;
    assert(!this.#watches.has(id), "an app is watched once");
    const labels = { app: id };
    const stop = app.storeFolder.store.onFlush(({ transactions, elapsedMs, isFailed }) => {
      // A flush may complete after the app was removed.
      if (this.#watches.get(id)?.app !== app) return;
      this.#commits.inc({ ...labels, outcome: isFailed ? "failed" : "done" });
      this.#commitDurations.observe(labels, elapsedMs / 1_000);
      if (!isFailed) this.#commitTransactions.inc(labels, transactions);
    });
    const unwatch = (): void => {
      if (this.#watches.get(id)?.app !== app) return;
      this.#watches.delete(id);
      stop();
      this.#forget(id);
    };
    this.#watches.set(id, { app, unwatch });
    this.#begin(id);
    return unwatch;
  }

  /** Ids of the open apps. */
  get ids(): Iterable<string> {
    return this.#watches.keys();
  }

  close(): void {
    for (const { unwatch } of this.#watches.values()) unwatch();
  }

  collect(): void {
    this.#known.set(this.#countKnown());
    this.#open.set(this.#watches.size);
    for (const each of [this.#statements, ...Object.values(this.#stats)]) each.reset();
    for (const { app } of this.#watches.values()) {
      this.#collectStatements(app);
      // A store that is closed or broken has no statistics; the others still do.
      attempt(() => this.#collectStore(app));
      attempt(() => this.#collectFile(app));
    }
  }

  #collectStatements({ id, statements }: WatchedApp): void {
    const { active, completed, failed } = statements.requests.totals;
    this.#stats.statementsActive.set({ app: id }, active);
    this.#statements.inc({ app: id, outcome: "completed" }, completed);
    this.#statements.inc({ app: id, outcome: "failed" }, failed);
  }

  #collectStore({ id, storeFolder: { store } }: WatchedApp): void {
    const app = { app: id };
    const stats = this.#stats;
    store.read((view) => {
      const { head } = view;
      stats.queueLength.set(app, store.stats().queueLength);
      stats.transactionId.set(app, head.txnId);
      stats.attachments.set(app, head.attachments ?? 0);
      stats.logTransactions.set(app, head.logCount);
      stats.logBytes.set(app, head.logBytes);
      if (head.collections > COLLECTIONS_COUNTED_MAX) return;
      stats.documents.set(app, 0);
      for (const name of view.collections()) stats.documents.inc(app, view.count(name));
    });
  }

  #collectFile({ id, storeFolder }: WatchedApp): void {
    this.#stats.fileBytes.set({ app: id }, statSync(join(storeFolder.folder, DATA_FILE)).size);
  }

  /** Starts at zero, so that the first commit counts as an increase. */
  #begin(app: string): void {
    for (const outcome of ["done", "failed"]) this.#commits.inc({ app, outcome }, 0);
    this.#commitTransactions.inc({ app }, 0);
    this.#commitDurations.zero({ app });
  }

  #forget(app: string): void {
    for (const outcome of ["done", "failed"]) this.#commits.remove({ app, outcome });
    this.#commitTransactions.remove({ app });
    this.#commitDurations.remove({ app });
  }
}

/** Gauges of an app that are set at each scrape. */
function appGauges(registry: Registry) {
  const measure = (name: string, help: string): Gauge =>
    gauge(registry, `bigpeer_${name}`, help, ["app"]);
  return {
    statementsActive: measure("statements_active", "Statements that run now."),
    queueLength: measure("write_queue_length", "Writes that are not durable yet."),
    transactionId: measure("store_transaction_id", "The last durable transaction."),
    documents: measure("store_documents", "Documents of all collections."),
    attachments: measure("attachments", "Attachments that are recorded."),
    logTransactions: measure("store_log_transactions", "Transactions in the change log."),
    logBytes: measure("store_log_bytes", "Approximate size of the change log."),
    fileBytes: measure("store_file_bytes", "Size of the data file."),
  };
}

/** Metrics of connected peers. */
class SyncMetrics {
  readonly #sync: WatchedSync | undefined;
  readonly #connections: Gauge;
  readonly #refused: Counter;
  readonly #sentFrames: Counter;
  readonly #receivedFrames: Counter;
  readonly #sentBytes: Counter;
  readonly #receivedBytes: Counter;
  readonly #uploads: Counter;
  readonly #stats: ReturnType<typeof syncGauges>;

  constructor(registry: Registry, sync: WatchedSync | undefined) {
    this.#sync = sync;
    const connected = "Peers that are connected, known or not.";
    this.#connections = gauge(registry, "bigpeer_sync_connections", connected);
    const count = (name: string, help: string, ...labels: string[]): Counter =>
      counter(registry, `bigpeer_sync_${name}_total`, help, labels);
    this.#refused = count("refused", "Peers sent away before they had a session.", "reason");
    this.#sentFrames = count("frames_sent", "Messages to peers.", "kind");
    this.#receivedFrames = count("frames_received", "Messages of peers.", "kind");
    this.#sentBytes = count("bytes_sent", "Bytes of messages to peers.");
    this.#receivedBytes = count("bytes_received", "Bytes of messages of peers.");
    this.#uploads = count("uploads", "Uploads that have an outcome.", "app", "outcome");
    this.#stats = syncGauges(registry);
  }

  refused(reason: string): void {
    this.#refused.inc({ reason });
  }

  collect(appIds: Iterable<string>): void {
    if (this.#sync === undefined) return;
    const { connectionCount, channels } = this.#sync;
    this.#connections.set(connectionCount);
    setTotals(this.#sentFrames, channels.sent.frames);
    setTotals(this.#receivedFrames, channels.received.frames);
    setTotal(this.#sentBytes, channels.sent.bytes);
    setTotal(this.#receivedBytes, channels.received.bytes);
    for (const each of [this.#uploads, ...Object.values(this.#stats)]) each.reset();
    for (const app of appIds) this.#collectApp(app, this.#sync.statsOf(app));
  }

  #collectApp(app: string, stats: WatchedStats | undefined): void {
    if (stats === undefined) return;
    const { sessions, subscriptions, groups, bytesQueued, behind, lagMs, uploads } = stats;
    this.#stats.sessions.set({ app }, sessions);
    this.#stats.peers.set({ app }, stats.peers);
    this.#stats.watchers.set({ app }, stats.watchers);
    this.#stats.subscriptions.set({ app }, subscriptions);
    this.#stats.groups.set({ app }, groups);
    this.#stats.queuedBytes.set({ app }, bytesQueued);
    this.#stats.behind.set({ app }, behind);
    this.#stats.lag.set({ app }, lagMs / 1_000);
    for (const [outcome, count] of Object.entries(uploads)) {
      this.#uploads.inc({ app, outcome }, count);
    }
  }
}

/** Gauges of the sync of an app that are set at each scrape. */
function syncGauges(registry: Registry) {
  const measure = (name: string, help: string): Gauge =>
    gauge(registry, `bigpeer_sync_${name}`, help, ["app"]);
  return {
    sessions: measure("sessions", "Connections that have a session."),
    peers: measure("peers", "Peers that are connected, each counted once."),
    watchers: measure("watchers", "Peers that want to know who is there."),
    subscriptions: measure("subscriptions", "Subscriptions of all sessions."),
    groups: measure("groups", "Filters that differ, over all subscriptions."),
    queuedBytes: measure("queued_bytes", "Bytes that peers have not taken yet."),
    behind: measure("behind", "Subscriptions that are behind."),
    lag: measure("lag_seconds", "Time from the last commit to the last message of it."),
  };
}

/** Metrics of statements on peers. */
class RemoteMetrics {
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #peers: Counter;

  constructor(registry: Registry) {
    const count = (name: string, help: string): Counter =>
      counter(registry, `bigpeer_remote_execute_${name}_total`, help, ["result"]);
    this.#requests = count("requests", "Statements for connected peers, by how they ended.");
    this.#peers = count("peers", "Peers that a statement was run on, by how they answered.");
    this.#durations = new Histogram({
      registers: [registry],
      name: "bigpeer_remote_execute_duration_seconds",
      help: "Time until all peers of a statement had answered, or were not waited for.",
      buckets: DURATIONS_S,
    });
  }

  ended({ result, elapsedMs, peers }: EndedRun): void {
    this.#requests.inc({ result });
    this.#durations.observe(elapsedMs / 1_000);
    for (const answered of peers) this.#peers.inc({ result: answered });
  }
}

/** Metrics of the process, under the names that dashboards for Node expect. */
class ProcessMetrics {
  readonly #stats: ProcessStats;
  readonly #cpu: Counter;
  readonly #cpuUser: Counter;
  readonly #cpuSystem: Counter;
  readonly #start: Gauge;
  readonly #resident: Gauge;
  readonly #openFiles: Gauge;
  readonly #heapTotal: Gauge;
  readonly #heapUsed: Gauge;
  readonly #external: Gauge;
  readonly #lag: { readonly [name in "mean" | "p50" | "p99" | "max"]: Gauge };

  constructor(registry: Registry) {
    const measure = (name: string, help: string): Gauge => gauge(registry, name, help);
    const cpu = (part: string): Counter =>
      counter(registry, `process_cpu_${part}seconds_total`, "Time on a processor.");
    const lag = (part: string): Gauge =>
      measure(
        `nodejs_eventloop_lag_${part}_seconds`,
        "Lateness of the event loop since last read.",
      );
    this.#cpu = cpu("");
    this.#cpuUser = cpu("user_");
    this.#cpuSystem = cpu("system_");
    this.#start = measure("process_start_time_seconds", "When the process began, since 1970.");
    this.#resident = measure("process_resident_memory_bytes", "Memory of the process.");
    this.#openFiles = measure("process_open_fds", "Open files and connections.");
    this.#heapTotal = measure("nodejs_heap_size_total_bytes", "Memory for JavaScript values.");
    this.#heapUsed = measure("nodejs_heap_size_used_bytes", "Memory of JavaScript values.");
    this.#external = measure("nodejs_external_memory_bytes", "Memory of buffers.");
    this.#lag = { mean: lag("mean"), p50: lag("p50"), p99: lag("p99"), max: lag("max") };
    const pauses = new Histogram({
      registers: [registry],
      name: "nodejs_gc_duration_seconds",
      help: "Pauses of the garbage collector.",
      labelNames: ["kind"],
      buckets: PAUSES_S,
    });
    this.#stats = new ProcessStats((kind, seconds) => pauses.observe({ kind }, seconds));
  }

  collect(): void {
    const reading = this.#stats.read();
    const { cpuUserSeconds, cpuSystemSeconds, openFiles, loopLag } = reading;
    setTotal(this.#cpu, cpuUserSeconds + cpuSystemSeconds);
    setTotal(this.#cpuUser, cpuUserSeconds);
    setTotal(this.#cpuSystem, cpuSystemSeconds);
    this.#start.set(reading.startSeconds);
    this.#resident.set(reading.residentBytes);
    if (openFiles !== undefined) this.#openFiles.set(openFiles);
    this.#heapTotal.set(reading.heapTotalBytes);
    this.#heapUsed.set(reading.heapUsedBytes);
    this.#external.set(reading.externalBytes);
    this.#lag.mean.set(loopLag.mean);
    this.#lag.p50.set(loopLag.p50);
    this.#lag.p99.set(loopLag.p99);
    this.#lag.max.set(loopLag.max);
  }

  close(): void {
    this.#stats.close();
  }
}

function counter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[] = [],
): Counter {
  return new Counter({ registers: [registry], name, help, labelNames });
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[] = [],
): Gauge {
  return new Gauge({ registers: [registry], name, help, labelNames });
}

/** Sets a counter to a total that is counted elsewhere. */
function setTotal(total: Counter, value: number): void {
  total.reset();
  total.inc(value);
}

/** The same by kind. */
function setTotals(total: Counter, counts: ReadonlyMap<string, number>): void {
  total.reset();
  for (const [kind, count] of counts) total.inc({ kind }, count);
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // A value that cannot be read is omitted.
  }
}
