/**
 * NodeReach: which other nodes this one reaches over HTTP. NATS may work while a node cannot be
 * called: its address is wrong, or a firewall is in between.
 *
 * Every request to a node shows whether it is reached. A node without requests is probed.
 */

import type { OtherNode } from "./other-nodes.ts";

/** A node that was reached within this time is not probed, and counts as reached. */
const PROVEN_MS = 2_000;

/** How long a node may take to answer a probe. */
const PROBE_MS_MAX = 2_000;

export interface NodeReachHost {
  /** Other nodes that are alive. */
  readonly others: () => readonly OtherNode[];
  /** Resolves with any answer of the node at a URL. */
  readonly probe: (url: string, signal: AbortSignal) => Promise<unknown>;
  readonly elapsed: () => number;
}

interface Reach {
  readonly node: string;
  reachedMs: number;
  /** Whether the last request failed. */
  isFailed: boolean;
  isProbed: boolean;
}

export class NodeReach {
  readonly #host: NodeReachHost;
  /** By URL, for nodes that are alive. */
  readonly #nodes = new Map<string, Reach>();

  constructor(host: NodeReachHost) {
    this.#host = host;
  }

  /**
   * Names of nodes that are alive and are not reached. A busy node that fails some requests and
   * answers others is reached.
   */
  get unreached(): readonly string[] {
    return [...this.#nodes.values()]
      .filter((reach) => reach.isFailed && !this.#isProven(reach))
      .map(({ node }) => node);
  }

  /** Called after each request to a node. */
  note(url: string, isReached: boolean): void {
    const reach = this.#nodes.get(url);
    if (reach === undefined) return;
    reach.isFailed = !isReached;
    if (isReached) reach.reachedMs = this.#host.elapsed();
  }

  /** Called about once a second: probes nodes that nothing else has reached. */
  tick(): void {
    const alive = this.#host.others();
    for (const url of this.#nodes.keys()) {
      if (!alive.some((other) => other.url === url)) this.#nodes.delete(url);
    }
    for (const { node, url } of alive) {
      const reach = this.#nodes.get(url) ?? newReach(node);
      this.#nodes.set(url, reach);
      if (!this.#isProven(reach) && !reach.isProbed) void this.#probe(url, reach);
    }
  }

  #isProven({ reachedMs }: Reach): boolean {
    return this.#host.elapsed() - reachedMs < PROVEN_MS;
  }

  async #probe(url: string, reach: Reach): Promise<void> {
    reach.isProbed = true;
    try {
      await this.#host.probe(url, AbortSignal.timeout(PROBE_MS_MAX));
      this.note(url, true);
    } catch {
      this.note(url, false);
    } finally {
      reach.isProbed = false;
    }
  }
}

function newReach(node: string): Reach {
  return { node, reachedMs: Number.NEGATIVE_INFINITY, isFailed: false, isProbed: false };
}
