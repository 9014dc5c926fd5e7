/**
 * The failure table of docs/cluster.md row by row: three nats-servers and three nodes as real
 * processes, clients that write all the time, and one failure. Times are three times those of the
 * table, since the processes share one machine.
 */

import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { HistoryEvent } from "../../../../prove/cluster/checker.mjs";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { Peers, teamsOf } from "../../../../prove/cluster/peers.mjs";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import {
  EVALUATOR_GAP_MS,
  expectExact,
  expectReached,
  expectReplaced,
  NATS_GAP_MS,
  NO_GAP_MS,
  ReadLoad,
  type Reply,
  TestCluster,
  WriteLoad,
} from "./support/cluster-process.ts";

/** How long a failure lasts: longer than a lease, and than what NATS takes to notice it. */
const FAILURE_MS = 12_000;
const WARM_UP_MS = 3_000;

/** A node waits for another that evaluates before it refuses a write. */
const REFUSED_MS_MAX = 15_000;

/** The log is given 10 seconds, and a request may wait behind another one. */
const UNANSWERED_MS_MAX = 25_000;

/** A log that seems shorter may be one whose leader has just begun. */
const LOST_MS_MAX = 120_000;

const INSERT = "INSERT INTO documents DOCUMENTS (:document)";

/** A load that has been running for a while. */
async function startLoad(
  cluster: TestCluster,
  nodes: readonly ClusterNode[] = cluster.nodes,
): Promise<WriteLoad> {
  const load = new WriteLoad(cluster, nodes);
  await sleep(WARM_UP_MS);
  return load;
}

/** Waits until a write at a node is acknowledged. */
async function expectWritable(
  cluster: TestCluster,
  node: ClusterNode,
  msMax: number,
): Promise<void> {
  const document = { kind: "probe" };
  await expectDone(() => cluster.execute(node, INSERT, { document }), msMax);
}

/** Sends a request until it is answered with 200. */
async function expectDone(send: () => Promise<Reply>, msMax: number): Promise<void> {
  await vi.waitFor(async () => expect((await send()).status).toBe(200), {
    timeout: msMax,
    interval: 200,
  });
}

test("a lost following node: writes go on without a gap, and its peers connect elsewhere", async () => {
  const cluster = await TestCluster.start();
  const [lost, other] = cluster.followers;
  const peers = await peersAnywhere(cluster, lost);
  const load = await startLoad(cluster, [cluster.evaluator, other]);
  const startMs = performance.now();
  await lost.kill();
  await sleep(FAILURE_MS);
  const endMs = performance.now();
  expect(load.gapMs(startMs, endMs)).toBeLessThan(NO_GAP_MS);
  // Its peers have written and have nothing left to send, though their node is still away.
  await peers.expectSent();
  await lost.startUntilReady();
  await load.stop();
  await expectExact(cluster, load);
});

test("a lost evaluating node: another takes over, and requests under way are done once", async () => {
  const cluster = await TestCluster.start();
  const { evaluator, followers } = cluster;
  const load = await startLoad(cluster, followers);
  const startMs = performance.now();
  await evaluator.kill();
  await expectReplaced(cluster, evaluator);
  for (const node of followers) await expectWritable(cluster, node, EVALUATOR_GAP_MS);
  const endMs = performance.now();
  for (const node of followers) {
    expect(load.gapMs(startMs, endMs, node)).toBeLessThan(EVALUATOR_GAP_MS);
    // A request that was passed on waits for the next evaluating node: it is not lost.
    expect(load.statuses(node, startMs, endMs)).toEqual(new Set([200]));
  }
  await evaluator.startUntilReady();
  await load.stop();
  await expectExact(cluster, load);
});

test("a lost leader of NATS: writes pause, reads go on", async () => {
  const cluster = await TestCluster.start();
  const leader = await cluster.processes.natsLeaderOf(cluster.appId);
  expect(leader).toBeDefined();
  const load = await startLoad(cluster);
  const readers = cluster.nodes.map((node) => new ReadLoad(cluster, node));
  const startMs = performance.now();
  await leader?.kill();
  for (const node of cluster.nodes) await expectWritable(cluster, node, NATS_GAP_MS);
  const endMs = performance.now();
  expect(load.gapMs(startMs, endMs)).toBeLessThan(NATS_GAP_MS);
  await Promise.all(readers.map((reader) => reader.stop()));
  for (const reader of readers) expectAnswered(reader, startMs, endMs);
  expectRetryable(load);
  await leader?.start();
  await load.stop();
  await expectExact(cluster, load);
});

test("a lost majority of NATS: reads show their age and end at the cut-off, writes are refused, and all of it returns", async () => {
  const cutOffSeconds = 20;
  const cluster = await TestCluster.start(["--cluster-cut-off", String(cutOffSeconds)]);
  const load = await startLoad(cluster);
  const readers = cluster.nodes.map((node) => new ReadLoad(cluster, node));
  const keyed = cluster.nodes.map((node) => new KeyedWrites(cluster, node));
  const reasons: string[] = [];
  const startMs = performance.now();
  const [first, second] = cluster.processes.nats.servers;
  await Promise.all([first?.kill(), second?.kill()]);
  for (const writes of keyed) {
    const { reply, waitedMs } = await writes.failed;
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ]);
    expect(waitedMs).toBeLessThan(UNANSWERED_MS_MAX);
    reasons.push(reply.error);
  }
  // At least one of them was under way.
  expect(reasons.join()).toContain("cluster.unanswered");
  await sleep(cutOffSeconds * 2 * 1000);
  const endMs = performance.now();
  for (const reader of readers) {
    const early = reader.between(startMs, startMs + (cutOffSeconds - 5) * 1000);
    expect(new Set(early.map(({ status }) => status))).toEqual(new Set([200]));
    // The server that is left answers for some seconds, so the age begins a little later.
    const read = reader.between(startMs, endMs).filter(({ status }) => status === 200);
    expect(read.at(-1)?.headers.get("age")).toMatch(/^\d+$/);
    const late = reader.between(endMs - 3_000, endMs);
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([503]));
  }
  // Some writes may have been acknowledged by what was under way; then none is.
  expect(load.gapMs(startMs + 2_000, endMs)).toBeGreaterThan(endMs - startMs - 5_000);
  for (const node of cluster.nodes) {
    expect(load.statuses(node, startMs + 3_000, endMs)).not.toContain(200);
    await expectRefused(cluster, node);
  }
  await Promise.all([first?.start(), second?.start()]);
  for (const node of cluster.nodes) await expectWritable(cluster, node, NATS_GAP_MS);
  await load.stop();
  expectRetryable(load);
  await expectExact(cluster, load);
  // With their keys, writes whose outcome was not known are done once.
  let count = 0;
  for (const writes of keyed) count += await writes.finish();
  const { items } = await cluster.execute(cluster.evaluator, "SELECT name FROM keyed");
  expect(items).toHaveLength(count);
  expect(new Set(items.map(({ name }) => name)).size).toBe(count);
});

test("a slow node: the others are not blocked, and it catches up", async () => {
  const cluster = await TestCluster.start();
  const { evaluator } = cluster;
  const [slow, other] = cluster.followers;
  const load = await startLoad(cluster, [evaluator, other]);
  const startMs = performance.now();
  slow.pause();
  await sleep(FAILURE_MS);
  const endMs = performance.now();
  slow.resume();
  for (const node of [evaluator, other]) {
    expect(load.gapMs(startMs, endMs, node)).toBeLessThan(NO_GAP_MS);
  }
  expect(cluster.evaluator.name).toBe(evaluator.name);
  await expectWritable(cluster, slow, EVALUATOR_GAP_MS);
  await load.stop();
  await expectExact(cluster, load);
});

test("a following node that is cut off from NATS: it reads, its writes are refused, and it catches up", async () => {
  const cluster = await TestCluster.start();
  const { evaluator } = cluster;
  const [cut, other] = cluster.followers;
  const load = await startLoad(cluster);
  const reader = new ReadLoad(cluster, cut);
  const startMs = performance.now();
  for (const proxy of cut.natsProxies) proxy.cut();
  await sleep(FAILURE_MS * 2);
  await expectRefused(cluster, cut);
  const endMs = performance.now();
  for (const proxy of cut.natsProxies) proxy.resume();
  await reader.stop();
  expectAnswered(reader, startMs, endMs);
  expect(reader.between(startMs, endMs).at(-1)?.headers.get("age")).toMatch(/^\d+$/);
  for (const node of [evaluator, other]) {
    expect(load.gapMs(startMs, endMs, node)).toBeLessThan(NO_GAP_MS);
  }
  expect(cluster.evaluator.name).toBe(evaluator.name);
  // It does not know who evaluates, nor whether it has what was acknowledged.
  const statuses = load.statuses(cut, startMs + 5_000, endMs);
  expect(statuses).toEqual(new Set([503]));
  await expectWritable(cluster, cut, EVALUATOR_GAP_MS);
  await load.stop();
  await expectExact(cluster, load);
});

test("an evaluating node that is cut off from NATS: another takes over, its own writes are refused", async () => {
  const cluster = await TestCluster.start();
  const { evaluator, followers } = cluster;
  const load = await startLoad(cluster);
  const startMs = performance.now();
  // Nothing arrives and nothing is refused: the hardest split to notice.
  for (const proxy of evaluator.natsProxies) proxy.stall();
  await expectReplaced(cluster, evaluator);
  for (const node of followers) await expectWritable(cluster, node, EVALUATOR_GAP_MS);
  const takenMs = performance.now();
  await sleep(FAILURE_MS);
  await expectRefused(cluster, evaluator);
  const endMs = performance.now();
  for (const proxy of evaluator.natsProxies) proxy.resume();
  for (const node of followers) {
    expect(load.gapMs(startMs, takenMs, node)).toBeLessThan(EVALUATOR_GAP_MS);
  }
  // What it had begun to write waits for its outcome.
  expect(load.statuses(evaluator, startMs + 1_000, endMs)).not.toContain(200);
  await expectWritable(cluster, evaluator, EVALUATOR_GAP_MS);
  await load.stop();
  await expectExact(cluster, load);
});

test("an evaluating node that others do not reach over HTTP: another takes over, and all nodes write", async () => {
  const cluster = await TestCluster.start();
  const { evaluator, followers } = cluster;
  const load = await startLoad(cluster);
  const startMs = performance.now();
  evaluator.nodeProxy.cut();
  await expectReplaced(cluster, evaluator);
  for (const node of cluster.nodes) await expectWritable(cluster, node, EVALUATOR_GAP_MS);
  const takenMs = performance.now();
  for (const node of followers) {
    expect(load.gapMs(startMs, takenMs, node)).toBeLessThan(EVALUATOR_GAP_MS);
  }
  expect(load.gapMs(startMs, takenMs, evaluator)).toBeLessThan(NO_GAP_MS);
  expect(evaluator.log()).toContain("other nodes of the cluster do not reach this one");
  // It does not take its apps back while they do not reach it, nor at once when they do.
  const next = cluster.evaluator;
  await sleep(FAILURE_MS);
  evaluator.nodeProxy.resume();
  await sleep(FAILURE_MS);
  expect(cluster.evaluator.name).toBe(next.name);
  await load.stop();
  await expectExact(cluster, load);
});

test("an evaluating node that is stopped and woken answers nothing from the past", async () => {
  const cluster = await TestCluster.start();
  const { evaluator, followers } = cluster;
  const [other] = followers;
  const removed = { _id: "removed" };
  expect((await cluster.execute(other, INSERT, { document: removed })).status).toBe(200);
  evaluator.pause();
  onTestFinished(() => evaluator.resume());
  await expectReplaced(cluster, evaluator);
  await expectWritable(cluster, other, EVALUATOR_GAP_MS);
  const added = { _id: "added", n: 1 };
  expect((await cluster.execute(other, INSERT, { document: added })).status).toBe(200);
  const statement = "DELETE FROM documents WHERE _id = 'removed'";
  expect((await cluster.execute(other, statement)).mutated).toEqual(["removed"]);

  // These wait in its sockets, and are the first that it evaluates when it wakes.
  const update = "UPDATE documents SET n = 2 WHERE _id = 'added'";
  const noMatch = "UPDATE documents SET n = 2 WHERE _id = 'removed'";
  const asked = Promise.all([
    cluster.execute(evaluator, INSERT, { document: added }),
    cluster.execute(evaluator, update),
    cluster.execute(evaluator, noMatch),
  ]);
  await sleep(1_000);
  evaluator.resume();
  const [conflict, matched, unmatched] = await asked;
  expect([conflict.status, conflict.error]).toEqual([
    400,
    expect.stringContaining("exists already"),
  ]);
  expect([matched.status, matched.mutated]).toEqual([200, ["added"]]);
  expect([unmatched.status, unmatched.mutated]).toEqual([200, []]);
  await expectReached(cluster, evaluator, matched.txnId);
  const { items } = await cluster.execute(evaluator, "SELECT * FROM documents WHERE _id = 'added'");
  expect(items).toEqual([{ _id: "added", n: 2 }]);
});

test("stops and wakes of evaluating nodes under load lose nothing and do nothing twice", async () => {
  const cluster = await TestCluster.start();
  const load = await startLoad(cluster);
  for (const stoppedMs of [2_000, 4_000, 8_000]) {
    const { evaluator } = cluster;
    evaluator.pause();
    await sleep(stoppedMs);
    evaluator.resume();
    for (const node of cluster.nodes) await expectWritable(cluster, node, NATS_GAP_MS);
  }
  await load.stop();
  await expectExact(cluster, load);
});

test("NATS lost acknowledged entries: the app is stopped on every node, with the reason in the log", async () => {
  const cluster = await TestCluster.start();
  const { nats } = cluster.processes;
  const stores = nats.servers.map(({ name }) => join(cluster.folder, name, "store"));
  await nats.stop();
  for (const store of stores) cpSync(store, `${store}-before`, { recursive: true });
  await nats.start();
  for (const node of cluster.nodes) await expectWritable(cluster, node, NATS_GAP_MS);
  const { txnId } = await cluster.execute(cluster.evaluator, INSERT, { document: { _id: "lost" } });
  for (const node of cluster.nodes) await expectReached(cluster, node, txnId);

  await nats.stop();
  for (const store of stores) {
    rmSync(store, { recursive: true });
    renameSync(`${store}-before`, store);
  }
  await nats.start();
  for (const node of cluster.nodes) {
    await vi.waitFor(
      async () => {
        const { status } = await cluster.execute(node, "SELECT * FROM documents");
        expect([0, 500, 503]).toContain(status);
        expect(node.log()).toContain(
          "expected the log of the cluster that this store has followed",
        );
      },
      { timeout: LOST_MS_MAX, interval: 500 },
    );
  }
});

/** Inserts documents at a node, each with a key of its own, until a request fails. */
class KeyedWrites {
  readonly #cluster: TestCluster;
  readonly #node: ClusterNode;
  #count = 0;
  /** The answer to the request that failed, and how long it took. */
  readonly failed: Promise<{ readonly reply: Reply; readonly waitedMs: number }>;

  constructor(cluster: TestCluster, node: ClusterNode) {
    this.#cluster = cluster;
    this.#node = node;
    this.failed = this.#run();
  }

  /** Sends the request that failed again until it is done. Returns how many there were in all. */
  async finish(): Promise<number> {
    await expectDone(() => this.#send(), NATS_GAP_MS);
    return this.#count;
  }

  async #run(): Promise<{ readonly reply: Reply; readonly waitedMs: number }> {
    for (;;) {
      this.#count++;
      const startMs = performance.now();
      const reply = await this.#send();
      if (reply.status !== 200) return { reply, waitedMs: performance.now() - startMs };
    }
  }

  #send(): Promise<Reply> {
    // Without an id: a document that is inserted twice is there twice.
    const document = { name: `${this.#node.name}-${this.#count}` };
    const headers = { "idempotency-key": document.name };
    const statement = "INSERT INTO keyed DOCUMENTS (:document)";
    return this.#cluster.execute(this.#node, statement, { document }, headers);
  }
}

/** A new write at a node is refused, with a time to retry. */
async function expectRefused(cluster: TestCluster, node: ClusterNode): Promise<void> {
  const startMs = performance.now();
  const document = { kind: "refused" };
  const { status, headers } = await cluster.execute(node, INSERT, { document });
  expect([status, headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(performance.now() - startMs).toBeLessThan(REFUSED_MS_MAX);
}

/** Every read was answered with 200, without a pause. */
function expectAnswered(reader: ReadLoad, fromMs: number, toMs: number): void {
  const replies = reader.between(fromMs, toMs);
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(replies.length).toBeGreaterThan((toMs - fromMs) / 1000);
}

/** A write that was not acknowledged was refused with a time to retry. */
function expectRetryable(load: WriteLoad): void {
  const failed = load.all.map(({ reply }) => reply).filter(({ status }) => status !== 200);
  expect(new Set(failed.map(({ status }) => status))).not.toContain(0);
  for (const { status, headers } of failed) {
    expect([status, headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  }
}

/** Peers that connect to one node while it runs, and to any other while it does not. */
async function peersAnywhere(
  cluster: TestCluster,
  first: ClusterNode,
): Promise<{ readonly expectSent: () => Promise<void> }> {
  const count = 6;
  const others = cluster.nodes.filter((node) => node !== first);
  const proxy = await cluster.processes.openProxy(() => {
    const running = [first, ...others].find(({ isRunning }) => isRunning);
    return running === undefined ? undefined : Number(new URL(running.url).port);
  });
  const totals = Array.from({ length: teamsOf(count) }, (_, team) => ({ _id: team, n: 0 }));
  const statement = "INSERT INTO COLLECTION totals (n COUNTER) DOCUMENTS (:totals)";
  expect((await cluster.execute(first, statement, { totals })).status).toBe(200);
  const written: HistoryEvent[] = [];
  const peers = await Peers.start({
    ...cluster.quickstart,
    count,
    urls: [`http://127.0.0.1:${proxy.port}`],
    record: (event) => written.push(event),
    logFile: join(temporaryFolder(), "peers.log"),
  });
  onTestFinished(() => peers.end());
  return {
    expectSent: async () => {
      await peers.settle();
      await vi.waitFor(
        async () => {
          const digests = await peers.digests();
          expect(digests.map(({ pending }) => pending)).toEqual(digests.map(() => 0));
          const { items } = await cluster.execute(cluster.evaluator, "SELECT _id FROM marks");
          const found = new Set(items.map(({ _id: id }) => id));
          expect(written.filter(({ id }) => !found.has(id))).toEqual([]);
        },
        { timeout: 60_000, interval: 500 },
      );
      expect(written.length).toBeGreaterThan(count);
    },
  };
}
