/**
 * Held subscriptions: reference-counted subscriptions of this process. Equal ones are one
 * subscription to the server, which ends when the last holder cancels.
 */

import { ERROR_CODES, PeerError, unreachable, type ValueObject } from "@bigpeer/protocol";

/**
 * The state of a subscription: `waiting` for documents, `ready` when all of them have arrived,
 * `refused` by the server, or `cancelled`.
 *
 * @example
 * const tasks = peer.sync.registerSubscription("SELECT * FROM tasks");
 * const status: SubscriptionStatus = tasks.status;
 * console.log(status); // waiting
 */
export type SubscriptionStatus = "waiting" | "ready" | "refused" | "cancelled";

export interface PeerSubscription {
  readonly key: string;
  readonly status: SubscriptionStatus;
  /** Resolves when it is complete; rejects when it is refused or cancelled. */
  whenReady(): Promise<void>;
  cancel(): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: PeerError) => void;
}

interface Held {
  readonly query: string;
  readonly args: ValueObject;
  holders: number;
  status: SubscriptionStatus;
  refusal: PeerError | undefined;
  waiters: Waiter[];
}

export class HeldSubscriptions {
  readonly #held = new Map<string, Held>();
  /** Why the server does not accept this peer; meanwhile no subscription becomes ready. */
  #exclusion: PeerError | undefined;
  readonly #onLast: (key: string) => void;

  /** `onLast` receives the key of a subscription whose last holder cancelled. */
  constructor(onLast: (key: string) => void) {
    this.#onLast = onLast;
  }

  has(key: string): boolean {
    return this.#held.has(key);
  }

  *entries(): Iterable<{ key: string; query: string; args: ValueObject }> {
    for (const [key, { query, args }] of this.#held) yield { key, query, args };
  }

  hold(key: string, query: string, args: ValueObject): PeerSubscription {
    const held = this.#held.get(key) ?? newlyHeld(query, args);
    this.#held.set(key, held);
    held.holders += 1;
    let isCancelled = false;
    return {
      key,
      get status(): SubscriptionStatus {
        return isCancelled ? "cancelled" : held.status;
      },
      whenReady: () => whenReady(held, this.#exclusion),
      cancel: () => {
        if (!isCancelled) this.#release(key, held);
        isCancelled = true;
      },
    };
  }

  /** Marks it as ready and resolves its waiters. False if it has no holder. */
  setReady(key: string): boolean {
    const held = this.#held.get(key);
    if (held === undefined) return false;
    held.status = "ready";
    held.refusal = undefined;
    for (const { resolve } of held.waiters.splice(0)) resolve();
    return true;
  }

  /** Marks it as refused. False if it has no holder, or was already refused in the same way. */
  refuse(key: string, code: string, message: string): boolean {
    const held = this.#held.get(key);
    if (held === undefined) return false;
    const refusal = errorOf(code, message);
    const isNew = held.refusal?.code !== refusal.code || held.refusal.message !== message;
    held.status = "refused";
    held.refusal = refusal;
    rejectAll(held, refusal);
    return isNew;
  }

  /** The server does not accept this peer at all: rejects all waiters. */
  exclude(error: PeerError): void {
    this.#exclusion = error;
    for (const held of this.#held.values()) rejectAll(held, error);
  }

  /** The server accepts this peer, or the peer tries again. */
  admit(): void {
    this.#exclusion = undefined;
  }

  /** Ends all subscriptions and rejects their waiters, without a call of `onLast`. */
  close(): void {
    for (const held of this.#held.values()) end(held);
    this.#held.clear();
  }

  #release(key: string, held: Held): void {
    held.holders -= 1;
    if (held.holders > 0 || this.#held.get(key) !== held) return;
    this.#held.delete(key);
    end(held);
    this.#onLast(key);
  }
}

function newlyHeld(query: string, args: ValueObject): Held {
  return { query, args, holders: 0, status: "waiting", refusal: undefined, waiters: [] };
}

function end(held: Held): void {
  held.status = "cancelled";
  rejectAll(held, new PeerError("store.closed", "the subscription was cancelled"));
}

function whenReady(held: Held, exclusion: PeerError | undefined): Promise<void> {
  switch (held.status) {
    case "ready":
      return Promise.resolve();
    case "refused":
      return Promise.reject(held.refusal ?? new PeerError("permission.denied", "not taken"));
    case "cancelled":
      return Promise.reject(new PeerError("store.closed", "the subscription was cancelled"));
    case "waiting":
      if (exclusion !== undefined) return Promise.reject(exclusion);
      return new Promise((resolve, reject) => held.waiters.push({ resolve, reject }));
    default:
      return unreachable(held.status);
  }
}

function rejectAll(held: Held, error: PeerError): void {
  for (const { reject } of held.waiters.splice(0)) reject(error);
}

/** The error with the server's code, or `operation.refused` if the code is unknown here. */
function errorOf(code: string, message: string): PeerError {
  const known = ERROR_CODES.find((candidate) => candidate === code);
  return new PeerError(known ?? "operation.refused", message);
}
