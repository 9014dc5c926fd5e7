/**
 * Authentication: the parts that find out who somebody is, together. One for each server: what it
 * has learnt serves the data API and the login alike.
 */

import type { Platform } from "@bigpeer/engine";
import { FailedCredentials } from "../failed-credentials.ts";
import { Refusal, refusalOf } from "../http/refusal.ts";
import type { Log } from "../log.ts";
import { Credentials } from "./credentials.ts";
import { KeysRefusal } from "./key-set.ts";
import { ProviderTokens } from "./provider-tokens.ts";
import { Webhooks } from "./webhook.ts";

export interface AuthenticationOptions {
  readonly platform: Pick<Platform, "now" | "elapsed">;
  readonly log: Log;
  /** How long somebody else's server may take to answer. */
  readonly webhookTimeoutMs: number;
  /** Told of every credential that opened nothing. */
  readonly onFailed?: () => void;
}

/** Reasons of refused tokens that are logged in a minute. */
const REASONS_MAX = 60;
const REASONS_MS = 60_000;

/** Where a token was refused. */
export interface RefusedPlace {
  readonly requestId?: string;
  readonly remoteAddress?: string;
  readonly appId?: string | undefined;
  readonly provider?: string;
}

export class Authentication {
  readonly credentials: Credentials;
  readonly tokens: ProviderTokens;
  readonly webhooks: Webhooks;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly #failed: FailedCredentials;
  readonly #log: Log;
  readonly #elapsed: () => number;
  /** Reasons that were logged in the minute that began then. */
  #reasons = { sinceMs: -Infinity, count: 0 };
  readonly #onFailed: (() => void) | undefined;

  constructor({ platform, log, webhookTimeoutMs, onFailed }: AuthenticationOptions) {
    const now = (): number => platform.now();
    const elapsed = (): number => platform.elapsed();
    this.now = now;
    this.tokens = new ProviderTokens({ now, elapsed, log, timeoutMs: webhookTimeoutMs });
    this.webhooks = new Webhooks({ now, log, timeoutMs: webhookTimeoutMs });
    this.credentials = new Credentials({ now, tokens: this.tokens });
    this.#failed = new FailedCredentials(elapsed);
    this.#onFailed = onFailed;
    this.#log = log;
    this.#elapsed = elapsed;
  }

  /**
   * Logs why a token was refused, which its sender is not told. Anybody can send any number of tokens: so
   * there is a bound on the lines of a minute.
   */
  noteReason(reason: string, place: RefusedPlace): void {
    const nowMs = this.#elapsed();
    if (nowMs - this.#reasons.sinceMs >= REASONS_MS) this.#reasons = { sinceMs: nowMs, count: 0 };
    if (++this.#reasons.count > REASONS_MAX) return;
    this.#log("info", `a token was refused: ${reason}`, { ...place });
  }

  /**
   * To be called for every credential that opened nothing. Throws a Refusal, 429, when there were
   * too many.
   */
  noteFailure(address: string): void {
    this.#onFailed?.();
    this.#failed.refuse(address, "credential");
  }

  /**
   * As noteFailure, where `error` says that a credential opened nothing. One that cannot be verified
   * now is counted, too: whoever makes tokens up must not do so without end meanwhile.
   */
  noteError(error: unknown, address: string): void {
    const isWrong = error instanceof Refusal && error.status === 401;
    if (isWrong || error instanceof KeysRefusal) this.noteFailure(address);
  }

  /**
   * To be called for every credential that is valid. Throws a Refusal, 429, when there were too many
   * failures and it was not accepted from this address within the last day.
   */
  pass(address: string, owner: string): void {
    this.#failed.pass(address, owner, "credential");
  }

  /** To be called when one was accepted, once for each connection. */
  accept(address: string, owner: string): void {
    this.#failed.accept(address, owner);
  }

  /**
   * As noteError, for a login: a body that is malformed is counted as a wrong credential is. Nobody is
   * known yet, and to read it takes longer than to send it.
   */
  noteFailedLogin(error: unknown, address: string): void {
    if (refusalOf(error)?.status === 400) this.noteFailure(address);
    else this.noteError(error, address);
  }

  /** Whether so many failures came from there that the next one is 429. */
  isSuspect(address: string): boolean {
    return this.#failed.retryAfterSeconds(address) !== undefined;
  }
}
