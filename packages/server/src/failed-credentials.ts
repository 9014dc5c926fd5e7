/**
 * FailedCredentials: who tries credentials until one fits is slowed down.
 *
 * An address with too many failures is throttled. Meanwhile a credential passes that was accepted from
 * there within the last day, so that nobody locks out those who share the address; every other has to
 * wait, a valid one as well: else the answer would tell that a guess was right.
 */

import { networkOf } from "./http/client-address.ts";
import { Refusal } from "./http/refusal.ts";
import { WRONG_CREDENTIALS_MAX } from "./limits.ts";

const WINDOW_MS = 60_000;

/** How long a credential that was accepted passes while its address is throttled. */
const ACCEPTED_MS = 86_400_000;

/** Credentials of addresses that are remembered; beyond it the one that was longest without use is forgotten. */
const ACCEPTED_MAX = 50_000;

/** Addresses that are remembered; beyond it the one that failed first is forgotten. */
const ADDRESSES_MAX = 10_000;

interface Window {
  readonly endMs: number;
  failures: number;
}

export class FailedCredentials {
  readonly #elapsed: () => number;
  /** In the order in which they end. */
  readonly #windows = new Map<string, Window>();
  /** Until when anybody is throttled. */
  #throttledUntilMs = 0;
  /** When a credential was accepted last, by network and credential, in that order. */
  readonly #accepted = new Map<string, number>();

  /** `elapsed` in milliseconds, from any start. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** How many addresses are remembered. */
  get count(): number {
    return this.#windows.size;
  }

  /** To be called for every failure with a wrong `what`. Throws a Refusal, 429, after too many. */
  refuse(address: string, what: string): void {
    this.note(address);
    const seconds = this.retryAfterSeconds(address);
    if (seconds === undefined) return;
    throw tooMany(what, seconds);
  }

  /**
   * To be called for a credential that is valid, by a name that stands for it alone. Throws a Refusal,
   * 429, when its address is throttled and it was not accepted from there lately.
   */
  pass(address: string, credential: string, what: string): void {
    if (!this.#isThrottling() || this.wasAccepted(address, credential)) return;
    const seconds = this.retryAfterSeconds(address);
    if (seconds !== undefined) throw tooMany(what, seconds);
  }

  /** Both at once: whether a valid one passes, which is then noted. */
  admits(address: string, credential: string): boolean {
    const isThrottled = this.retryAfterSeconds(address) !== undefined;
    if (isThrottled && !this.wasAccepted(address, credential)) return false;
    this.accept(address, credential);
    return true;
  }

  /** To be called when one has passed. It need not be called for each request of a connection. */
  accept(address: string, credential: string): void {
    const key = acceptedKey(address, credential);
    this.#accepted.delete(key);
    this.#accepted.set(key, this.#elapsed());
    if (this.#accepted.size <= ACCEPTED_MAX) return;
    for (const first of this.#accepted.keys()) {
      this.#accepted.delete(first);
      return;
    }
  }

  /** Whether a credential was accepted from an address within the last day. */
  wasAccepted(address: string, credential: string): boolean {
    const atMs = this.#accepted.get(acceptedKey(address, credential));
    return atMs !== undefined && this.#elapsed() - atMs < ACCEPTED_MS;
  }

  /** Counts a failure, before retryAfterSeconds says how to answer it. */
  note(address: string): void {
    const network = networkOf(address);
    const window = this.#window(network);
    if (window !== undefined) {
      window.failures++;
      if (window.failures > WRONG_CREDENTIALS_MAX) {
        this.#throttledUntilMs = Math.max(this.#throttledUntilMs, window.endMs);
      }
      return;
    }
    // Taken out first: one that is over would keep its place in the order.
    this.#windows.delete(network);
    this.#windows.set(network, { endMs: this.#elapsed() + WINDOW_MS, failures: 1 });
    if (this.#windows.size > ADDRESSES_MAX) this.#forgetFirst();
  }

  /** When to try again; undefined while failures of this address are answered as usual. */
  retryAfterSeconds(address: string): number | undefined {
    const window = this.#window(networkOf(address));
    if (window === undefined || window.failures <= WRONG_CREDENTIALS_MAX) return undefined;
    return Math.ceil((window.endMs - this.#elapsed()) / 1000);
  }

  /** Whether anybody is throttled: nearly always nobody is. */
  #isThrottling(): boolean {
    return this.#throttledUntilMs > this.#elapsed();
  }

  /** The window of a network, unless it is over. */
  #window(network: string): Window | undefined {
    const window = this.#windows.get(network);
    return window !== undefined && window.endMs > this.#elapsed() ? window : undefined;
  }

  #forgetFirst(): void {
    for (const network of this.#windows.keys()) {
      this.#windows.delete(network);
      return;
    }
  }
}

function acceptedKey(address: string, credential: string): string {
  return `${networkOf(address)} ${credential}`;
}

function tooMany(what: string, seconds: number): Refusal {
  const message = `too many requests with a wrong ${what} came from this address`;
  return new Refusal(429, message, { "retry-after": String(seconds) });
}
