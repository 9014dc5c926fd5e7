/** Types of nats-cluster.mjs, for tests. */

export interface NatsClusterOptions {
  /** An existing folder; each server has one below it. */
  readonly folder: string;
  /** Number of servers; 3 by default. */
  readonly size?: number;
  /** Whether they sync before they acknowledge; true by default. */
  readonly isSynced?: boolean;
  /** As in the configuration of nats-server; 8MB by default. */
  readonly maxPayload?: string;
  /** The part of the configuration with accounts and users, instead of those without credentials. */
  readonly users?: string;
  /**
   * The port that server `from` uses to reach server `to`, which listens for routes on `port`: that
   * of a proxy. Then no server advertises its own address.
   */
  readonly routePortOf?: (from: number, to: number, port: number) => Promise<number> | number;
}

export interface NatsServer {
  readonly name: string;
  /** For clients. */
  readonly url: string;
  readonly monitorUrl: string;
  readonly pid: number | undefined;
  readonly isRunning: boolean;
  /** Does not wait until it is ready. */
  start(): Promise<void>;
  /** Resolves when it serves JetStream, which needs a majority of the cluster. */
  ready(): Promise<void>;
  /** SIGTERM: it hands its leaderships over. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay open. Resolves when it is stopped. */
  pause(): Promise<void>;
  resume(): void;
  /** Kills it if it runs, starts it with its store, and waits until it is ready. */
  restart(): Promise<void>;
  log(): string;
}

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
  readonly monitorUrls: readonly string[];
  /** Starts the servers that do not run, and waits until all of them are ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const SYSTEM_USER: { readonly user: string; readonly password: string };

/** Ports that no process of this machine uses now. */
export function findFreePorts(count: number): Promise<number[]>;

export function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster>;
