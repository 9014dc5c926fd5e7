/**
 * Evaluators: finds the node that currently evaluates a store, and calls it.
 */

import { isObject, PeerError, type ValueObject } from "@bigpeer/protocol";
import { isElsewhere, unavailable } from "../http/refusal.ts";
import type { ClusterStores } from "./cluster-stores.ts";
import type { Membership } from "./membership.ts";
import { type NodeClient, NodeUnreached } from "./node-client.ts";
import { sleep } from "./waiting.ts";

/** How long a caller waits for a node that evaluates. */
const EVALUATOR_MS_MAX = 10_000;

const POLL_MS = 20;

/**
 * How often a request in progress looks whether another node evaluates now. A timer costs less than
 * a microsecond, so each request has its own.
 */
const REPLACED_MS = 250;

/** Longer than a node takes to answer that its log does not. */
const UNKNOWN_MS_MAX = 20_000;

export interface EvaluatorsHost {
  readonly stores: () => Pick<ClusterStores, "find">;
  readonly node: string;
  readonly membership: Pick<Membership, "find" | "others">;
  readonly client: Pick<NodeClient, "call">;
  /** Where other nodes reach this one. */
  readonly ownUrl: () => string;
  /** Whether this node leaves evaluating to others. */
  readonly isHardToReach: () => boolean;
  readonly elapsed: () => number;
}

export class Evaluators {
  readonly #host: EvaluatorsHost;

  constructor(host: EvaluatorsHost) {
    this.#host = host;
  }

  /** URL of the node that evaluates a store; it may be this one. Rejects with a Refusal, 503. */
  async url(store: string, waitMs: number): Promise<string> {
    const { elapsed } = this.#host;
    const endMs = elapsed() + waitMs;
    do {
      const url = this.known(store);
      if (url !== undefined) return url;
      await sleep(POLL_MS);
    } while (elapsed() < endMs);
    throw unavailable("no node of the cluster evaluates writes now (cluster.elsewhere)", 1);
  }

  /**
   * Runs a request to the node that evaluates a store. A node that hangs does not answer, and does
   * not close its connections: the request ends when another one evaluates, or when for some time
   * none is alive that does.
   */
  async while<T>(
    store: string,
    url: string,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const replaced = new AbortController();
    const { elapsed } = this.#host;
    let knownMs = elapsed();
    const timer = setInterval(() => {
      const now = this.known(store);
      if (now !== undefined) knownMs = elapsed();
      if (now !== undefined && now !== url) replaced.abort(new Error("another node evaluates now"));
      else if (elapsed() - knownMs > UNKNOWN_MS_MAX) replaced.abort(new Error("no node evaluates"));
    }, REPLACED_MS);
    try {
      return await work(replaced.signal);
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Calls a procedure of the node that evaluates a store. It may be called more than once, while
   * `isWanted`; then this rejects with `store.closed`.
   */
  async call(
    store: string,
    name: string,
    value: ValueObject,
    isWanted: () => boolean = () => true,
  ): Promise<ValueObject> {
    const { elapsed, client } = this.#host;
    const endMs = elapsed() + EVALUATOR_MS_MAX;
    for (;;) {
      if (!isWanted()) throw new PeerError("store.closed", "the caller does not wait any more");
      try {
        const url = await this.url(store, Math.max(0, endMs - elapsed()));
        const answer = await this.while(store, url, (signal) => {
          return client.call(url, name, value, signal);
        });
        return isObject(answer) ? answer : {};
      } catch (error) {
        const isAgain = isElsewhere(error) || error instanceof NodeUnreached;
        if (!isAgain) throw error;
        if (elapsed() >= endMs) {
          throw new PeerError("store.busy", "no node of the cluster evaluates writes now");
        }
      }
      await sleep(POLL_MS);
    }
  }

  /** Of the node that evaluates a store now, as far as it is known here, and if it is alive. */
  known(store: string): string | undefined {
    const { stores, membership, ownUrl, node, isHardToReach } = this.#host;
    const replica = stores().find(store);
    if (replica?.role === "evaluating") return ownUrl();
    const evaluator = replica?.evaluator ?? "";
    const info = membership.find(evaluator);
    const isLeft = evaluator === node || info?.isHardToReach === true;
    if (!isLeft || !isHardToReach()) return info?.url;
    // The store may be open here alone: a node that is asked for it opens it and takes over.
    return membership.others.find((other) => !other.isHardToReach)?.url;
  }
}
