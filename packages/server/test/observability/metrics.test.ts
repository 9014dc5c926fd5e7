/**
 * What the metrics tell of requests, apps and the process, in a text that can be read line by line.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ChangeFeed } from "@bigpeer/engine/changes";
import { StatementRunner } from "@bigpeer/engine/query";
import { MemoryDisk, MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { createStore, nodePlatform } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { metricsEndpoint } from "../../src/http/metrics-endpoint.ts";
import { Router } from "../../src/http/router.ts";
import type { WatchedApp } from "../../src/observability/metric-sources.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { type Exposition, readExposition } from "../support/exposition.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

function openMetrics(requestsInFlight = 0): Metrics {
  const metrics = new Metrics({
    version: "1.2.3",
    requestsInFlight: () => requestsInFlight,
    appsKnown: () => 3,
    cluster: () => ({
      nodes: 3,
      ageSeconds: 0.5,
      stores: [
        { store: "registry", isEvaluating: true, sequence: 7 },
        { store: "a1", isEvaluating: false, sequence: 9 },
      ],
    }),
    backups: () => ({
      done: 4,
      failed: 1,
      lastMs: 1_500,
      lastSizeBytes: 7,
      lastDurationMs: 250,
    }),
  });
  metrics.changeStreams.shares.take("app key", 4);
  metrics.changeStreams.lineCount = 17;
  onTestFinished(() => metrics.close());
  return metrics;
}

async function read(metrics: Metrics): Promise<Exposition> {
  return readExposition(await metrics.scrape());
}

/** The samples whose names begin so; of a histogram not its buckets. */
async function samplesOf(metrics: Metrics, prefix: string): Promise<Record<string, number>> {
  const { samples } = await read(metrics);
  const entries = [...samples].filter(
    ([name]) => name.startsWith(prefix) && !name.includes("_bucket{"),
  );
  return Object.fromEntries(entries);
}

interface MemoryApp extends WatchedApp {
  readonly disk: MemoryDisk;
  readonly storage: MemoryKeyValue;
  readonly statements: StatementRunner;
  readonly changes: ChangeFeed;
}

/** An app in memory: it has a folder, and no data file in it. */
async function memoryApp(id: string): Promise<MemoryApp> {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  const store = await Store.open(storage, nodePlatform);
  const statements = new StatementRunner({ store, platform: nodePlatform, appId: id });
  const storeFolder = { store, folder: temporaryFolder() };
  const attachments = { partial: { count: 2 } };
  const changes = new ChangeFeed({ store, platform: nodePlatform, appId: id });
  onTestFinished(() => changes.close());
  return { id, storeFolder, statements, attachments, changes, disk, storage };
}

const INSERT = "INSERT INTO cars DOCUMENTS ({'doors': 3}), ({'doors': 5})";

test("every line of the text can be parsed, and every metric has its help and type", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  metrics.answered({ operation: "execute", method: "POST", status: 200, elapsedMs: 1 });
  await app.statements.execute({ statement: INSERT });
  const { samples, types } = await read(metrics);
  expect(samples.get('bigpeer_info{version="1.2.3"}')).toBe(1);
  expect(new Set(types.values())).toEqual(new Set(["gauge", "counter", "histogram"]));
  for (const [name, type] of types) {
    expect(name).toMatch(/^(bigpeer|process|nodejs)_[a-z0-9_]+$/);
    expect({ name, isCounter: type === "counter" }).toEqual({
      name,
      isCounter: name.endsWith("_total"),
    });
  }
});

test("the table of the manual has every metric with its type, and no other", async () => {
  const { types } = await read(openMetrics());
  const manual = readFileSync(new URL("../../../../docs/operating.md", import.meta.url), "utf8");
  const rows = manual.matchAll(
    /^\| `((?:bigpeer|process|nodejs)_\w+)(?:\{[\w, ]+\})?` \| (\w+) \|/gm,
  );
  const reported = Array.from(rows, ([, name, type]) => `${name} ${type}`);
  expect(reported.toSorted()).toEqual(Array.from(types, (each) => each.join(" ")).toSorted());
});

test("a node of a cluster shows the nodes, its age, and what it evaluates", async () => {
  expect(await samplesOf(openMetrics(), "bigpeer_cluster_")).toEqual({
    bigpeer_cluster_nodes: 3,
    bigpeer_cluster_age_seconds: 0.5,
    'bigpeer_cluster_evaluating{store="registry"}': 1,
    'bigpeer_cluster_evaluating{store="a1"}': 0,
    'bigpeer_cluster_sequence{store="registry"}': 7,
    'bigpeer_cluster_sequence{store="a1"}': 9,
  });
});

test("backups by schedule are counted, with the time, duration and size of the last one", async () => {
  expect(await samplesOf(openMetrics(), "bigpeer_backup")).toEqual({
    'bigpeer_backups_total{outcome="done"}': 4,
    'bigpeer_backups_total{outcome="failed"}': 1,
    bigpeer_backup_last_timestamp_seconds: 1.5,
    bigpeer_backup_last_duration_seconds: 0.25,
    bigpeer_backup_last_bytes: 7,
  });
});

test("requests are counted by operation, method and status, with their time and bytes", async () => {
  const metrics = openMetrics(7);
  const request = { operation: "execute", method: "POST", status: 200 };
  metrics.answered({ ...request, elapsedMs: 2, requestBytes: 100, responseBytes: 1_000 });
  metrics.answered({ ...request, elapsedMs: 3, requestBytes: 50, responseBytes: 500 });
  metrics.answered({ ...request, status: 400, elapsedMs: 1_000 });
  const label = '{operation="execute"}';
  const expected = {
    'bigpeer_http_requests_total{method="POST",operation="execute",status="200"}': 2,
    'bigpeer_http_requests_total{method="POST",operation="execute",status="400"}': 1,
    [`bigpeer_http_request_duration_seconds_sum${label}`]: 1.005,
    [`bigpeer_http_request_duration_seconds_count${label}`]: 3,
    bigpeer_http_requests_in_flight: 7,
    [`bigpeer_http_request_bytes_total${label}`]: 150,
    [`bigpeer_http_response_bytes_total${label}`]: 1_500,
  };
  expect(await samplesOf(metrics, "bigpeer_http")).toEqual(expected);
  // Reading changes nothing.
  expect(await samplesOf(metrics, "bigpeer_http")).toEqual(expected);
  const { samples } = await read(metrics);
  const bucket = (le: string): number | undefined =>
    samples.get(`bigpeer_http_request_duration_seconds_bucket{le="${le}",operation="execute"}`);
  expect(["0.0005", "0.001", "0.0025", "0.005", "0.5", "1", "30", "+Inf"].map(bucket)).toEqual([
    0, 0, 1, 2, 2, 3, 3, 3,
  ]);
});

test("all unknown methods are counted as one", async () => {
  const metrics = openMetrics();
  for (const method of ["GET", "BREW", "M-SEARCH", 'X"\n', "get"]) {
    metrics.answered({ operation: "none", method, status: 404, elapsedMs: 1 });
  }
  expect(await samplesOf(metrics, "bigpeer_http_requests_total")).toEqual({
    'bigpeer_http_requests_total{method="GET",operation="none",status="404"}': 1,
    'bigpeer_http_requests_total{method="other",operation="none",status="404"}': 4,
  });
});

test("failed credentials are counted", async () => {
  const metrics = openMetrics();
  metrics.credentialFailed();
  metrics.credentialFailed();
  expect(await samplesOf(metrics, "bigpeer_failed")).toEqual({
    bigpeer_failed_credentials_total: 2,
  });
});

test("metrics of an app cover its store and its statements", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  await app.statements.execute({ statement: INSERT });
  await app.statements.execute({ statement: "SELECT * FROM cars" });
  await expect(app.statements.execute({ statement: "SELECT" })).rejects.toThrow(PeerError);
  const { logBytes } = app.storeFolder.store.read(({ head }) => head);
  const samples = await samplesOf(metrics, "bigpeer_st");
  expect(samples).toEqual({
    'bigpeer_statements_total{app="a1",outcome="completed"}': 2,
    'bigpeer_statements_total{app="a1",outcome="failed"}': 1,
    'bigpeer_statements_active{app="a1"}': 0,
    'bigpeer_store_transaction_id{app="a1"}': 1,
    'bigpeer_store_documents{app="a1"}': 2,
    'bigpeer_store_log_transactions{app="a1"}': 1,
    'bigpeer_store_log_bytes{app="a1"}': logBytes,
  });
});

test("apps and open apps are counted", async () => {
  const metrics = openMetrics();
  const unwatch = metrics.watchApp(await memoryApp("a1"));
  const counted = async (): Promise<unknown> => samplesOf(metrics, "bigpeer_apps");
  expect(await counted()).toEqual({ bigpeer_apps: 3, bigpeer_apps_open: 1 });
  unwatch();
  expect(await counted()).toEqual({ bigpeer_apps: 3, bigpeer_apps_open: 0 });
});

test("an empty app has metrics of zero", async () => {
  const metrics = openMetrics();
  metrics.watchApp(await memoryApp("a1"));
  const { samples } = await read(metrics);
  for (const name of ["store_documents", "commit_transactions_total", "attachments"]) {
    expect(samples.get(`bigpeer_${name}{app="a1"}`)).toBe(0);
  }
  expect(samples.get('bigpeer_commits_total{app="a1",outcome="done"}')).toBe(0);
  expect(samples.get('bigpeer_commit_duration_seconds_count{app="a1"}')).toBe(0);
});

test("documents of a store with very many collections are not listed", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  await app.storeFolder.store.transact((transaction) => {
    for (let i = 0; i <= 1_000; i++) {
      transaction.apply([{ kind: "insert", collection: `c${i}`, id: "d", fields: {} }]);
    }
  });
  const { samples } = await read(metrics);
  expect(samples.has('bigpeer_store_documents{app="a1"}')).toBe(false);
  expect(samples.get('bigpeer_store_transaction_id{app="a1"}')).toBe(1);
});

test("commits are counted, with their transactions and failures", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  const execute = (): Promise<unknown> => app.statements.execute({ statement: INSERT });
  await execute();
  await Promise.all([execute(), execute(), execute()]);
  app.disk.failNextWrite("store.write_failed");
  await expect(execute()).rejects.toThrow(PeerError);
  await vi.waitFor(async () => {
    const samples = await samplesOf(metrics, "bigpeer_commit");
    const done = samples['bigpeer_commits_total{app="a1",outcome="done"}'] ?? 0;
    expect(samples).toEqual({
      'bigpeer_commits_total{app="a1",outcome="done"}': done,
      'bigpeer_commits_total{app="a1",outcome="failed"}': 1,
      'bigpeer_commit_transactions_total{app="a1"}': 4,
      'bigpeer_commit_duration_seconds_count{app="a1"}': done + 1,
      'bigpeer_commit_duration_seconds_sum{app="a1"}': expect.any(Number),
    });
    // The three came together: how they are grouped is the matter of the store.
    expect(done).toBeGreaterThanOrEqual(2);
    expect(done).toBeLessThanOrEqual(4);
  });
});

test("waiting writes and running statements are shown while they last", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  app.disk.holdSyncs();
  const done = app.statements.execute({ statement: INSERT });
  await vi.waitFor(() => expect(app.disk.unsyncedCount).toBe(1));
  const { samples } = await read(metrics);
  expect(samples.get('bigpeer_write_queue_length{app="a1"}')).toBe(1);
  expect(samples.get('bigpeer_statements_active{app="a1"}')).toBe(1);
  app.disk.releaseSyncs();
  await done;
  expect(await samplesOf(metrics, "bigpeer_write_queue")).toEqual({
    'bigpeer_write_queue_length{app="a1"}': 0,
  });
});

test("readers of changes are counted with their filters and the lines that are kept", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("a1");
  metrics.watchApp(app);
  const open = () => app.changes.open({ collection: "cars" });
  const readers = [open(), open(), app.changes.open({ collection: "cars", query: "doors > 4" })];
  await app.statements.execute({ statement: INSERT });
  let length = 0;
  for (const reader of readers.slice(1)) {
    const { lines } = await reader.next();
    for (const { json } of lines) length += json.length;
  }
  expect(length).toBeGreaterThan(0);
  expect(await samplesOf(metrics, "bigpeer_changes_")).toEqual({
    bigpeer_changes_streams: 4,
    bigpeer_changes_lines_total: 17,
    'bigpeer_changes_readers{app="a1"}': 3,
    'bigpeer_changes_groups{app="a1"}': 2,
    'bigpeer_changes_kept_bytes{app="a1"}': length,
  });
  for (const reader of readers) reader.close();
  expect(await samplesOf(metrics, "bigpeer_changes_groups")).toEqual({
    'bigpeer_changes_groups{app="a1"}': 0,
  });
});

test("the size of the data file is shown", async () => {
  const metrics = openMetrics();
  const folder = join(temporaryFolder(), "store");
  const storeFolder = await createStore(folder, testHost());
  const { store } = storeFolder;
  const statements = new StatementRunner({ store, platform: nodePlatform, appId: "a1" });
  const changes = new ChangeFeed({ store, platform: nodePlatform, appId: "a1" });
  const attachments = { partial: { count: 0 } };
  metrics.watchApp({ id: "a1", storeFolder, statements, attachments, changes });
  const { samples } = await read(metrics);
  expect(samples.get('bigpeer_store_file_bytes{app="a1"}')).toBeGreaterThan(0);
  await storeFolder.close();
  const { samples: later } = await read(metrics);
  expect(later.has('bigpeer_store_documents{app="a1"}')).toBe(false);
});

test("an app whose store is closed has no store metrics, and the others have theirs", async () => {
  const metrics = openMetrics();
  const closed = await memoryApp("a1");
  const open = await memoryApp("a2");
  for (const app of [closed, open]) metrics.watchApp(app);
  await closed.storeFolder.store.close();
  await closed.storage.close();
  expect(await samplesOf(metrics, "bigpeer_store_documents")).toEqual({
    'bigpeer_store_documents{app="a2"}': 0,
  });
});

test("an app that is no longer watched leaves nothing behind", async () => {
  const metrics = openMetrics();
  const app = await memoryApp("gone");
  const unwatch = metrics.watchApp(app);
  metrics.watchApp(await memoryApp("stays"));
  await app.statements.execute({ statement: INSERT });
  unwatch();
  unwatch();
  await app.statements.execute({ statement: INSERT });
  const text = await metrics.scrape();
  expect(text).not.toContain("gone");
  expect(text).toContain('bigpeer_store_documents{app="stays"} 0\n');
  // Its id may come again, for another one.
  metrics.watchApp(await memoryApp("gone"));
  expect(await samplesOf(metrics, 'bigpeer_store_documents{app="gone"}')).toEqual({
    'bigpeer_store_documents{app="gone"}': 0,
  });
});

test("metrics of the process are shown", async () => {
  const metrics = openMetrics();
  const { samples } = await read(metrics);
  for (const name of ["cpu_seconds_total", "resident_memory_bytes", "start_time_seconds"]) {
    expect(samples.get(`process_${name}`)).toBeGreaterThan(0);
  }
  expect(samples.get("nodejs_heap_size_used_bytes")).toBeGreaterThan(0);
  expect(samples.get("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
});

test("servers in one process count separately", async () => {
  const [first, second] = [openMetrics(), openMetrics()];
  first.answered({ operation: "execute", method: "POST", status: 200, elapsedMs: 1 });
  expect(await second.scrape()).not.toContain('operation="execute"');
  second.close();
  second.close();
  expect(await first.scrape()).toContain('operation="execute"');
});

test("/metrics answers with the text and its content type", async () => {
  const metrics = openMetrics();
  const router = new Router({
    endpoints: [metricsEndpoint(metrics)],
    dataEndpoints: [],
    log: () => {},
  });
  const answer = await router.answer(handMadeRequest({ method: "GET", target: "/metrics" }));
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(answer.endpoint?.name).toBe("metrics");
  if (answer.content.kind !== "bytes") throw new Error("expected bytes");
  const { samples } = readExposition(Buffer.from(answer.content.bytes).toString());
  expect(samples.get('bigpeer_info{version="1.2.3"}')).toBe(1);
});

test("concurrent requests get the same text, which is built once", async () => {
  let collected = 0;
  const appsKnown = (): number => ++collected;
  const metrics = new Metrics({ version: "1.2.3", requestsInFlight: () => 0, appsKnown });
  onTestFinished(() => metrics.close());
  const texts = await Promise.all(Array.from({ length: 300 }, () => metrics.scrape()));
  expect(new Set(texts).size).toBe(1);
  expect(collected).toBe(1);
  await metrics.scrape();
  expect(collected).toBe(2);
});
