/** Types of nats-server.mjs, for tests. */

export interface FoundNatsServer {
  /** Path of an executable; undefined when there is none. */
  readonly path?: string;
  readonly version?: string;
  /** Why there is none. */
  readonly reason?: string;
}

export function findNatsServer(env?: NodeJS.ProcessEnv): Promise<FoundNatsServer>;
