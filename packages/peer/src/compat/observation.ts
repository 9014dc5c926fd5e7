/**
 * Observation: a query that the peer observes for an app, from the moment that the peer is open.
 *
 * The peer does not observe system collections. Their rows change with the state of the sync, so such
 * a query is run again with each change of it, and delivered if its rows are others.
 */

import { equalValues, type Value } from "@bigpeer/protocol";
import { Gate } from "../gate.ts";
import { dittoError } from "./ditto-error.ts";
import type { HostPeer } from "./host.ts";
import { Logger } from "./logger.ts";
import type { OpeningPeer } from "./opening-peer.ts";
import type { BoundQuery } from "./query-arguments.ts";
import { type PeerResult, QueryResult } from "./query-result.ts";
import { isOfSystem } from "./statement-kind.ts";
import type { HeldObserver, StoreObservationHandlerWithSignalNext } from "./store-observer.ts";

export interface ObservationOptions {
  readonly opening: OpeningPeer;
  readonly query: BoundQuery;
  readonly handler: StoreObservationHandlerWithSignalNext;
  /** Whether the handler calls `signalNext` itself. */
  readonly isSignalling: boolean;
  readonly onEnd: () => void;
}

export class Observation implements HeldObserver {
  readonly #options: ObservationOptions;
  #stop: (() => void) | undefined;
  #held: HeldObserver | undefined;
  #forget: (() => void) | undefined;
  #isCancelled = false;

  /** Throws what the peer throws for the query, if it is open. */
  constructor(options: ObservationOptions) {
    this.#options = options;
    const isOpen = options.opening.peer !== undefined;
    this.#forget = options.opening.whenOpen((peer) => {
      try {
        this.#observe(peer);
      } catch (error) {
        if (isOpen) throw error;
        Logger.error(`the observer of ${options.query.queryString} ended: ${String(error)}`);
        this.cancel();
      }
    });
  }

  get isCancelled(): boolean {
    return this.#isCancelled || (this.#held?.isCancelled ?? false);
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#forget?.();
    this.#stop?.();
    this.#options.onEnd();
  }

  #observe(peer: HostPeer): void {
    const { query } = this.#options;
    if (isOfSystem(query.queryString)) {
      this.#stop = new SystemQuery(peer, query, (result) => this.#deliver(result)).stop;
      return;
    }
    const deliver = (result: PeerResult): Promise<void> => this.#deliver(result);
    const held = peer.store.registerObserver(
      query.queryString,
      query.peerArguments,
      // One parameter: the peer waits for the promise and for nothing else.
      (result) => deliver(result as unknown as PeerResult),
    );
    this.#held = held;
    this.#stop = () => held.cancel();
  }

  /** Resolves when the handler can take the next result. */
  async #deliver({ items }: PeerResult): Promise<void> {
    if (this.#isCancelled) return;
    const { handler, isSignalling } = this.#options;
    const signalled = new Gate();
    try {
      handler(new QueryResult({ items }), () => signalled.open());
    } catch (error) {
      // It stays active, as if it had asked for the next one.
      Logger.error(`the handler of an observer threw: ${String(error)}`);
      return;
    }
    if (isSignalling) await signalled.opened;
  }
}

/** Runs a query at first, and with each change of the state of the sync. */
class SystemQuery {
  readonly #peer: HostPeer;
  readonly #query: BoundQuery;
  readonly #deliver: (result: PeerResult) => Promise<void>;
  readonly #remove: () => void;
  #given: Value | undefined;
  #isRunning = false;
  #isOutdated = false;
  #isStopped = false;

  constructor(peer: HostPeer, query: BoundQuery, deliver: (result: PeerResult) => Promise<void>) {
    this.#peer = peer;
    this.#query = query;
    this.#deliver = deliver;
    const removeStatus = peer.on("status", () => void this.#run());
    const watch = peer.presence.observe(() => void this.#run());
    this.#remove = () => {
      removeStatus();
      watch.stop();
    };
    void this.#run();
  }

  readonly stop = (): void => {
    this.#isStopped = true;
    this.#remove();
  };

  async #run(): Promise<void> {
    this.#isOutdated = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#isOutdated && !this.#isStopped) await this.#once();
    } catch (error) {
      Logger.error(
        `the observer of ${this.#query.queryString} ended: ${String(dittoError(error))}`,
      );
      this.stop();
    } finally {
      this.#isRunning = false;
    }
  }

  async #once(): Promise<void> {
    this.#isOutdated = false;
    const { queryString, peerArguments } = this.#query;
    const { items } = await this.#peer.store.execute(queryString, peerArguments);
    const given = this.#given;
    if (given !== undefined && equalValues(items, given)) return;
    this.#given = items as Value;
    if (!this.#isStopped) await this.#deliver({ items });
  }
}
