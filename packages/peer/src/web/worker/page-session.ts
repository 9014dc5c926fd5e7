/**
 * Page session: one page in the worker. It has the observers, subscriptions and transactions of the
 * page, and ends them when the page is gone. Documents and cursors of its subscriptions stay.
 */

import type { RefusedUpload, SubscriptionStatus } from "@bigpeer/engine/peer";
import { equalValues, PeerError, type Value } from "@bigpeer/protocol";
import { Gate } from "../../gate.ts";
import type { AttachmentCall, PageTransfers } from "../../host/attachment-transfers.ts";
import type { TransactionResult } from "../../local-store.ts";
import type { ObservedResult, StoreObserver } from "../../observer.ts";
import { Peer } from "../../peer.ts";
import type { PresenceObserver } from "../../presence.ts";
import type { SyncSubscription } from "../../sync.ts";
import type { PeerState, SentResult, WorkerCalls, WorkerContent } from "../messages.ts";
import { sentError } from "../sent-error.ts";
import { partsOf, type SentRows } from "../sent-rows.ts";
import { pause } from "../web-host.ts";
import type { PageQuestions } from "./page-questions.ts";
import { PageTransactions } from "./page-transactions.ts";

export interface PageSessionOptions {
  readonly peer: Peer;
  readonly questions: PageQuestions;
  readonly send: (content: WorkerContent) => void;
  /** Deletes the documents of the peer, for all pages. */
  readonly erase: (isForced: boolean) => Promise<void>;
}

interface HeldObserver {
  readonly observer: StoreObserver;
  /** Opens when the page can take the next result. */
  next: Gate;
}

interface HeldSubscription {
  readonly subscription: SyncSubscription;
  /** The status that the page knows. */
  status: SubscriptionStatus;
}

type Args = Record<string, unknown> | undefined;

export class PageSession implements WorkerCalls {
  readonly #options: PageSessionOptions;
  readonly #transactions: PageTransactions;
  readonly #observers = new Map<number, HeldObserver>();
  readonly #subscriptions = new Map<number, HeldSubscription>();
  #presence: PresenceObserver | undefined;
  #attachments: PageTransfers | undefined;
  /** The state that the page knows. */
  #known: PeerState | undefined;
  #isClosed = false;

  constructor(options: PageSessionOptions) {
    this.#options = options;
    const { peer, questions } = options;
    this.#transactions = new PageTransactions({
      store: peer.store,
      questions,
      elapsed: () => performance.now(),
    });
  }

  get #peer(): Peer {
    return this.#options.peer;
  }

  /** Sends what has changed since the last message to the page. */
  refresh(): void {
    if (this.#isClosed) return;
    const { send } = this.#options;
    for (const [subscription, held] of this.#subscriptions) {
      const { status } = held.subscription;
      if (status === held.status) continue;
      held.status = status;
      send({ kind: "subscription", subscription, status });
    }
    const state = stateOf(this.#peer);
    if (isSame(state, this.#known)) return;
    this.#known = state;
    send({ kind: "state", state });
  }

  /** The page can take the next result of an observer. */
  next(observer: number): void {
    this.#observers.get(observer)?.next.open();
  }

  close(): void {
    this.#isClosed = true;
    for (const { observer, next } of this.#observers.values()) {
      observer.cancel();
      next.open();
    }
    for (const { subscription } of this.#subscriptions.values()) subscription.cancel();
    this.#observers.clear();
    this.#subscriptions.clear();
    this.#presence?.stop();
    this.#attachments?.close();
  }

  async execute(result: number, statement: unknown, args: unknown): Promise<SentResult> {
    const documents = Peer.documentsOf(this.#peer);
    const { items, ...rest } = await documents.executeShared(statement as string, args as Args);
    return { ...rest, rows: await this.#sendParts(result, items) };
  }

  runTransaction(transaction: number): Promise<void> {
    return this.#transactions.run(transaction);
  }

  executeIn(transaction: number, statement: unknown, args: unknown): Promise<TransactionResult> {
    return this.#transactions.executeIn(transaction, statement, args);
  }

  async observe(observer: number, query: unknown, args: unknown): Promise<void> {
    const give = async ({ items, pendingIds }: ObservedResult): Promise<void> => {
      const rows = await this.#sendParts(observer, items);
      const held = this.#observers.get(observer);
      if (held === undefined) return;
      held.next = new Gate();
      this.#options.send({ kind: "rows", observer, rows, pendingIds });
      await held.next.opened;
    };
    const onFailed = (error: Error): void => {
      this.#observers.delete(observer);
      this.#options.send({ kind: "observerEnded", observer, error: sentError(error) });
    };
    const documents = Peer.documentsOf(this.#peer);
    const held = documents.observeShared(query as string, args as Args, give, onFailed);
    this.#observers.set(observer, { observer: held, next: new Gate() });
  }

  async cancelObserver(observer: number): Promise<void> {
    const held = this.#observers.get(observer);
    this.#observers.delete(observer);
    held?.observer.cancel();
    held?.next.open();
  }

  async subscribe(
    subscription: number,
    query: unknown,
    args: unknown,
    prefetch: boolean,
  ): Promise<void> {
    const held = this.#peer.sync.registerSubscription(query as string, args as Args, { prefetch });
    this.#subscriptions.set(subscription, { subscription: held, status: "waiting" });
    this.refresh();
  }

  async whenReady(subscription: number): Promise<void> {
    const held = this.#subscriptions.get(subscription);
    if (held === undefined) throw new PeerError("store.closed", "the subscription is cancelled");
    try {
      await held.subscription.whenReady();
    } finally {
      this.refresh();
    }
  }

  async cancelSubscription(subscription: number): Promise<void> {
    this.#subscriptions.get(subscription)?.subscription.cancel();
    this.#subscriptions.delete(subscription);
  }

  async startSync(): Promise<void> {
    this.#peer.sync.start();
  }

  stopSync(): Promise<void> {
    return this.#peer.sync.stop();
  }

  logout(): Promise<void> {
    return this.#peer.auth.logout();
  }

  async listRefused(): Promise<readonly RefusedUpload[]> {
    return this.#peer.store.refused();
  }

  clearRefused(commitId: unknown): Promise<number> {
    return this.#peer.store.clearRefused(commitId as number | undefined);
  }

  async watchPresence(isWatched: boolean): Promise<void> {
    this.#presence?.stop();
    this.#presence = isWatched
      ? this.#peer.presence.observe((graph) => this.#options.send({ kind: "presence", graph }))
      : undefined;
  }

  async setPeerMetadata(metadata: unknown): Promise<void> {
    this.#peer.presence.setPeerMetadata(metadata as Record<string, unknown>);
    this.refresh();
  }

  async attach(call: AttachmentCall): Promise<unknown> {
    const { questions, send } = this.#options;
    this.#attachments ??= Peer.transfersOf(this.#peer)?.forPage?.({
      piece: (content) => questions.ask({ kind: "piece", content }),
      progress: (fetch, received) => send({ kind: "progress", fetch, received }),
    });
    return this.#attachments?.call(call);
  }

  erase(isForced: boolean): Promise<void> {
    return this.#options.erase(isForced);
  }

  /** Sends all rows but the last part, which it returns. Others are served between two parts. */
  async #sendParts(of: number, rows: readonly Value[]): Promise<SentRows> {
    let last: SentRows | undefined;
    for (const part of partsOf(rows)) {
      if (last !== undefined) {
        this.#options.send({ kind: "part", of, rows: last });
        await pause();
      }
      last = part;
    }
    return last ?? [];
  }
}

/** Both hold values, and undefined where something is not known. */
function isSame(a: PeerState, b: PeerState | undefined): boolean {
  return equalValues(a as unknown as Value, b as unknown as Value | undefined);
}

export function stateOf({ sync, auth, presence }: Peer): PeerState {
  return {
    isActive: sync.isActive,
    sync: sync.status,
    auth: auth.status,
    graph: presence.graph,
    peerMetadata: presence.peerMetadata,
  };
}
