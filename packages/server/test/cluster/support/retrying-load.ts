/**
 * Clients that write all the time and repeat a request once, at another node, as clients behind a
 * load balancer do.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { ClusterNode } from "../../../../../prove/cluster/cluster-processes.mjs";
import { expectReached, type Reply, type TestCluster } from "./cluster-process.ts";

const PAUSE_MS = 20;

/** A node that is well does not take as long, on any machine. */
const WRITTEN_MS_MAX = 120_000;

const INSERT = "INSERT INTO documents DOCUMENTS (:document)";
const INCREMENT =
  "UPDATE COLLECTION counters (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'total'";

interface Request {
  /** Its idempotency key. */
  readonly id: string;
  readonly statement: string;
  readonly args: object;
}

export interface Done extends Request {
  readonly reply: Reply;
  readonly isSecondAttempt: boolean;
}

/** Two clients for each node: one inserts documents, one increments a counter that all share. */
export class RetryingLoad {
  readonly #cluster: TestCluster;
  readonly #running: Promise<void>[];
  readonly done: Done[] = [];
  #isOver = false;

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
    const { nodes } = cluster;
    this.#running = nodes.flatMap((home, i) => {
      const order = [...nodes.slice(i), ...nodes.slice(0, i)];
      return [
        this.#run(order, `insert-${home.name}`, (id) => [INSERT, { document: { _id: id } }]),
        this.#run(order, `increment-${home.name}`, () => [INCREMENT, {}]),
      ];
    });
    onTestFinished(() => this.stop());
  }

  /** Requests that were not acknowledged, though they were repeated. */
  get failed(): readonly string[] {
    return this.done
      .filter(({ reply }) => reply.status !== 200)
      .map(({ id, reply }) => `${id}: ${reply.status} ${reply.error}`);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #run(
    order: readonly ClusterNode[],
    name: string,
    next: (id: string) => readonly [statement: string, args: object],
  ): Promise<void> {
    for (let number = 1; !this.#isOver; number++) {
      const id = `${name}-${number}`;
      const [statement, args] = next(id);
      this.done.push(await this.#send(order, { id, statement, args }));
      await sleep(PAUSE_MS);
    }
  }

  async #send(order: readonly ClusterNode[], request: Request): Promise<Done> {
    const [home, other] = order as [ClusterNode, ClusterNode];
    const first = await this.#attempt(home, request);
    if (first.status !== 0 && first.status !== 503) {
      return { ...request, reply: first, isSecondAttempt: false };
    }
    // Without an answer the request may have been done: its key keeps it from being done twice.
    await sleep(Number(first.headers.get("retry-after") ?? 0) * 1000);
    return { ...request, reply: await this.#attempt(other, request), isSecondAttempt: true };
  }

  #attempt(node: ClusterNode, { id, statement, args }: Request): Promise<Reply> {
    return this.#cluster.execute(node, statement, args, { "idempotency-key": id });
  }
}

/** Waits until so many more requests are acknowledged. */
export async function expectMore({ done }: RetryingLoad, count: number): Promise<void> {
  const acknowledged = (): number => done.filter(({ reply }) => reply.status === 200).length;
  const target = acknowledged() + count;
  const options = { timeout: WRITTEN_MS_MAX, interval: 50 };
  await expect.poll(acknowledged, options).toBeGreaterThanOrEqual(target);
}

/** No request has failed, and each of them is done once on every node. */
export async function expectDoneOnce(cluster: TestCluster, load: RetryingLoad): Promise<void> {
  expect(load.failed).toEqual([]);
  const inserted = load.done.filter(({ statement }) => statement === INSERT);
  const ids = inserted.map(({ id }) => id).toSorted();
  const last = Math.max(...load.done.map(({ reply }) => reply.txnId));
  for (const node of cluster.nodes) {
    await expectReached(cluster, node, last);
    const { items } = await cluster.execute(node, "SELECT _id FROM documents");
    expect(items.map(({ _id: id }) => String(id)).toSorted(), node.name).toEqual(ids);
    const counters = await cluster.execute(node, "SELECT * FROM counters");
    expect(counters.items[0]?.["n"], node.name).toBe(load.done.length - ids.length);
  }
}
