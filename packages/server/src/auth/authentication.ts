/**
 * Authentication: verifies credentials and throttles addresses that send invalid ones. A server has
 * one, which the data API and the login share with all that it caches.
 */

import type { Platform } from "@bigpeer/engine";
import { Refusal, refusalOf } from "../http/refusal.ts";
import type { Log } from "../observability/log.ts";
import { Credentials } from "./credentials.ts";
import { FailedCredentials } from "./failed-credentials.ts";
import { KeysRefusal } from "./key-set.ts";
import { ProviderTokens } from "./provider-tokens.ts";
import { Webhooks } from "./webhook.ts";

export interface AuthenticationOptions {
  readonly platform: Pick<Platform, "now" | "elapsed">;
  readonly log: Log;
  /** Timeout of requests to webhooks and key sets. */
  readonly webhookTimeoutMs: number;
  /** Called for every invalid credential. */
  readonly onFailed?: () => void;
}

/** Reasons of refused tokens that are logged within a minute. */
const REASONS_MAX = 60;
const REASONS_MS = 60_000;

/** Context of a refused token, for the log. */
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
  /** Reasons logged since the start of the current minute. */
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
   * Logs why a token was refused; its sender does not learn it (A24). Any client can send any
   * number of tokens, so the lines per minute are bounded.
   */
  noteReason(reason: string, place: RefusedPlace): void {
    const nowMs = this.#elapsed();
    if (nowMs - this.#reasons.sinceMs >= REASONS_MS) this.#reasons = { sinceMs: nowMs, count: 0 };
    if (++this.#reasons.count > REASONS_MAX) return;
    this.#log("info", `a token was refused: ${reason}`, { ...place });
  }

  /** Call it for every invalid credential. Throws a Refusal, 429, after too many (H43). */
  noteFailure(address: string): void {
    this.#onFailed?.();
    this.#failed.refuse(address, "credential");
  }

  /**
   * As `noteFailure`, if `error` means an invalid credential. A token whose keys cannot be fetched
   * counts too: forged tokens must not be free meanwhile.
   */
  noteError(error: unknown, address: string): void {
    const isWrong = error instanceof Refusal && error.status === 401;
    if (isWrong || error instanceof KeysRefusal) this.noteFailure(address);
  }

  /**
   * Call it for every valid credential. Throws a Refusal, 429, when the address is throttled and
   * the credential was not accepted from it within the last day (H43).
   */
  pass(address: string, owner: string): void {
    this.#failed.pass(address, owner, "credential");
  }

  /** Call it when a credential is accepted, once for each connection. */
  accept(address: string, owner: string): void {
    this.#failed.accept(address, owner);
  }

  /**
   * As `noteError`, for a login: a malformed body counts as an invalid credential. The caller is
   * unknown, and reading the body takes longer than sending it.
   */
  noteFailedLogin(error: unknown, address: string): void {
    if (refusalOf(error)?.status === 400) this.noteFailure(address);
    else this.noteError(error, address);
  }

  /** Whether the address is throttled: its next failure is 429. */
  isSuspect(address: string): boolean {
    return this.#failed.retryAfterSeconds(address) !== undefined;
  }
}
