/**
 * Webhook client: asks a server of the developer to whom a token belongs and what that user may do.
 *
 * Requests are signed, so the webhook can verify the sender (A15). An accepted token is cached for
 * half of its lifetime (A18); after that, a client that renews its session gets a longer one.
 * Concurrent logins with the same token share one request.
 */

import { createHash, createHmac } from "node:crypto";
import { bindPermissions, type Permissions, readPermissions } from "@bigpeer/engine/query";
import {
  checkValue,
  getField,
  isObject,
  PeerError,
  parseJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { networkOf } from "../address/client-address.ts";
import { type Refusal, unavailable } from "../http/refusal.ts";
import { QUESTIONS_MAX } from "../limits/limits.ts";
import type { Log } from "../observability/log.ts";
import type { WebhookProvider } from "../registry/auth-provider.ts";
import { checkIdentity, IDENTITY_METADATA } from "./identity-metadata.ts";
import { OutgoingFault, sendRequest } from "./outgoing-request.ts";
import { isUserId, USER_ID_LENGTH_MAX } from "./provider-tokens.ts";

export interface WebhooksHost {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Log;
  readonly timeoutMs: number;
}

export interface WebhookQuestion {
  readonly appId: string;
  /** Name of the provider. */
  readonly name: string;
  readonly provider: WebhookProvider;
  readonly token: string;
}

/** Client on whose behalf the webhook is asked. */
export interface Asker {
  readonly address: string;
  /** Whether the address sent many invalid credentials. */
  readonly isSuspect: boolean;
}

export type WebhookVerdict =
  | { readonly isAuthenticated: false; readonly clientInfo: Value | undefined }
  | WebhookUser;

export interface WebhookUser {
  readonly isAuthenticated: true;
  readonly userId: string;
  readonly permissions: Permissions;
  /** Identity metadata from the webhook. */
  readonly identity: ValueObject | undefined;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** Information for the client; undefined when there is none. */
  readonly clientInfo: Value | undefined;
}

/** Maximum bytes of an answer. */
const ANSWER_SIZE_MAX = 64 * 1024;

/** Maximum number of cached users; beyond it the oldest is evicted. */
const KNOWN_MAX = 10_000;

/** Concurrent requests to one webhook; beyond it the answer is 503 (A28). */
const ASKED_MAX = 64;

/** Concurrent requests for one address, and for one that is throttled. */
const ADDRESS_SHARE = 16;
const SUSPECT_SHARE = 4;

/** Key under which all requests are counted. */
const ALL = "all";

const EXPIRATION_MAX = 2 ** 32 - 1;
const RETRY_SECONDS = 5;

interface KnownUser {
  readonly user: WebhookUser;
  readonly untilMs: number;
}

export class Webhooks {
  readonly #host: WebhooksHost;
  readonly #known = new Map<string, KnownUser>();
  readonly #asking = new Map<string, Promise<WebhookVerdict>>();
  /** Requests in progress: all, by webhook, and by webhook and address. */
  readonly #counts = new Map<string, number>();

  constructor(host: WebhooksHost) {
    this.#host = host;
  }

  /** Throws a Refusal, 503, when the webhook fails or too many requests are in progress. */
  async ask(question: WebhookQuestion, asker: Asker): Promise<WebhookVerdict> {
    const key = keyOf(question);
    const known = this.#known.get(key);
    if (known !== undefined && this.#host.now() < known.untilMs) return known.user;
    this.#known.delete(key);
    const asking = this.#asking.get(key) ?? this.#askOnce(key, question, asker);
    return await asking;
  }

  async #askOnce(key: string, question: WebhookQuestion, asker: Asker): Promise<WebhookVerdict> {
    const counted = this.#enter(question, asker);
    const answer = this.#send(question);
    this.#asking.set(key, answer);
    try {
      const verdict = await answer;
      if (verdict.isAuthenticated) this.#remember(key, verdict);
      return verdict;
    } finally {
      this.#asking.delete(key);
      for (const name of counted) this.#count(name, -1);
    }
  }

  /** Counts a request; returns the keys under which it counts. */
  #enter({ appId, name }: WebhookQuestion, { address, isSuspect }: Asker): readonly string[] {
    const ofWebhook = JSON.stringify([appId, name]);
    const ofAddress = JSON.stringify([appId, name, networkOf(address)]);
    if (this.#countOf(ofAddress) >= (isSuspect ? SUSPECT_SHARE : ADDRESS_SHARE)) {
      throw unavailable("too many logins from this address wait for this provider", 1);
    }
    if (this.#countOf(ofWebhook) >= ASKED_MAX) {
      throw unavailable("too many logins wait for this provider", 1);
    }
    if (this.#countOf(ALL) >= QUESTIONS_MAX) {
      throw unavailable("too many logins wait for their providers", 1);
    }
    const names = [ALL, ofWebhook, ofAddress];
    for (const one of names) this.#count(one, 1);
    return names;
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #count(name: string, by: number): void {
    const count = this.#countOf(name) + by;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }

  async #send(question: WebhookQuestion): Promise<WebhookVerdict> {
    const { appId, name, provider, token } = question;
    const { now, timeoutMs, log } = this.#host;
    const body = JSON.stringify({
      databaseID: appId,
      appID: appId,
      version: "1",
      provider: name,
      token,
    });
    const signature = signatureOf(body, provider.secrets, Math.floor(now() / 1000));
    const headers = {
      "content-type": "application/json",
      "bigpeer-signature": signature,
      // Name of the header that existing webhooks expect.
      "ditto-signature": signature,
    };
    try {
      const url = provider.webhookUrl;
      const sizeMax = ANSWER_SIZE_MAX;
      const { status, bytes } = await sendRequest({ url, body, headers, timeoutMs, sizeMax });
      return verdictOf(status, bytes, now());
    } catch (error) {
      if (!(error instanceof OutgoingFault || error instanceof PeerError)) throw error;
      log("warn", `the webhook of a provider failed: ${error.message}`, { appId, provider: name });
      throw failed();
    }
  }

  #remember(key: string, user: WebhookUser): void {
    const nowMs = this.#host.now();
    const untilMs = nowMs + (user.expiresAt * 1000 - nowMs) / 2;
    this.#known.set(key, { user, untilMs });
    if (this.#known.size <= KNOWN_MAX) return;
    for (const first of this.#known.keys()) {
      this.#known.delete(first);
      return;
    }
  }
}

/** `t=<seconds>,v1=<hex>`, with one `v1` for each secret: see docs/authentication.md. */
export function signatureOf(body: string, secrets: readonly string[], seconds: number): string {
  const parts = secrets.map((secret) => {
    const hmac = createHmac("sha256", Buffer.from(secret, "base64"));
    return `v1=${hmac.update(`${seconds}.${body}`).digest("hex")}`;
  });
  return [`t=${seconds}`, ...parts].join(",");
}

/** Cache key. Another URL or secret is another webhook. The hash keeps the token out of memory. */
function keyOf({ appId, name, provider, token }: WebhookQuestion): string {
  const { webhookUrl, secrets } = provider;
  const text = JSON.stringify([appId, name, webhookUrl, secrets, token]);
  return createHash("sha256").update(text).digest("base64");
}

/** The statuses 401 and 403 refuse the login as well (A16). */
function verdictOf(status: number, bytes: Uint8Array, nowMs: number): WebhookVerdict {
  const isRefused = status === 401 || status === 403;
  if (status !== 200 && !isRefused) {
    throw new OutgoingFault(`expected the status 200, found ${status}`);
  }
  const answer = isRefused ? parsedOr(bytes) : parsed(bytes);
  const clientInfo = field(answer, "clientInfo", "userInfo");
  const isAuthenticated = field(answer, "authenticated", "authenticate");
  if (isRefused || isAuthenticated === false) return { isAuthenticated: false, clientInfo };
  if (isAuthenticated !== true) throw unexpected("true or false", "authenticated");
  return { ...userOf(answer, nowMs), clientInfo };
}

function userOf(answer: ValueObject, nowMs: number): Omit<WebhookUser, "clientInfo"> {
  const seconds = getField(answer, "expirationSeconds");
  if (!Number.isInteger(seconds) || Number(seconds) < 1 || Number(seconds) > EXPIRATION_MAX) {
    throw unexpected(`an integer from 1 to ${EXPIRATION_MAX}`, "expirationSeconds");
  }
  const userId = field(answer, "userID", "userId");
  if (!isUserId(userId)) {
    throw unexpected(`text of 1 to ${USER_ID_LENGTH_MAX} characters`, "userID");
  }
  const given = getField(answer, "permissions") ?? null;
  const own = readPermissions(given, "permissions", { isOfUsers: true });
  const expiresAt = Math.floor(nowMs / 1000) + Number(seconds);
  const identity = checkIdentity(getField(answer, IDENTITY_METADATA));
  const claims = { ...identity, [IDENTITY_METADATA]: identity };
  const permissions = bindPermissions(own, { userId, claims });
  return { isAuthenticated: true, userId, permissions, identity, expiresAt };
}

function parsed(bytes: Uint8Array): ValueObject {
  // A part of it is sent to the client, so it must be valid as a value.
  const value = checkValue(parseJson(Buffer.from(bytes).toString()), "its answer");
  if (isObject(value)) return value;
  throw new OutgoingFault("expected an object in JSON as answer");
}

/** A refusal needs no body. */
function parsedOr(bytes: Uint8Array): ValueObject {
  try {
    return parsed(bytes);
  } catch {
    return {};
  }
}

/** Reads a field by its name, or by its older name. */
function field(answer: ValueObject, name: string, older: string): Value | undefined {
  return getField(answer, name) ?? getField(answer, older);
}

function unexpected(expected: string, at: string): OutgoingFault {
  return new OutgoingFault(`expected ${expected} at ${at} of its answer`);
}

function failed(): Refusal {
  return unavailable("the provider cannot be asked now", RETRY_SECONDS);
}
