/**
 * Page sync: `peer.sync` on a page. There is one connection for all pages, so start and stop hold
 * for all of them; the status is a copy.
 */

import type { SubscriptionStatus } from "@bigpeer/engine/peer";
import { checkQuery } from "../../argument-check.ts";
import { isPrefetching } from "../../attachments/subscription-check.ts";
import type { Arguments } from "../../local-store.ts";
import { ownCopy } from "../../plain-value.ts";
import type { SubscriptionOptions, SyncStatus, SyncSubscription } from "../../sync.ts";
import type { PeerState } from "../messages.ts";
import type { BrowserConnection } from "./page-interface.ts";
import { isLost, type WorkerLink } from "./worker-link.ts";

interface PageSubscription extends SyncSubscription {
  status: SubscriptionStatus;
  readonly args: unknown;
  readonly isPrefetched: boolean;
  /** Settles when the worker has taken it. */
  registered: Promise<void>;
}

export interface PageSyncOptions {
  readonly link: WorkerLink;
  readonly state: () => PeerState;
  readonly onError: (error: unknown) => void;
}

export class PageSync implements BrowserConnection {
  readonly #options: PageSyncOptions;
  readonly #subscriptions = new Map<number, PageSubscription>();
  #count = 0;
  #isClosed = false;

  constructor(options: PageSyncOptions) {
    this.#options = options;
  }

  start(): void {
    const wasClosed = this.#isClosed;
    this.#repeat("startSync").catch((error: unknown) => {
      // If the peer was closed after the call, that has ended it.
      if (wasClosed || !this.#isClosed) this.#options.onError(error);
    });
  }

  async stop(): Promise<void> {
    if (!this.#isClosed) await this.#repeat("stopSync");
  }

  get isActive(): boolean {
    return this.#options.state().isActive;
  }

  get status(): SyncStatus {
    return this.#options.state().sync;
  }

  get subscriptions(): SyncSubscription[] {
    return [...this.#subscriptions.values()];
  }

  registerSubscription(
    query: string,
    args: Arguments = {},
    options: SubscriptionOptions = {},
  ): SyncSubscription {
    checkQuery(query);
    const isPrefetched = isPrefetching(options);
    const id = ++this.#count;
    const subscription: PageSubscription = {
      query,
      args: ownCopy(args),
      isPrefetched,
      status: "waiting",
      registered: Promise.resolve(),
      get isCancelled() {
        return subscription.status === "cancelled";
      },
      whenReady: () => this.#whenReady(id, subscription),
      cancel: () => this.#cancel(id, subscription),
    };
    this.#subscriptions.set(id, subscription);
    this.#register(id, subscription);
    return subscription;
  }

  /** The worker reports a change. */
  changed(id: number, status: SubscriptionStatus): void {
    const subscription = this.#subscriptions.get(id);
    if (subscription !== undefined) subscription.status = status;
  }

  /** The session of this page is a new one. `before` was the state of another peer, if it is. */
  restore(before: PeerState | undefined): void {
    for (const [id, subscription] of this.#subscriptions) this.#register(id, subscription);
    if (before?.isActive === true) this.start();
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions.values()) subscription.status = "cancelled";
    this.#subscriptions.clear();
  }

  #register(id: number, subscription: PageSubscription): void {
    const { link, onError } = this.#options;
    const { query, args, isPrefetched } = subscription;
    subscription.registered = link.call("subscribe", id, query, args, isPrefetched);
    subscription.registered.catch((error: unknown) => {
      if (!this.#subscriptions.has(id) || isLost(error)) return;
      subscription.status = "refused";
      onError(error);
    });
  }

  /** If the worker ends meanwhile, it goes on with the next one. */
  async #whenReady(id: number, subscription: PageSubscription): Promise<void> {
    const { link } = this.#options;
    for (;;) {
      try {
        await subscription.registered;
        return await link.call("whenReady", id);
      } catch (error) {
        if (!isLost(error) || subscription.isCancelled) throw error;
        await link.connected();
      }
    }
  }

  /** A call that may be made twice: the next worker gets it if the first one ends. */
  async #repeat(name: "startSync" | "stopSync"): Promise<void> {
    const { link } = this.#options;
    for (;;) {
      try {
        return await link.call(name);
      } catch (error) {
        if (!isLost(error)) throw error;
      }
    }
  }

  #cancel(id: number, subscription: PageSubscription): void {
    if (!this.#subscriptions.delete(id)) return;
    subscription.status = "cancelled";
    this.#options.link.call("cancelSubscription", id).catch(() => {});
  }
}
