/**
 * Webhook sender: posts a batch of changes to the URL of a webhook.
 *
 * The name in the URL is resolved once, all its addresses are checked, and the connection goes to
 * one of these: a name that resolves differently a moment later leads nowhere else. Redirects are
 * not followed. Time is bounded as a whole, and so are the bytes that are read of an answer.
 */

import { type LookupAddress, lookup } from "node:dns";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPrivateAddress } from "../address/private-address.ts";
import { VERSION } from "../config/version.ts";
import type { Webhook } from "../registry/webhooks.ts";
import type { FailedSend, Message, PlacedChange, Sender, SendOutcome } from "./sender.ts";
import { signatureHeaders } from "./webhook-signature.ts";

export interface WebhookSenderOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timeoutMs: number;
  /** All addresses of a name; by default the resolver of the machine. For tests. */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

/** Bytes of an answer that are read. */
const ANSWER_SIZE_MAX = 16 * 1024;

/** Characters of an answer in an error. */
const SHOWN_LENGTH_MAX = 200;

/** How long an unused connection stays open. */
const IDLE_MS = 30_000;

/** Statuses for the content, which another attempt hardly changes. */
const REFUSING = new Set([400, 413, 415, 422]);

const GONE = 410;

const STOPPED = "the delivery was stopped";

export class WebhookSender implements Sender {
  readonly #webhook: Webhook;
  readonly #options: WebhookSenderOptions;
  readonly #url: URL;
  readonly #agent: HttpAgent;

  constructor(webhook: Webhook, options: WebhookSenderOptions) {
    this.#webhook = webhook;
    this.#options = options;
    this.#url = new URL(webhook.url);
    const keep = { keepAlive: true, maxFreeSockets: 1, timeout: IDLE_MS };
    this.#agent = this.#url.protocol === "https:" ? new HttpsAgent(keep) : new HttpAgent(keep);
  }

  /** The time is that of the last change, so that a repetition has the same body. */
  compose(changes: readonly PlacedChange[]): string {
    const head = {
      type: "changes",
      timestamp: changes.at(-1)?.change.at ?? "",
      app: this.#webhook.appId,
    };
    const data = changes.map(({ cursor, json }) => {
      return `{"cursor":${JSON.stringify(cursor)},${json.slice(1)}`;
    });
    return `${JSON.stringify(head).slice(0, -1)},"data":[${data.join(",")}]}`;
  }

  async send(message: Message, signal: AbortSignal): Promise<SendOutcome> {
    const first = await this.#attempt(message, signal);
    // The receiver had closed the idle connection just then.
    return first === "stale" ? orFailed(await this.#attempt(message, signal)) : first;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #attempt(message: Message, signal: AbortSignal): Promise<SendOutcome | "stale"> {
    const { timeoutMs } = this.#options;
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIP(host) !== 0 && !this.#mayReach(host)) return refusedAddress(host);
    // AbortSignal.any would keep each attempt of a long delivery in memory.
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal.addEventListener("abort", end);
    const timer = setTimeout(end, timeoutMs);
    try {
      if (signal.aborted) return failed(STOPPED);
      return await this.#post(message, ending.signal);
    } catch (error) {
      if (signal.aborted) return failed(STOPPED);
      if (ending.signal.aborted) return failed(`no answer within ${timeoutMs} ms`);
      return failed(reasonOf(error as Error));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** Rejects without an answer. One that has begun counts, also if it is cut. */
  #post(message: Message, signal: AbortSignal): Promise<SendOutcome | "stale"> {
    return new Promise((resolve, reject) => {
      const body = Buffer.from(message.payload);
      const request = (this.#url.protocol === "https:" ? httpsRequest : httpRequest)(this.#url, {
        method: "POST",
        agent: this.#agent,
        signal,
        lookup: this.#lookup,
        headers: this.#headersOf(message, body.length),
      });
      let isAnswered = false;
      request.on("response", (response) => {
        isAnswered = true;
        readStart(response, (text) => resolve(outcomeOf(response, text)));
      });
      // Such an answer is no "response", and without a listener nothing would say that it came.
      request.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve(outcomeOf(response, ""));
      });
      request.on("error", (error) => {
        if (isAnswered) return;
        if (request.reusedSocket && codeOf(error) === "ECONNRESET") resolve("stale");
        else reject(error);
      });
      request.end(body);
    });
  }

  #headersOf(message: Message, length: number): Record<string, string | number> {
    const seconds = Math.floor(this.#options.now() / 1000);
    return {
      "content-type": "application/json",
      "content-length": length,
      "user-agent": `bigpeer/${VERSION}`,
      ...signatureHeaders(message, this.#webhook.secrets, seconds),
    };
  }

  #mayReach(address: string): boolean {
    return this.#webhook.isPrivateAllowed || !isPrivateAddress(address);
  }

  /** Gives the connection the checked addresses, and no others. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    const { resolve = resolveAll } = this.#options;
    resolve(hostname).then(
      (addresses) => {
        const refused = addresses.find(({ address }) => !this.#mayReach(address));
        const [first] = addresses;
        if (refused !== undefined) callback(privateError(refused.address), "", 0);
        else if (first === undefined) callback(new Error(`no address of ${hostname}`), "", 0);
        else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };
}

function resolveAll(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}

/** Reads the start of an answer; the connection of a longer one is cut. */
function readStart(response: IncomingMessage, done: (text: string) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const end = (): void => done(Buffer.concat(chunks).toString("utf8", 0, ANSWER_SIZE_MAX));
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size > ANSWER_SIZE_MAX) response.destroy();
  });
  response.on("error", () => {});
  response.on("close", end);
}

/** The status decides, however long the body is, and also if it never ends. */
function outcomeOf(
  { statusCode: status = 0, headers }: IncomingMessage,
  text: string,
): SendOutcome {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const shown = text.trim().slice(0, SHOWN_LENGTH_MAX);
  const message = `expected a status of 200 to 299, found ${status}${shown && `: ${shown}`}`;
  if (status === GONE) return { kind: "gone", message };
  const isRedirect = status >= 300 && status < 400;
  const askedMs = retryAfterMs(headers["retry-after"]);
  return {
    kind: "failed",
    message: isRedirect ? `${message} (redirects are not followed)` : message,
    status,
    isRefused: REFUSING.has(status),
    ...(askedMs !== undefined && { askedMs }),
  };
}

/** The form with seconds; a date is ignored. */
function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : undefined;
}

function orFailed(outcome: SendOutcome | "stale"): SendOutcome {
  return outcome === "stale" ? failed("the receiver closed the connection") : outcome;
}

function failed(message: string): FailedSend {
  return { kind: "failed", message };
}

function refusedAddress(address: string): FailedSend {
  return failed(privateError(address).message);
}

function privateError(address: string): Error {
  return new Error(`the address ${address} is not on the public internet; set allowPrivate`);
}

function codeOf(error: Error): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** An error of several addresses has an empty message. */
function reasonOf(error: Error): string {
  if (error.message !== "") return error.message;
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first?.message ?? codeOf(error) ?? "the request failed";
}
