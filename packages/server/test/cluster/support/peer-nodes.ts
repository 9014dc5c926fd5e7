/**
 * Nodes of a cluster in one process that share their peers over a bus in memory. Time passes when
 * the test says so.
 */

import { setImmediate as pause } from "node:timers/promises";
import { decodeCbor, encodeCbor, PeerError, type Value } from "@bigpeer/protocol";
import {
  openSyncServer,
  type SyncBench,
} from "../../../../engine/test/support/open-sync-server.ts";
import type { SyncClient } from "../../../../engine/test/support/sync-client.ts";
import { seededRandom } from "../../../../engine/test/support/test-platform.ts";
import type { OpenApp } from "../../../src/apps/open-app.ts";
import type { NodeInfo } from "../../../src/cluster/membership.ts";
import { NodeUnreached } from "../../../src/cluster/node-client.ts";
import { SharedPeers, type SharedPeersHost } from "../../../src/cluster/peers/shared-peers.ts";
import { LossyBus } from "./lossy-bus.ts";

export const APP = "app1";

export interface PeerNodeBench {
  readonly name: string;
  readonly peers: SharedPeers;
  readonly sync: SyncBench;
  readonly app: OpenApp;
  /** Whether its store follows; the test sets it. */
  readonly role: { isFollowing: boolean };
  readonly join: SyncBench["join"];
  /** Keys of the peers that the node lists, of all nodes. */
  readonly keys: () => string[];
  readonly watch: (key: string) => SyncClient;
}

export class PeerNodes {
  readonly bus: LossyBus;
  readonly #nodes = new Map<string, PeerNodeBench>();
  readonly #instances = new Map<string, string>();
  readonly unreachable: Set<string> = new Set();
  /** Nodes that others have not heard of for a lease. */
  readonly dead: Set<string> = new Set();
  /** Whether nodes have heard all others. */
  isComplete = true;
  /** The node that evaluates the app, as all nodes know. */
  evaluator: string | undefined;
  /** Nodes that hold the app open, and that were asked to open it. */
  readonly holders: Set<string> = new Set();
  readonly openers: string[] = [];
  #elapsedMs = 0;
  #starts = 0;

  constructor(seed = 1) {
    const random = seededRandom(seed);
    this.bus = new LossyBus(() => random.below(1_000) / 1_000);
  }

  /** Starts a node, or the next life of one with this name, and opens the app there. */
  async start(name: string): Promise<PeerNodeBench> {
    const instance = (++this.#starts * 0x01_01_01).toString(16).padStart(6, "0");
    this.#instances.set(name, instance);
    this.dead.delete(name);
    const peers = new SharedPeers({
      node: name,
      instance,
      bus: this.bus,
      membership: this.#membershipOf(name),
      client: { call: (url, procedure, value) => this.#call(url, procedure, value) },
      apps: () => this.#appsOf(name),
      evaluatorOf: () => this.evaluator,
      elapsed: () => this.#elapsedMs,
      log: () => {},
    });
    const sync = await openSyncServer({ nextSession: () => peers.nextSession() });
    const role = { isFollowing: true };
    const app = { id: APP, store: role } as unknown as OpenApp;
    await peers.prepare(APP);
    peers.opened(app, sync.server);
    const node: PeerNodeBench = {
      name,
      peers,
      sync,
      app,
      role,
      join: sync.join,
      keys: () => sync.server.peers().map(({ description }) => description.key),
      watch: (key) => {
        const client = sync.join(key);
        client.say({ t: "watch", isOn: true });
        return client;
      },
    };
    this.#nodes.set(name, node);
    return node;
  }

  /** Time passes: messages are delivered, nodes tick. */
  async pass(seconds = 1): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.#elapsedMs += 1_000;
      for (const { name, peers, sync } of this.#nodes.values()) {
        if (this.dead.has(name)) continue;
        sync.tick();
        peers.tick();
      }
      await this.settle();
    }
  }

  /** Waits until what was begun is done. */
  async settle(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      this.bus.deliverLate();
      await pause();
    }
  }

  #membershipOf(name: string): SharedPeersHost["membership"] {
    const others = (): NodeInfo[] =>
      Array.from(this.#nodes.keys())
        .filter((other) => other !== name && !this.dead.has(other))
        .map((node) => ({ ...NO_INFO, node, instance: this.#instanceOf(node), url: node }));
    const isComplete = (): boolean => this.isComplete;
    return {
      get others() {
        return others();
      },
      get isComplete() {
        return isComplete();
      },
      isGone: (node: string, instance: string) =>
        this.dead.has(node) || this.#instanceOf(node) !== instance,
    };
  }

  #appsOf(name: string): ReturnType<SharedPeersHost["apps"]> {
    const app = { id: APP } as OpenApp;
    return {
      tryUse: () => {
        this.holders.add(name);
        return { app, release: () => void this.holders.delete(name) };
      },
      use: async () => {
        this.openers.push(name);
        return { app, release: () => {} };
      },
    };
  }

  #instanceOf(node: string): string {
    return this.#instances.get(node) ?? "";
  }

  async #call(url: string, procedure: string, value: Value): Promise<Value> {
    await pause();
    const node = this.#nodes.get(url);
    if (node === undefined || this.dead.has(url) || this.unreachable.has(url)) {
      throw new NodeUnreached(url, true, new Error("unreachable"));
    }
    try {
      const answer = await node.peers.answer(procedure, decodeCbor(encodeCbor(value)));
      return decodeCbor(encodeCbor(answer));
    } catch (error) {
      if (error instanceof PeerError) throw error;
      throw new NodeUnreached(url, true, error);
    }
  }
}

const NO_INFO: NodeInfo = {
  node: "",
  instance: "",
  url: "",
  version: "",
  entryFormat: 1,
  nowMs: 0,
  isClosing: false,
  unreached: [],
  isHardToReach: false,
};
