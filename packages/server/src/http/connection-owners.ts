/**
 * Connection owners: records which credential owns each HTTP connection of a listener, and limits
 * how many one credential may have (H45). Connections without an accepted credential are newcomers.
 */

import { Newcomers, type NewcomersOptions } from "../limits/newcomers.ts";
import { unavailable } from "./refusal.ts";

export interface ConnectionOwnersOptions extends NewcomersOptions {
  /** Connections that one credential may have. */
  readonly perOwnerMax: number;
  /** Called for each connection that is refused because its credential has too many. */
  readonly onOwnerRefused?: (() => void) | undefined;
}

/** An HTTP connection and its owner. */
export interface OwnedConnection {
  /** Key that identifies it among the connections open at present. */
  readonly end: string;
  /** Address of its other end, which may be a proxy. */
  readonly remoteAddress: string;
  /** Whether a trusted proxy opened it; it then carries requests of many clients. */
  readonly isProxy: boolean;
  /** First credential that was accepted on it. */
  owner: string | undefined;
  /** Last credential that `identify` returned true for, and when. */
  notifiedOwner: string | undefined;
  notifiedMs: number;
  /** Whether it closes after its next answer. */
  isSurplus: boolean;
}

/** How often the use of one credential on one connection is reported again. */
const NOTIFIED_MS = 3_600_000;

/** `Retry-After` of a credential with too many connections, in seconds. */
const RETRY_SECONDS = 1;

export class ConnectionOwners {
  /** By `OwnedConnection.end`. */
  readonly newcomers: Newcomers<string>;
  readonly #options: ConnectionOwnersOptions;
  readonly #counts = new Map<string, number>();

  constructor(options: ConnectionOwnersOptions) {
    this.#options = options;
    this.newcomers = new Newcomers(options);
  }

  /**
   * Records that the credential of `owner` was accepted on a connection. Throws a Refusal, 503,
   * when the owner has too many connections. Returns false when it returned true for the same owner
   * on this connection within the last hour.
   */
  identify(connection: OwnedConnection, owner: string): boolean {
    this.#claim(connection, owner);
    if (connection.isProxy) return true;
    const nowMs = this.#options.elapsed();
    if (connection.notifiedOwner === owner && nowMs - connection.notifiedMs < NOTIFIED_MS)
      return false;
    connection.notifiedOwner = owner;
    connection.notifiedMs = nowMs;
    return true;
  }

  #claim(connection: OwnedConnection, owner: string): void {
    if (connection.owner !== undefined || connection.isProxy) return;
    const count = (this.#counts.get(owner) ?? 0) + 1;
    if (count > this.#options.perOwnerMax) {
      connection.isSurplus = true;
      this.#options.onOwnerRefused?.();
      throw unavailable("this credential has too many connections", RETRY_SECONDS);
    }
    this.#counts.set(owner, count);
    connection.owner = owner;
    this.newcomers.remove(connection.end);
  }

  /** Call it when the connection closes or switches to another protocol. */
  remove({ owner }: OwnedConnection): void {
    if (owner === undefined) return;
    const count = this.#counts.get(owner) ?? 0;
    if (count > 1) this.#counts.set(owner, count - 1);
    else this.#counts.delete(owner);
  }
}
