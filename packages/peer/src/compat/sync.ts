/**
 * Sync: the connection of an instance to its server, and its subscriptions.
 */

import { DittoError, withDittoErrors } from "./ditto-error.ts";
import type { HostPeer } from "./host.ts";
import type { Instance } from "./instance.ts";
import { Logger } from "./logger.ts";
import { BoundQuery, type DQLQueryArguments } from "./query-arguments.ts";
import { checkSelect } from "./statement-kind.ts";
import { SyncSubscription } from "./sync-subscription.ts";

/** A subscription takes whole documents of one collection. */
const CODES = { "query.semantic": "query/unsupported" } as const;

export class Sync<D extends Instance = Instance> {
  readonly ditto: D;
  readonly #subscriptions = new Set<SyncSubscription<D>>();
  #isActive = false;
  /** Set once the peer follows `isActive`. */
  #forget: (() => void) | undefined;

  constructor(ditto: D) {
    this.ditto = ditto;
  }

  /** The subscriptions that are not cancelled. */
  get subscriptions(): Readonly<SyncSubscription<D>[]> {
    return Object.freeze([...this.#subscriptions]);
  }

  /** Whether sync was started. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Connects to the server, and reconnects after each loss. */
  start(): void {
    this.ditto.checkOpen();
    const { auth, config, opening } = this.ditto;
    if (config.connect.mode === "server" && auth.expirationHandler === null) {
      throw new DittoError("authentication/expiration-handler-missing");
    }
    if (this.#isActive) return;
    this.#isActive = true;
    if (config.connect.mode !== "server") {
      Logger.warnOnce(
        "sync has no server: small peers of this SDK do not connect to each other; use the mode server",
      );
      return;
    }
    this.#forget ??= opening.whenOpen((peer) => this.#apply(peer));
    if (opening.peer !== undefined) this.#apply(opening.peer);
  }

  /** Closes the connection. Local reads and writes, and subscriptions, continue. */
  stop(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    const { peer } = this.ditto.opening;
    if (peer !== undefined) this.#apply(peer);
  }

  /** Has the peer connect, or not. */
  #apply({ sync }: HostPeer): void {
    if (this.#isActive) sync.start();
    else sync.stop().catch((error: unknown) => Logger.error(`failed to stop: ${String(error)}`));
  }

  /** Has the server send the documents that a query selects, and each change of them. */
  registerSubscription(query: string, queryArguments?: DQLQueryArguments): SyncSubscription<D> {
    this.ditto.checkOpen();
    checkSelect(query, "a subscription");
    const bound = new BoundQuery(query, queryArguments);
    const forget = (ended: SyncSubscription<D>): boolean => this.#subscriptions.delete(ended);
    const subscription = withDittoErrors(
      () => new SyncSubscription(this.ditto, bound, forget),
      CODES,
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Ends the subscriptions. The peer is closed by the instance. */
  close(): void {
    this.#isActive = false;
    this.#forget?.();
    for (const subscription of this.#subscriptions) subscription.cancel();
  }
}
