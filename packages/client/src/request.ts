/**
 * Sends requests, and repeats those that may be repeated.
 *
 * An attempt fails if there is no answer (the connection failed or was lost, or the time was up) or
 * the answer is an error. After a transient failure the request is sent again: at once or late, but
 * never before the time in `Retry-After`. The pauses grow exponentially, with full jitter, so that
 * many clients of a server that comes back do not all come at once.
 *
 * Without an answer the client cannot know whether the server has processed the request. So only
 * idempotent requests are repeated: a read, a write with an idempotency key, a PUT. Others are
 * repeated only after 429, which the server sends before it looks at the request.
 */

import { BigPeerError, errorOfAnswer } from "./error.ts";
import { parseExact } from "./exact-json.ts";
import type { CallOptions, ClientOptions } from "./options.ts";

/** A request, ready to be sent any number of times. */
export interface HttpRequest<T> {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData | Blob | undefined;
  /** Whether it does no harm if the server gets it twice. */
  readonly isRepeatable: boolean;
  /** Reads an answer whose status is below 400. */
  readonly read: (response: Response) => Promise<T>;
  /** Whether `read` leaves the body to the caller. */
  readonly isStream?: boolean;
}

/** Sends a request whose address is below a base. */
export type Send = <T>(request: HttpRequest<T>, options: CallOptions) => Promise<T>;

export interface SendOptions extends CallOptions {
  readonly timeoutMs: number;
  readonly retries: number;
  readonly fetch: NonNullable<ClientOptions["fetch"]>;
}

const FIRST_DELAY_MS = 200;
const DELAY_MS_MAX = 10_000;

/** A server that asks for a longer pause has no answer for this call. */
const RETRY_AFTER_MS_MAX = 60_000;

/** The longest time of a timer, 24 days: one with a longer time ends at once. */
const TIMER_MS_MAX: number = 2 ** 31 - 1;

/** Throws a BigPeerError, or the reason of the signal. */
export async function send<T>(request: HttpRequest<T>, options: SendOptions): Promise<T> {
  const { signal, retries } = options;
  // A header that is none is a fault of the caller, not of the network.
  const headers = new Headers(request.headers);
  for (let attempts = 1; ; attempts++) {
    signal?.throwIfAborted();
    try {
      return await attempt(request, headers, options);
    } catch (error) {
      if (!(error instanceof BigPeerError)) throw error;
      error.attempts = attempts;
      const delayMs = delayAfter(error, attempts);
      const isLast = attempts > retries || !mayRepeat(request, error);
      if (isLast || delayMs === undefined) throw error;
      await pause(delayMs, signal);
    }
  }
}

function mayRepeat({ isRepeatable }: HttpRequest<unknown>, error: BigPeerError): boolean {
  return error.status === 429 || (isRepeatable && error.isTransient);
}

/** Undefined if the server asks for more than is reasonable. */
function delayAfter({ retryAfterMs = 0 }: BigPeerError, attempts: number): number | undefined {
  if (retryAfterMs > RETRY_AFTER_MS_MAX) return undefined;
  const most = Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** (attempts - 1));
  return retryAfterMs + Math.random() * most;
}

async function attempt<T>(
  request: HttpRequest<T>,
  headers: Headers,
  options: SendOptions,
): Promise<T> {
  const { method, url, body, read, isStream = false } = request;
  const { signal, timeoutMs } = options;
  const ending = new AbortController();
  let isLate = false;
  const onAbort = (): void => ending.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const onTimeout = (): void => {
    isLate = true;
    ending.abort();
  };
  const timer = setTimeout(onTimeout, Math.min(timeoutMs, TIMER_MS_MAX));
  let isLeft = false;
  try {
    const init = { method, headers, signal: ending.signal, ...(body !== undefined && { body }) };
    const response = await options.fetch(url, init);
    if (response.status >= 400) throw errorOfAnswer(response, await readFailure(response));
    const value = await read(response);
    isLeft = isStream;
    return value;
  } catch (error) {
    if (error instanceof BigPeerError) throw error;
    signal?.throwIfAborted();
    throw isLate ? timeoutError(timeoutMs, error) : networkError(error);
  } finally {
    clearTimeout(timer);
    // The signal still ends a stream that the caller reads.
    if (!isLeft) signal?.removeEventListener("abort", onAbort);
  }
}

function timeoutError(timeoutMs: number, cause: unknown): BigPeerError {
  return new BigPeerError("client.timeout", `no answer within ${timeoutMs} ms`, { cause });
}

function networkError(cause: unknown): BigPeerError {
  const { message = "", cause: inner } = cause as { message?: string; cause?: unknown };
  const reason = (inner as { readonly message?: string } | undefined)?.message ?? message;
  const text = `failed to get an answer: ${reason || "the connection failed"}`;
  return new BigPeerError("client.network", text, { cause });
}

export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return parseExact(text) as T;
  } catch (cause) {
    const found = response.headers.get("content-type") ?? "no content type";
    const message = `expected an answer in JSON, found ${found}`;
    throw new BigPeerError("client.answer", message, { status: response.status, cause });
  }
}

/** Reads an object that has these lists. Another server at the address answers something else. */
export function readWithLists<T>(...lists: readonly string[]): (response: Response) => Promise<T> {
  return async (response) => {
    const answer = await readJson<unknown>(response);
    const isObject = typeof answer === "object" && answer !== null && !Array.isArray(answer);
    const fields = (isObject ? answer : {}) as { readonly [name: string]: unknown };
    if (isObject && lists.every((name) => Array.isArray(fields[name]))) return answer as T;
    throw foreignAnswer(response, `without ${["an object", ...lists].join(", ")}`);
  };
}

/** Returns the body of an answer in this type. Another server at the address has another one. */
export async function readStream(response: Response, type: string): Promise<ReadableStream> {
  const found = response.headers.get("content-type") ?? "no content type";
  if (found.split(";", 1)[0]?.trim().toLowerCase() !== type) {
    await response.body?.cancel();
    throw foreignAnswer(response, `in ${type}`, found);
  }
  return response.body ?? new Blob([]).stream();
}

function foreignAnswer(response: Response, what: string, found?: string): BigPeerError {
  const text =
    found === undefined
      ? `expected an answer of a Big Peer, found JSON ${what}`
      : `expected an answer of a Big Peer ${what}, found ${found}`;
  return new BigPeerError("client.answer", `${text}; check the address`, {
    status: response.status,
  });
}

/** An answer that is not JSON comes from a proxy. */
async function readFailure(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Rejects with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}
