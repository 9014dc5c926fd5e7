/**
 * Key set: cache of the public keys that an issuer publishes at a URL (JWKS).
 *
 * It fetches the keys again after a while, and when a token names an unknown key, but never more
 * often than the cool-down allows (A9). When the issuer does not answer, the cached keys stay in
 * use (A26). If they do not help, the request gets 503 rather than 401.
 */

import { Refusal } from "../http/refusal.ts";
import type { Log } from "../observability/log.ts";
import { PublicKeys, type TokenDemand, type Verdict } from "./json-web-token.ts";
import { OutgoingFault, sendRequest } from "./outgoing-request.ts";

export interface KeySetHost {
  /** Monotonic milliseconds from any start. */
  readonly elapsed: () => number;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** How long keys are used before they are fetched again. */
const FRESH_MS = 10 * 60_000;

/** How long cached keys are used while the issuer is unreachable. */
const STALE_MS_MAX = 24 * 60 * 60_000;

/** How long a token waits for newer keys when cached ones may do. */
const PATIENCE_MS = 1_000;

/** Pause between fetches after a success, and after a failure. */
const COOL_DOWN_MS = 30_000;
const FAILED_COOL_DOWN_MS = 5_000;

/** Maximum bytes of a key set. */
const SIZE_MAX = 256 * 1024;

/** Refusal, 503: the keys are not available, so the token cannot be verified. */
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
  /** Whether a token waited in vain for the fetch in progress. */
  #isSlow = false;
  #fetching: Promise<PublicKeys> | undefined;

  constructor(url: string, host: KeySetHost) {
    this.#url = url;
    this.#host = host;
  }

  /** Throws a Refusal, 503, when the keys are not available. */
  async verify(token: string, demand: TokenDemand): Promise<Verdict> {
    const keys = await this.#current();
    const verdict = await keys.verify(token, demand);
    if (verdict.kind !== "unknownKey") return verdict;
    // A fetch may have completed meanwhile.
    if (this.#keys !== undefined && this.#keys !== keys) return this.#keys.verify(token, demand);
    if (this.#isCool() && !this.#isFailed) return verdict;
    return (await this.#obtain()).verify(token, demand);
  }

  /** Returns fresh keys if they are needed; otherwise the cached ones if the issuer is slow. */
  async #current(): Promise<PublicKeys> {
    const known = this.#keys;
    const age = this.#host.elapsed() - this.#fetchedAt;
    if (known !== undefined && age < FRESH_MS) return known;
    const obtained = this.#obtain();
    if (known === undefined || age >= STALE_MS_MAX) return await obtained;
    const orKnown = obtained.catch(() => known);
    // A key may have been revoked: so the issuer gets a moment to answer.
    return this.#isFailed || this.#isSlow ? known : await this.#soon(orKnown, known);
  }

  /** Waits briefly for `obtained`, else returns `known`; later tokens then do not wait. */
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

  /** Concurrent callers share one fetch. */
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

  /** Whether the cool-down is still running. */
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
