/**
 * Failed credentials: throttles addresses that send too many invalid credentials (H43).
 *
 * While an address is throttled, a credential that was accepted from it within the last day still
 * passes, so an attacker cannot lock out others at the same address. Every other credential must
 * wait, even a valid one: otherwise the answer would reveal a correct guess.
 */

import { networkOf } from "../address/client-address.ts";
import { Refusal } from "../http/refusal.ts";
import { WRONG_CREDENTIALS_MAX } from "../limits/limits.ts";

const WINDOW_MS = 60_000;

/** How long an accepted credential passes while its address is throttled. */
const ACCEPTED_MS = 86_400_000;

/** Maximum number of accepted credentials; beyond it the least recently accepted is evicted. */
const ACCEPTED_MAX = 50_000;

/** Maximum number of addresses; beyond it the one with the oldest window is evicted. */
const ADDRESSES_MAX = 10_000;

interface Window {
  readonly endMs: number;
  failures: number;
}

export class FailedCredentials {
  readonly #elapsed: () => number;
  /** In the order in which they end. */
  readonly #windows = new Map<string, Window>();
  /** Until when at least one address is throttled. */
  #throttledUntilMs = 0;
  /** Time of the last acceptance by network and credential, oldest first. */
  readonly #accepted = new Map<string, number>();

  /** `elapsed` returns monotonic milliseconds from any start. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Number of addresses with a window. */
  get count(): number {
    return this.#windows.size;
  }

  /** Call it for every invalid `what`. Throws a Refusal, 429, after too many. */
  refuse(address: string, what: string): void {
    this.note(address);
    const seconds = this.retryAfterSeconds(address);
    if (seconds === undefined) return;
    throw tooMany(what, seconds);
  }

  /**
   * Call it for a valid credential, with a name that is unique to it. Throws a Refusal, 429, when
   * its address is throttled and it was not accepted from there within the last day.
   */
  pass(address: string, credential: string, what: string): void {
    if (!this.#isThrottling() || this.wasAccepted(address, credential)) return;
    const seconds = this.retryAfterSeconds(address);
    if (seconds !== undefined) throw tooMany(what, seconds);
  }

  /** Whether a valid credential passes; if so, records it as accepted. */
  admits(address: string, credential: string): boolean {
    const isThrottled = this.retryAfterSeconds(address) !== undefined;
    if (isThrottled && !this.wasAccepted(address, credential)) return false;
    this.accept(address, credential);
    return true;
  }

  /** Call it when a credential has passed, at least once for each connection. */
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

  /** Counts a failure; `retryAfterSeconds` then says how to answer it. */
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
    // Deleted first: an expired one would keep its position in the order.
    this.#windows.delete(network);
    this.#windows.set(network, { endMs: this.#elapsed() + WINDOW_MS, failures: 1 });
    if (this.#windows.size > ADDRESSES_MAX) this.#forgetFirst();
  }

  /** Seconds until the throttling ends; undefined when the address is not throttled. */
  retryAfterSeconds(address: string): number | undefined {
    const window = this.#window(networkOf(address));
    if (window === undefined || window.failures <= WRONG_CREDENTIALS_MAX) return undefined;
    return Math.ceil((window.endMs - this.#elapsed()) / 1000);
  }

  /** Whether any address is throttled, which is rare. */
  #isThrottling(): boolean {
    return this.#throttledUntilMs > this.#elapsed();
  }

  /** Window of a network; undefined when it has ended. */
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
