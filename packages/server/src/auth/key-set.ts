/**
 * A key set at a URL: the public keys of somebody who signs tokens, kept as long as they are likely
 * to be the same.
 *
 * They are fetched again after a while, and when a token names a key that is not among them; not
 * more often than the cool-down allows, whatever tokens are sent. When their server does not
 * answer, that is no fault of the token: whoever asks is told to come again.
 */

import { type Refusal, unavailable } from "../http/refusal.ts";
import type { Log } from "../log.ts";
import { PublicKeys, type TokenDemand, type Verdict } from "./json-web-token.ts";
import { OutgoingFault, sendRequest } from "./outgoing-request.ts";

export interface KeySetHost {
  /** Milliseconds from any start. */
  readonly elapsed: () => number;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** How long keys are used without looking for others. */
const FRESH_MS = 10 * 60_000;

/** How long they are used while their server cannot be asked. */
const STALE_MS_MAX = 24 * 60 * 60_000;

/** How long the server is left alone after it answered, and after it did not. */
const COOL_DOWN_MS = 30_000;
const FAILED_COOL_DOWN_MS = 5_000;

/** Bytes of a key set. */
const SIZE_MAX = 256 * 1024;

export class KeySet {
  readonly #url: string;
  readonly #host: KeySetHost;
  #keys: PublicKeys | undefined;
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #isFailed = false;
  #fetching: Promise<PublicKeys> | undefined;

  constructor(url: string, host: KeySetHost) {
    this.#url = url;
    this.#host = host;
  }

  /** Throws a Refusal, 503, when the keys cannot be had. */
  async verify(token: string, demand: TokenDemand): Promise<Verdict> {
    const keys = await this.#current();
    const verdict = await keys.verify(token, demand);
    if (verdict.kind !== "unknownKey") return verdict;
    // Others may have come while this token was looked at.
    if (this.#keys !== undefined && this.#keys !== keys) return this.#keys.verify(token, demand);
    if (this.#isCool() && !this.#isFailed) return verdict;
    return (await this.#obtain()).verify(token, demand);
  }

  async #current(): Promise<PublicKeys> {
    const age = this.#host.elapsed() - this.#fetchedAt;
    if (this.#keys !== undefined && age < FRESH_MS) return this.#keys;
    try {
      return await this.#obtain();
    } catch (error) {
      if (this.#keys !== undefined && age < STALE_MS_MAX) return this.#keys;
      throw error;
    }
  }

  /** All who want them at the same time share one request. */
  async #obtain(): Promise<PublicKeys> {
    if (this.#fetching === undefined) {
      if (this.#isFailed && this.#isCool()) throw noKeys();
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
    }
    return await this.#fetching;
  }

  async #fetch(): Promise<PublicKeys> {
    const { timeoutMs, elapsed, log } = this.#host;
    try {
      const { status, bytes } = await sendRequest({ url: this.#url, timeoutMs, sizeMax: SIZE_MAX });
      if (status !== 200) throw new OutgoingFault(`expected the status 200, found ${status}`);
      this.#keys = keysOf(bytes);
      this.#fetchedAt = elapsed();
      this.#isFailed = false;
      return this.#keys;
    } catch (error) {
      this.#isFailed = true;
      const reason = error instanceof Error ? error.message : String(error);
      log("warn", `the key set at ${this.#url} could not be read: ${reason}`);
      throw noKeys();
    } finally {
      this.#triedAt = elapsed();
    }
  }

  /** Whether its server is still to be left alone. */
  #isCool(): boolean {
    const coolDown = this.#isFailed ? FAILED_COOL_DOWN_MS : COOL_DOWN_MS;
    return this.#host.elapsed() - this.#triedAt < coolDown;
  }
}

function keysOf(bytes: Uint8Array): PublicKeys {
  try {
    return new PublicKeys(JSON.parse(Buffer.from(bytes).toString()));
  } catch (cause) {
    throw new OutgoingFault("expected a JWK set in JSON", cause);
  }
}

function noKeys(): Refusal {
  return unavailable(
    "the keys that verify this token cannot be had now",
    FAILED_COOL_DOWN_MS / 1000,
  );
}
