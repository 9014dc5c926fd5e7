/**
 * A cluster of real processes whose background work runs every second, and its clients. It ends
 * with the test.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Value } from "@bigpeer/protocol";
import { onTestFinished, vi } from "vitest";
import {
  type ClusterNode,
  type ClusterOptions,
  type ClusterProcesses,
  startCluster,
} from "../../../../../prove/cluster/cluster-processes.mjs";
import type { NatsLog } from "../../../src/cluster/nats/nats-log.ts";
import { expectValidManagementAnswer } from "../../support/answer-schema.ts";
import { BIG_PEER } from "../../support/management-api.ts";
import { connectTo, openLogs } from "./nats-cluster.ts";

const QUICK_NODE: string = fileURLToPath(new URL("quick-node.mjs", import.meta.url));

const WAIT_MS_MAX = 120_000;

export class RunningCluster {
  readonly processes: ClusterProcesses;
  readonly appId: string;
  readonly #apiKey: string;
  readonly #folder: string;

  private constructor(processes: ClusterProcesses, folder: string) {
    const { appId, apiKey } = processes.quickstart;
    this.processes = processes;
    this.appId = appId;
    this.#apiKey = apiKey;
    this.#folder = folder;
  }

  /** A node that is away for 5 seconds no longer holds the log back. */
  static start(words: readonly string[] = ["--cluster-away", "5"]): Promise<RunningCluster> {
    return RunningCluster.#start({ main: QUICK_NODE, words });
  }

  /** The program itself, as in production. */
  static startProgram(words: readonly string[]): Promise<RunningCluster> {
    return RunningCluster.#start({ words });
  }

  /** With a replication port on each node, and background work as in production. */
  static startLinked(replicationSecret: string): Promise<RunningCluster> {
    return RunningCluster.#start({ replicationSecret });
  }

  static async #start(options: Omit<ClusterOptions, "folder">): Promise<RunningCluster> {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-cluster-"));
    const processes = await startCluster({ folder, ...options });
    const cluster = new RunningCluster(processes, folder);
    onTestFinished(() => cluster.#end());
    return cluster;
  }

  get nodes(): readonly ClusterNode[] {
    return this.processes.nodes;
  }

  /** Nodes that do not evaluate the app, and then the one that does. */
  get inOrder(): { readonly followers: ClusterNode[]; readonly evaluator: ClusterNode } {
    const evaluator = this.processes.evaluatorOf(this.appId);
    if (evaluator === undefined) throw new Error("expected a node that evaluates the app");
    return { followers: this.nodes.filter((node) => node !== evaluator), evaluator };
  }

  request(node: ClusterNode, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${this.#apiKey}`);
    return fetch(`${node.clientUrl}/api/v4${path}`, { ...init, headers });
  }

  /** Opens the app on all nodes. */
  async openApp(): Promise<void> {
    const statement = "INSERT INTO opened DOCUMENTS ({ 'isOpen': true })";
    for (const node of this.nodes) await this.execute(node, statement);
  }

  /** The items of the answer to a statement. Throws unless it is answered with 200. */
  async execute(node: ClusterNode, statement: string, args: object = {}): Promise<unknown[]> {
    const answer = await this.request(node, "/store/execute", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ statement, args }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
    return (JSON.parse(text) as { items: unknown[] }).items;
  }

  /** The log of an app, as NATS has it. */
  async log(appId: string = this.appId): Promise<NatsLog> {
    const connection = await connectTo(this.processes.nats);
    const logs = await openLogs(connection, { cluster: "bigpeer", streams: 16 });
    return logs.log(appId);
  }

  async #end(): Promise<void> {
    await this.processes.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A call of the management API of a node that must succeed. */
export async function manage(
  node: ClusterNode,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await fetch(`${node.managementUrl}${BIG_PEER}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const found = JSON.parse(text) as Value;
  const { status, headers } = answer;
  const whole = BIG_PEER + path;
  expectValidManagementAnswer({ method, path: whole, status, headers, body: found });
  if (!answer.ok) throw new Error(`${method} ${path}: ${status} ${text}`);
  return found;
}

export async function eventually(check: () => unknown): Promise<void> {
  await vi.waitFor(check, { timeout: WAIT_MS_MAX, interval: 100 });
}

/** Inserts documents one after the other until it is stopped. */
export class Load {
  /** Ids of the documents that were acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #running: Promise<void>[];
  #isStopped = false;

  constructor(cluster: RunningCluster, node: ClusterNode, writers = 3) {
    this.#running = Array.from({ length: writers }, (_, i) => this.#write(cluster, node, `w${i}`));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #write(cluster: RunningCluster, node: ClusterNode, prefix: string): Promise<void> {
    for (let i = 0; !this.#isStopped; i++) {
      const id = `${prefix}-${i}`;
      const statement = "INSERT INTO tasks DOCUMENTS (:task) ON ID CONFLICT DO NOTHING";
      try {
        await cluster.execute(node, statement, { task: { _id: id, text: "x".repeat(200) } });
        this.acknowledged.push(id);
      } catch {
        // It is not acknowledged, and may be there.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}
