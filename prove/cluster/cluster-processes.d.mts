/** Types of cluster-processes.mjs, for tests. */

import type { NatsCluster, NatsServer } from "../../scripts/nats-cluster.mjs";
import type { TcpProxy } from "./tcp-proxy.mjs";

export interface ClusterOptions {
  /** An existing folder; each process has one below it. */
  readonly folder: string;
  /** The program; by default the built one. */
  readonly main?: string;
  /** Number of nodes; 3 by default. There are three nats-servers in any case. */
  readonly size?: number;
  /** Opens the replication port of each node. */
  readonly replicationSecret?: string;
  /** More words for the command line of each node. */
  readonly words?: readonly string[];
}

export interface ClusterNode {
  readonly name: string;
  readonly dataDir: string;
  readonly pid: number | undefined;
  readonly isRunning: boolean;
  /** Its own addresses, other ones after each start. */
  readonly url: string;
  readonly managementUrl: string;
  /** Empty while the replication port is closed. */
  readonly linkUrl: string;
  /** The address of `clientProxy`, which stays the same. */
  readonly clientUrl: string;
  /** From this node to each nats-server. */
  readonly natsProxies: readonly TcpProxy[];
  /** From other nodes to this one. */
  readonly nodeProxy: TcpProxy;
  readonly clientProxy: TcpProxy;
  /** The next start runs this program. */
  replaceProgram(main: string): void;
  /** Does not wait until it is ready. */
  start(): Promise<void>;
  /** Resolves when it serves; rejects if it ends before. */
  ready(): Promise<void>;
  /** Starts it again and again, as a supervisor does, until it serves. */
  startUntilReady(): Promise<void>;
  /** SIGTERM. Resolves with its exit code, or with "late" if it had to be killed. */
  stop(): Promise<number | string | undefined>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay open. */
  pause(): void;
  resume(): void;
  /** Kills it if it runs, starts it, and waits until it is ready. */
  restart(): Promise<void>;
  /** The log of all its processes, one after the other. */
  log(): string;
}

export interface ClusterProcesses {
  readonly nats: NatsCluster;
  readonly nodes: readonly ClusterNode[];
  /** The app and the key of the first start. */
  readonly quickstart: { readonly appId: string; readonly apiKey: string };
  /** The node that was the last to say that it evaluates a store; it may be gone. */
  evaluatorOf(store: string): ClusterNode | undefined;
  /** The nats-server that leads the stream of a log; undefined while there is none. */
  natsLeaderOf(store: string, cluster?: string): Promise<NatsServer | undefined>;
  /** Proxies between a nats-server and the other ones, in both directions. */
  routesOf(server: NatsServer): readonly TcpProxy[];
  /** A proxy to a port of this machine that ends with the cluster. */
  openProxy(target: () => number | undefined): Promise<TcpProxy>;
  /** Ends every fault: all proxies forward, all processes run and are ready. */
  heal(): Promise<void>;
  /** Stops the nodes with SIGTERM; NATS continues. */
  stopNodes(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Resolves when every node is ready. */
export function startCluster(options: ClusterOptions): Promise<ClusterProcesses>;
