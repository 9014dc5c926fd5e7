/**
 * FailedCredentials: who tries credentials until one fits is slowed down.
 *
 * It counts failures alone, and only failures are answered by it: a valid credential always passes,
 * so nobody can lock out others who come from the same address, as behind a proxy.
 */

import { networkOf } from "./http/client-address.ts";
import { Refusal } from "./http/refusal.ts";
import { WRONG_CREDENTIALS_MAX } from "./limits.ts";

const WINDOW_MS = 60_000;

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
    const message = `too many requests with a wrong ${what} came from this address`;
    throw new Refusal(429, message, { "retry-after": String(seconds) });
  }

  /** Counts a failure, before retryAfterSeconds says how to answer it. */
  note(address: string): void {
    const network = networkOf(address);
    const window = this.#window(network);
    if (window !== undefined) {
      window.failures++;
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
