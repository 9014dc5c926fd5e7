/**
 * Connection owners: which connections of a listener have shown a credential that was accepted, and
 * whose they are. The others are newcomers; a credential has a share of the rest.
 */

import { Newcomers, type NewcomersOptions } from "../newcomers.ts";
import type { Exchange } from "./exchange.ts";
import type { HeldRequests } from "./pipelining.ts";
import { unavailable } from "./refusal.ts";

export interface ConnectionOwnersOptions extends NewcomersOptions {
  /** Connections that one credential may have. */
  readonly perOwnerMax: number;
  /** Told of each that was refused because its credential has too many. */
  readonly onOwnerRefused?: (() => void) | undefined;
}

/** A connection on which HTTP is spoken. */
export interface HttpConnection {
  /** Tells it from all others of this moment. */
  readonly end: string;
  /** Of its other end; a proxy, where there is one. */
  readonly remoteAddress: string;
  /** It belongs to a proxy, which has connections of many clients. */
  readonly isProxy: boolean;
  /** The request under way. */
  exchange: Exchange | undefined;
  /** What came behind it. */
  held: HeldRequests | undefined;
  /** Whose credential was accepted first. */
  owner: string | undefined;
  /** Whose was accepted last, and when that was told. */
  told: string | undefined;
  toldMs: number;
  /** It ends with its next answer. */
  isSurplus: boolean;
}

/** How often it is told that a connection is still used with a credential. */
const TOLD_MS = 3_600_000;

/** When a credential that has too many connections is to try again, in seconds. */
const RETRY_SECONDS = 1;

export class ConnectionOwners {
  /** By the other end of the connection. */
  readonly newcomers: Newcomers<string>;
  readonly #options: ConnectionOwnersOptions;
  readonly #counts = new Map<string, number>();

  constructor(options: ConnectionOwnersOptions) {
    this.#options = options;
    this.newcomers = new Newcomers(options);
  }

  /**
   * The credential of `owner` was accepted on a connection. Throws a Refusal, 503, beyond its share.
   * True unless that was so for the request before, a short while ago.
   */
  identify(connection: HttpConnection, owner: string): boolean {
    this.#claim(connection, owner);
    if (connection.isProxy) return true;
    const nowMs = this.#options.elapsed();
    if (connection.told === owner && nowMs - connection.toldMs < TOLD_MS) return false;
    connection.told = owner;
    connection.toldMs = nowMs;
    return true;
  }

  #claim(connection: HttpConnection, owner: string): void {
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

  /** To be called when it is closed, or something else than HTTP is spoken on it. */
  remove({ owner }: HttpConnection): void {
    if (owner === undefined) return;
    const count = this.#counts.get(owner) ?? 0;
    if (count > 1) this.#counts.set(owner, count - 1);
    else this.#counts.delete(owner);
  }
}
