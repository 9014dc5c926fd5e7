/**
 * A key set at a URL: the public keys of somebody who signs tokens, kept as long as they are likely
 * to be the same.
 *
 * They are fetched again after a while, and when a token names a key that is not among them; not
 * more often than the cool-down allows, whatever tokens are sent. When their server does not
 * answer, that is no fault of the token: the keys of before are used, and where they do not help,
 * whoever asks is told to come again.
 */

import { Refusal } from "../http/refusal.ts";
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

/** How long a token waits for newer keys when there are some that may do. */
const PATIENCE_MS = 1_000;

/** How long the server is left alone after it answered, and after it did not. */
const COOL_DOWN_MS = 30_000;
const FAILED_COOL_DOWN_MS = 5_000;

/** Bytes of a key set. */
const SIZE_MAX = 256 * 1024;

/** The keys cannot be had now, so nothing is known of the token. */
export class KeysRefusal extends Refusal {
  constructor() {
    const headers = { "retry-after": String(FAILED_COOL_DOWN_MS / 1000) };
    super(503, "the keys that verify this token cannot be had now", headers);
  }
}

export class KeySet {
  readonly #url: string;
  readonly #host: KeySetHost;
  #keys: PublicKeys | undefined;
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #isFailed = false;
  /** Whether somebody has waited in vain for the request that is under way. */
  #isSlow = false;
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

  /** New ones where they are needed; else those that there are, if their server is not quick. */
  async #current(): Promise<PublicKeys> {
    const known = this.#keys;
    const age = this.#host.elapsed() - this.#fetchedAt;
    if (known !== undefined && age < FRESH_MS) return known;
    const obtained = this.#obtain();
    if (known === undefined || age >= STALE_MS_MAX) return await obtained;
    const orKnown = obtained.catch(() => known);
    // A key may have been taken back meanwhile: so the server gets a moment to say it.
    return this.#isFailed || this.#isSlow ? known : await this.#soon(orKnown, known);
  }

  /** What `obtained` becomes within a moment, else `known`; then nobody waits again. */
  async #soon(obtained: Promise<PublicKeys>, known: PublicKeys): Promise<PublicKeys> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<PublicKeys>((resolve) => {
      timer = setTimeout(() => {
        this.#isSlow = true;
        resolve(known);
      }, PATIENCE_MS);
    });
    try {
      return await Promise.race([obtained, patience]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** All who want them at the same time share one request. */
  async #obtain(): Promise<PublicKeys> {
    if (this.#fetching === undefined) {
      if (this.#isFailed && this.#isCool()) throw new KeysRefusal();
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
      throw new KeysRefusal();
    } finally {
      this.#triedAt = elapsed();
      this.#isSlow = false;
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
