/**
 * Other nodes: calls of procedures on the other nodes of the cluster that are alive, and work with
 * one of them that ends when its lease does.
 */

import type { Value } from "@bigpeer/protocol";
import type { Membership, NodeInfo } from "./membership.ts";
import type { NodeClient } from "./node-client.ts";

export type OtherNode = Pick<NodeInfo, "node" | "url">;

/** How long a node may take to answer a call to all. */
const ANSWER_MS_MAX = 5_000;

const ALIVE_MS = 500;

export interface NodeReply {
  readonly node: OtherNode;
  readonly answer: Value;
}

export class OtherNodes {
  readonly #membership: Pick<Membership, "others" | "find">;
  readonly #client: Pick<NodeClient, "call">;

  constructor(membership: Pick<Membership, "others" | "find">, client: Pick<NodeClient, "call">) {
    this.#membership = membership;
    this.#client = client;
  }

  /** Those that are alive. */
  get alive(): readonly OtherNode[] {
    return this.#membership.others;
  }

  /** Calls a procedure on all at once. Nodes that fail or are late are left out. */
  async askAll(name: string, value: Value): Promise<NodeReply[]> {
    const replies = this.alive.map(async (node) => {
      const answer = await this.ask(node, name, value);
      return answer === undefined ? [] : [{ node, answer }];
    });
    return (await Promise.all(replies)).flat();
  }

  /** Undefined if the node fails or is late. */
  async ask(node: OtherNode, name: string, value: Value): Promise<Value | undefined> {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      return await this.#client.call(node.url, name, value, signal);
    } catch {
      return undefined;
    }
  }

  /** Aborts the signal when the node is no longer alive: one that hangs closes no connection. */
  async whileAlive<T>(node: OtherNode, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lost = new AbortController();
    const timer = setInterval(() => {
      const isAlive = this.#membership.find(node.node) !== undefined;
      if (!isAlive) lost.abort(new Error(`the node ${node.node} is not alive`));
    }, ALIVE_MS);
    try {
      return await work(lost.signal);
    } finally {
      clearInterval(timer);
    }
  }
}
