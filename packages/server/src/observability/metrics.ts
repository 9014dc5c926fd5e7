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
import { ChangeStreamTotals } from "../limits/change-stream-totals.ts";
import { type BackupStats, backupMetricsText } from "./backup-metrics.ts";
import { ChangeMetrics } from "./change-metrics.ts";
import { type ClusterStats, clusterMetricsText } from "./cluster-metrics.ts";
import { ContentMetrics, type ContentTraffic } from "./content-metrics.ts";
import { type DeliveryStats, deliveryMetricsText } from "./delivery-metrics.ts";
import type { DurationHistogram, Durations } from "./duration-histogram.ts";
import { CONTENT_TYPE } from "./exposition.ts";
import { linkMetricsText, type StatsByApp } from "./link-metrics.ts";
import { type Metric, MetricRegistry } from "./metric-registry.ts";
import type {
  CountedRequest,
  EndedRun,
  WatchedApp,
  WatchedStats,
  WatchedSync,
} from "./metric-sources.ts";
import { ProcessMetrics } from "./process-metrics.ts";
import { RecentStats } from "./recent-stats.ts";

export interface MetricsOptions {
  readonly version: string;
  /** Number of requests in progress. */
  readonly requestsInFlight: () => number;
  /** Number of apps, open or not. */
  readonly appsKnown: () => number;
  readonly sync?: WatchedSync;
  readonly links?: () => StatsByApp;
  readonly deliveries?: () => Iterable<DeliveryStats>;
  /** Undefined without backups by schedule. */
  readonly backups?: () => BackupStats | undefined;
  /** Undefined for a server that is alone. */
  readonly cluster?: () => ClusterStats | undefined;
}

const DURATIONS_S = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** Methods with a label of their own; a client may send any text. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A store with more collections does not report its documents: counting would take too long. */
const COLLECTIONS_COUNTED_MAX = 1_000;

export class Metrics {
  readonly #registry = new MetricRegistry();
  readonly #requests: RequestMetrics;
  readonly #apps: AppMetrics;
  readonly #sync: SyncMetrics;
  readonly #remote: RemoteMetrics;
  readonly #contents: ContentMetrics;
  readonly #changes: ChangeMetrics;
  readonly #process: ProcessMetrics;
  /** The open streams of changes, which count themselves. */
  readonly changeStreams: ChangeStreamTotals = new ChangeStreamTotals();
  /** Figures of the last hour. */
  readonly recent: RecentStats;
  readonly #links: () => StatsByApp;
  readonly #deliveries: () => Iterable<DeliveryStats>;
  readonly #backups: () => BackupStats | undefined;
  readonly #cluster: () => ClusterStats | undefined;
  #scraping: Promise<string> | undefined;

  constructor(options: MetricsOptions) {
    this.#links = options.links ?? (() => []);
    this.#deliveries = options.deliveries ?? (() => []);
    this.#backups = options.backups ?? (() => undefined);
    this.#cluster = options.cluster ?? (() => undefined);
    const about = this.#registry.gauge("bigpeer_info", "Always 1; the label is the version.");
    about.set({ version: options.version }, 1);
    this.#requests = new RequestMetrics(this.#registry, options.requestsInFlight);
    this.#apps = new AppMetrics(this.#registry, options.appsKnown, (ms) =>
      this.recent.committed(ms),
    );
    this.#sync = new SyncMetrics(this.#registry, options.sync);
    this.#remote = new RemoteMetrics(this.#registry);
    this.#contents = new ContentMetrics(this.#registry);
    this.#changes = new ChangeMetrics(this.#registry, this.changeStreams);
    this.#process = new ProcessMetrics(this.#registry);
    const { sync } = options;
    this.recent = new RecentStats({
      peers: () => sync?.connectionCount ?? 0,
      syncLagMs: () => syncLagOf(sync, this.#apps.ids),
      linkLagSeconds: () => linkLagOf(this.#links()),
    });
  }

  get contentType(): string {
    return CONTENT_TYPE;
  }

  /** Counts transfers of attachment contents. */
  get contents(): ContentTraffic {
    return this.#contents;
  }

  /** Counts a request. On the path of every request, so it takes less than a microsecond. */
  answered(request: CountedRequest): void {
    this.#requests.answered(request);
    this.recent.requestAnswered();
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
    this.#contents.collect();
    this.#changes.collect(this.#apps.watched);
    this.#process.collect();
    const links = linkMetricsText(this.#links());
    const deliveries = deliveryMetricsText(this.#deliveries());
    const backups = backupMetricsText(this.#backups());
    return (
      this.#registry.text() + links + deliveries + backups + clusterMetricsText(this.#cluster())
    );
  }

  /** Stops watching the process and the apps. Repeated calls are harmless. */
  close(): void {
    this.recent.close();
    this.#process.close();
    this.#apps.close();
  }
}

/** Apps whose lag is read for a point: reading it takes time for each. */
const LAGGING_APPS_MAX = 100;

/** The largest of the open apps. */
function syncLagOf(sync: WatchedSync | undefined, appIds: Iterable<string>): number {
  let lagMs = 0;
  for (const id of [...appIds].slice(0, LAGGING_APPS_MAX)) {
    lagMs = Math.max(lagMs, sync?.statsOf(id)?.lagMs ?? 0);
  }
  return lagMs;
}

/** The largest of all links. */
function linkLagOf(links: StatsByApp): number {
  let seconds = 0;
  for (const [, { lagSeconds }] of links) seconds = Math.max(seconds, lagSeconds);
  return seconds;
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
  readonly #durations: DurationHistogram;
  readonly #requests: Metric;
  readonly #inFlight: Metric;
  readonly #requestBytes: Metric;
  readonly #responseBytes: Metric;
  readonly #failedCredentials: Metric;
  readonly #bounds: Metric;

  constructor(registry: MetricRegistry, countInFlight: () => number) {
    this.#countInFlight = countInFlight;
    const count = (name: string, help: string): Metric => registry.counter(`bigpeer_${name}`, help);
    this.#requests = count("http_requests_total", "Requests answered.");
    this.#durations = registry.histogram({
      name: "bigpeer_http_request_duration_seconds",
      help: "Time from the head of a request to its answer.",
      bounds: DURATIONS_S,
    });
    const inFlight = "Requests without an answer yet.";
    this.#inFlight = registry.gauge("bigpeer_http_requests_in_flight", inFlight);
    this.#requestBytes = count("http_request_bytes_total", "Bytes of request bodies received.");
    this.#responseBytes = count("http_response_bytes_total", "Bytes of response bodies sent.");
    const failed = "Requests with an invalid credential.";
    this.#failedCredentials = count("failed_credentials_total", failed);
    this.#failedCredentials.add({}, 0);
    const refused = "Requests and connections refused or closed because of a limit.";
    this.#bounds = count("bound_refused_total", refused);
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
    this.#failedCredentials.add({});
  }

  boundMet(bound: string): void {
    this.#bounds.add({ bound });
  }

  collect(): void {
    for (const each of [this.#requests, this.#requestBytes, this.#responseBytes]) each.clear();
    for (const [operation, { counts, requestBytes, responseBytes }] of this.#operations) {
      for (const [method, statuses] of counts) {
        for (const [status, count] of statuses) {
          this.#requests.set({ operation, method, status }, count);
        }
      }
      this.#requestBytes.set({ operation }, requestBytes);
      this.#responseBytes.set({ operation }, responseBytes);
    }
    this.#inFlight.set({}, this.#countInFlight());
  }

  #operation(name: string): Operation {
    const known = this.#operations.get(name);
    if (known !== undefined) return known;
    const durations = this.#durations.of({ operation: name });
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
  readonly #commits: Metric;
  readonly #commitDurations: DurationHistogram;
  readonly #commitTransactions: Metric;
  readonly #statements: Metric;
  readonly #stats: ReturnType<typeof appGauges>;
  readonly #countKnown: () => number;
  readonly #onCommit: (elapsedMs: number) => void;
  readonly #known: Metric;
  readonly #open: Metric;

  constructor(
    registry: MetricRegistry,
    countKnown: () => number,
    onCommit: (elapsedMs: number) => void,
  ) {
    this.#countKnown = countKnown;
    this.#onCommit = onCommit;
    this.#known = registry.gauge("bigpeer_apps", "Apps of the server.");
    this.#open = registry.gauge("bigpeer_apps_open", "Apps whose store is open.");
    const count = (name: string, help: string): Metric => registry.counter(`bigpeer_${name}`, help);
    this.#commits = count("commits_total", "Groups of transactions written to disk.");
    this.#commitDurations = registry.histogram({
      name: "bigpeer_commit_duration_seconds",
      help: "Time until a group of transactions is durable.",
      bounds: DURATIONS_S,
    });
    this.#commitTransactions = count("commit_transactions_total", "Durable transactions.");
    this.#statements = count("statements_total", "Statements that ended.");
    this.#stats = appGauges(registry);
  }

  watch(app: WatchedApp): () => void {
    const { id } = app;
    assert(!this.#watches.has(id), "an app is watched once");
    // Each starts at zero, so that the first commit counts as an increase.
    const done = this.#commits.of({ app: id, outcome: "done" });
    const failed = this.#commits.of({ app: id, outcome: "failed" });
    const committed = this.#commitTransactions.of({ app: id });
    const durations = this.#commitDurations.of({ app: id });
    const stop = app.storeFolder.store.onFlush(({ transactions, elapsedMs, isFailed }) => {
      // A flush may complete after the app was removed.
      if (this.#watches.get(id)?.app !== app) return;
      (isFailed ? failed : done).add(1);
      durations.observe(elapsedMs / 1_000);
      this.#onCommit(elapsedMs);
      if (!isFailed) committed.add(transactions);
    });
    const unwatch = (): void => {
      if (this.#watches.get(id)?.app !== app) return;
      this.#watches.delete(id);
      stop();
      this.#forget(id);
    };
    this.#watches.set(id, { app, unwatch });
    return unwatch;
  }

  /** The open apps. */
  get watched(): readonly WatchedApp[] {
    return Array.from(this.#watches.values(), ({ app }) => app);
  }

  /** Ids of the open apps. */
  get ids(): Iterable<string> {
    return this.#watches.keys();
  }

  close(): void {
    for (const { unwatch } of this.#watches.values()) unwatch();
  }

  collect(): void {
    this.#known.set({}, this.#countKnown());
    this.#open.set({}, this.#watches.size);
    for (const each of [this.#statements, ...Object.values(this.#stats)]) each.clear();
    for (const { app } of this.#watches.values()) {
      this.#collectStatements(app);
      this.#stats.partialUploads.set({ app: app.id }, app.attachments.partial.count);
      // A store that is closed or broken has no statistics; the others still do.
      attempt(() => this.#collectStore(app));
      attempt(() => this.#collectFile(app));
    }
  }

  #collectStatements({ id, statements }: WatchedApp): void {
    const { active, completed, failed } = statements.requests.totals;
    this.#stats.statementsActive.set({ app: id }, active);
    this.#statements.set({ app: id, outcome: "completed" }, completed);
    this.#statements.set({ app: id, outcome: "failed" }, failed);
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
      let documents = 0;
      for (const name of view.collections()) documents += view.count(name);
      stats.documents.set(app, documents);
    });
  }

  #collectFile({ id, storeFolder }: WatchedApp): void {
    this.#stats.fileBytes.set({ app: id }, statSync(join(storeFolder.folder, DATA_FILE)).size);
  }

  #forget(app: string): void {
    for (const outcome of ["done", "failed"]) this.#commits.remove({ app, outcome });
    this.#commitTransactions.remove({ app });
    this.#commitDurations.remove({ app });
  }
}

/** Gauges of an app that are set at each scrape. */
function appGauges(registry: MetricRegistry) {
  const measure = (name: string, help: string): Metric => registry.gauge(`bigpeer_${name}`, help);
  return {
    statementsActive: measure("statements_active", "Statements that are running."),
    queueLength: measure("write_queue_length", "Writes that are not durable yet."),
    transactionId: measure("store_transaction_id", "The last durable transaction."),
    documents: measure("store_documents", "Documents of all collections."),
    attachments: measure("attachments", "Attachments that are recorded."),
    partialUploads: measure("attachment_partial_uploads", "Uploads that wait to be continued."),
    logTransactions: measure("store_log_transactions", "Transactions in the change log."),
    logBytes: measure("store_log_bytes", "Approximate size of the change log."),
    fileBytes: measure("store_file_bytes", "Size of the data file."),
  };
}

/** Metrics of connected peers. */
class SyncMetrics {
  readonly #sync: WatchedSync | undefined;
  readonly #connections: Metric;
  readonly #refused: Metric;
  readonly #sentFrames: Metric;
  readonly #receivedFrames: Metric;
  readonly #sentBytes: Metric;
  readonly #receivedBytes: Metric;
  readonly #uploads: Metric;
  readonly #stats: ReturnType<typeof syncGauges>;

  constructor(registry: MetricRegistry, sync: WatchedSync | undefined) {
    this.#sync = sync;
    const connected = "Connected peers, including those that are not authenticated yet.";
    this.#connections = registry.gauge("bigpeer_sync_connections", connected);
    const count = (name: string, help: string): Metric =>
      registry.counter(`bigpeer_sync_${name}_total`, help);
    this.#refused = count("refused", "Peers refused before they were authenticated.");
    this.#sentFrames = count("frames_sent", "Messages sent to peers.");
    this.#receivedFrames = count("frames_received", "Messages received from peers.");
    this.#sentBytes = count("bytes_sent", "Bytes of messages sent to peers.");
    this.#receivedBytes = count("bytes_received", "Bytes of messages received from peers.");
    this.#uploads = count("uploads", "Uploads of peers that have an outcome.");
    this.#stats = syncGauges(registry);
  }

  refused(reason: string): void {
    this.#refused.add({ reason });
  }

  collect(appIds: Iterable<string>): void {
    if (this.#sync === undefined) return;
    const { connectionCount, channels } = this.#sync;
    this.#connections.set({}, connectionCount);
    setTotals(this.#sentFrames, channels.sent.frames);
    setTotals(this.#receivedFrames, channels.received.frames);
    this.#sentBytes.set({}, channels.sent.bytes);
    this.#receivedBytes.set({}, channels.received.bytes);
    for (const each of [this.#uploads, ...Object.values(this.#stats)]) each.clear();
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
      this.#uploads.set({ app, outcome }, count);
    }
  }
}

/** Gauges of the sync of an app that are set at each scrape. */
function syncGauges(registry: MetricRegistry) {
  const measure = (name: string, help: string): Metric =>
    registry.gauge(`bigpeer_sync_${name}`, help);
  return {
    sessions: measure("sessions", "Connections of peers that are authenticated."),
    peers: measure("peers", "Connected peers, each counted once."),
    watchers: measure("watchers", "Peers that observe presence."),
    subscriptions: measure("subscriptions", "Subscriptions of all connected peers."),
    groups: measure("groups", "Different subscriptions."),
    queuedBytes: measure("queued_bytes", "Bytes that wait for peers to read them."),
    behind: measure("behind", "Subscriptions that are behind."),
    lag: measure("lag_seconds", "Time from the last commit to the last message that it caused."),
  };
}

/** Metrics of statements on peers. */
class RemoteMetrics {
  readonly #requests: Metric;
  readonly #durations: Durations;
  readonly #peers: Metric;

  constructor(registry: MetricRegistry) {
    const count = (name: string, help: string): Metric =>
      registry.counter(`bigpeer_remote_execute_${name}_total`, help);
    this.#requests = count("requests", "Remote statements, by how they ended.");
    this.#peers = count("peers", "Target peers of remote statements, by how they answered.");
    const durations = registry.histogram({
      name: "bigpeer_remote_execute_duration_seconds",
      help: "Time until all peers of a remote statement answered or the server stopped waiting.",
      bounds: DURATIONS_S,
    });
    this.#durations = durations.of({});
  }

  ended({ result, elapsedMs, peers }: EndedRun): void {
    this.#requests.add({ result });
    this.#durations.observe(elapsedMs / 1_000);
    for (const answered of peers) this.#peers.add({ result: answered });
  }
}

/** Sets a counter to totals that are counted elsewhere, by kind. */
function setTotals(total: Metric, counts: ReadonlyMap<string, number>): void {
  for (const [kind, count] of counts) total.set({ kind }, count);
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // A value that cannot be read is omitted.
  }
}
