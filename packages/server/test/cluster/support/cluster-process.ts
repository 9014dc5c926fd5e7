/**
 * A cluster of real processes for the tests of failures, and clients that write and read all the
 * time and record the answers. Both end with the test.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, vi } from "vitest";
import {
  type ClusterNode,
  type ClusterProcesses,
  startCluster,
} from "../../../../../prove/cluster/cluster-processes.mjs";
import { longestGap } from "../../../../../prove/cluster/gaps.mjs";

/** A node that is well does not take as long, on any machine. */
const ANSWER_MS_MAX = 30_000;
const SETTLED_MS_MAX = 120_000;

/** Less than a failure lasts: whoever waited for its end would wait longer. */
export const NO_GAP_MS = 8_000;

/**
 * Far above the failure table in docs/cluster.md: these tests run on slow and busy machines.
 * `npm run prove -- cluster` holds the gaps to the table.
 */
export const EVALUATOR_GAP_MS = 30_000;
export const NATS_GAP_MS = 45_000;

export interface Reply {
  /** 0 without an answer. */
  readonly status: number;
  readonly headers: Headers;
  readonly items: readonly { readonly [field: string]: unknown }[];
  readonly mutated: readonly unknown[];
  readonly txnId: number;
  readonly error: string;
}

export class TestCluster {
  readonly processes: ClusterProcesses;
  readonly quickstart: ClusterProcesses["quickstart"];
  /** Has a folder for each process, with its name. */
  readonly folder: string;

  private constructor(processes: ClusterProcesses, folder: string) {
    this.processes = processes;
    this.folder = folder;
    this.quickstart = processes.quickstart;
  }

  /** `words` are more settings of each node. */
  static async start(words: readonly string[] = []): Promise<TestCluster> {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-failures-"));
    const processes = await startCluster({ folder, words });
    onTestFinished(async () => {
      await processes.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    const cluster = new TestCluster(processes, folder);
    const [first] = processes.nodes as [ClusterNode];
    const counter = { _id: "total", n: 0 };
    const statement = "INSERT INTO COLLECTION counters (n COUNTER) DOCUMENTS (:counter)";
    await expectDone(cluster.execute(first, statement, { counter }));
    return cluster;
  }

  get appId(): string {
    return this.quickstart.appId;
  }

  get nodes(): readonly ClusterNode[] {
    return this.processes.nodes;
  }

  get evaluator(): ClusterNode {
    const found = this.processes.evaluatorOf(this.appId);
    if (found === undefined) throw new Error("expected a node that evaluates the app");
    return found;
  }

  /** The nodes that do not evaluate the app. */
  get followers(): [ClusterNode, ClusterNode] {
    const { evaluator } = this;
    return this.nodes.filter((node) => node !== evaluator) as [ClusterNode, ClusterNode];
  }

  /** Never rejects: without an answer the status is 0. */
  async execute(
    node: ClusterNode,
    statement: string,
    args: object = {},
    headers: { readonly [name: string]: string } = {},
  ): Promise<Reply> {
    const { apiKey } = this.quickstart;
    try {
      const answer = await fetch(`${node.clientUrl}/api/v4/store/execute`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${apiKey}`,
          "content-type": "application/json",
          ...headers,
        },
        body: JSON.stringify({ statement, args }),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      return replyOf(answer, await answer.text());
    } catch (error) {
      const none = { items: [], mutated: [], txnId: 0 };
      return { ...none, status: 0, headers: new Headers(), error: String(error) };
    }
  }
}

/** Waits until a node has a transaction. */
export async function expectReached(
  cluster: TestCluster,
  node: ClusterNode,
  txnId: number,
): Promise<void> {
  const headers = { "x-service-txn-id": String(txnId) };
  await vi.waitFor(
    async () => {
      const { status, error } = await cluster.execute(node, "SELECT * FROM counters", {}, headers);
      expect([status, error]).toEqual([200, ""]);
    },
    { timeout: SETTLED_MS_MAX, interval: 100 },
  );
}

/** Waits until another node evaluates than before. */
export async function expectReplaced(cluster: TestCluster, before: ClusterNode): Promise<void> {
  await vi.waitFor(() => expect(cluster.evaluator.name).not.toBe(before.name), {
    timeout: SETTLED_MS_MAX,
    interval: 50,
  });
}

async function expectDone(asked: Promise<Reply>): Promise<void> {
  const { status, error } = await asked;
  expect([status, error]).toEqual([200, ""]);
}

function replyOf({ status, headers }: Response, text: string): Reply {
  const body = JSON.parse(text === "" ? "{}" : text) as {
    readonly items?: Reply["items"];
    readonly mutatedDocumentIds?: readonly unknown[];
    readonly transactionId?: number;
    readonly error?: { readonly description?: string };
    readonly message?: string;
  };
  return {
    status,
    headers,
    items: body.items ?? [],
    mutated: body.mutatedDocumentIds ?? [],
    txnId: body.transactionId ?? 0,
    error: body.error?.description ?? body.message ?? "",
  };
}

interface Written {
  readonly node: string;
  readonly id: string;
  readonly reply: Reply;
  readonly endMs: number;
}

const INSERT = "INSERT INTO documents DOCUMENTS (:document)";
const INCREMENT =
  "UPDATE COLLECTION counters (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'total'";

/**
 * Clients that write all the time, two at each node: one inserts documents, one increments a counter
 * that all share, without a key. A request is never sent again.
 */
export class WriteLoad {
  readonly #cluster: TestCluster;
  readonly #running: Promise<void>[];
  readonly inserts: Written[] = [];
  readonly increments: Written[] = [];
  #isOver = false;

  constructor(cluster: TestCluster, nodes: readonly ClusterNode[] = cluster.nodes) {
    this.#cluster = cluster;
    this.#running = nodes.flatMap((node) => [
      this.#run(node, this.inserts, (id) => [INSERT, { document: { _id: id } }]),
      this.#run(node, this.increments, () => [INCREMENT, {}]),
    ]);
    onTestFinished(() => this.stop());
  }

  get all(): readonly Written[] {
    return [...this.inserts, ...this.increments];
  }

  /** Longest time without an acknowledged write between two times, at any node or at one. */
  gapMs(fromMs: number, toMs: number, node?: ClusterNode): number {
    const times = this.all
      .filter((written) => written.reply.status === 200)
      .filter((written) => node === undefined || written.node === node.name)
      .map(({ endMs }) => endMs);
    return longestGap(
      times.toSorted((a, b) => a - b),
      fromMs,
      toMs,
    );
  }

  /** Statuses of the requests to a node that ended between two times. */
  statuses(node: ClusterNode, fromMs: number, toMs: number): Set<number> {
    const answered = this.all.filter(({ node: name, endMs }) => {
      return name === node.name && endMs >= fromMs && endMs <= toMs;
    });
    return new Set(answered.map(({ reply }) => reply.status));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #run(
    node: ClusterNode,
    written: Written[],
    next: (id: string) => readonly [statement: string, args: object],
  ): Promise<void> {
    for (let number = 1; !this.#isOver; number++) {
      const id = `${node.name}-${number}`;
      const reply = await this.#cluster.execute(node, ...next(id));
      written.push({ node: node.name, id, reply, endMs: performance.now() });
      await sleep(reply.status === 200 ? 20 : 200);
    }
  }
}

/** Every write of a load that was acknowledged is on every node, and once. */
export async function expectExact(cluster: TestCluster, load: WriteLoad): Promise<void> {
  const done = load.all.filter(({ reply }) => reply.status === 200);
  const txnIds = done.map(({ reply }) => reply.txnId);
  expect(new Set(txnIds).size).toBe(txnIds.length);
  const inserts = load.inserts.filter(({ reply }) => reply.status === 200);
  const certain = load.increments.filter(({ reply }) => reply.status === 200).length;
  const unknown = load.increments.filter(({ reply: { status } }) => status === 0 || status >= 500);
  for (const node of cluster.nodes) {
    await expectReached(cluster, node, Math.max(...txnIds));
    const { items } = await cluster.execute(node, "SELECT _id FROM documents");
    const found = new Set(items.map(({ _id: id }) => id));
    expect(inserts.filter(({ id }) => !found.has(id))).toEqual([]);
    const counters = await cluster.execute(node, "SELECT * FROM counters");
    const n = Number(counters.items[0]?.["n"]);
    expect(n, node.name).toBeGreaterThanOrEqual(certain);
    expect(n, node.name).toBeLessThanOrEqual(certain + unknown.length);
  }
}

/** A client that reads all the time at one node. */
export class ReadLoad {
  readonly replies: { readonly reply: Reply; readonly endMs: number }[] = [];
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(cluster: TestCluster, node: ClusterNode) {
    this.#running = this.#run(cluster, node);
    onTestFinished(() => this.stop());
  }

  /** Answers between two times. */
  between(fromMs: number, toMs: number): readonly Reply[] {
    return this.replies
      .filter(({ endMs }) => endMs >= fromMs && endMs <= toMs)
      .map(({ reply }) => reply);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(cluster: TestCluster, node: ClusterNode): Promise<void> {
    while (!this.#isOver) {
      const reply = await cluster.execute(node, "SELECT * FROM counters");
      this.replies.push({ reply, endMs: performance.now() });
      await sleep(50);
    }
  }
}
