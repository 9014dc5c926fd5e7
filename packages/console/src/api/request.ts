/**
 * Requests to the management API, with the session cookie of the page. A failure is an `ApiError`
 * with the title and the detail of the answer.
 */

import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import { type Signal, signal } from "../kit/preact.ts";

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0 if there was no answer. */
  readonly status: number;
  /** Such as `AppNotFound`; of a statement, `StatementFailed`. */
  readonly title: string;
  /** Under which the log of the server has more. */
  readonly requestId: string | undefined;

  constructor(status: number, title: string, detail: string, requestId?: string) {
    super(detail);
    this.status = status;
    this.title = title;
    this.requestId = requestId;
  }

  static from(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    return new ApiError(0, "Failed", error instanceof Error ? error.message : String(error));
  }
}

/** Whether the last request found no session: the console then asks to sign in again. */
export const isSessionLost: Signal<boolean> = signal(false);

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The answer of a path as JSON. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  const body = await readJson(response);
  if (response.ok) return body as T;
  throw failureOf(response, body);
}

/** The answer itself, for contents and streams. Its status is 2xx. */
export async function requestRaw(path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await send(path, options);
  if (response.ok) return response;
  throw failureOf(response, await readJson(response));
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const { method = "GET", body, headers = {}, signal: abort } = options;
  const init: RequestInit = { method, headers, credentials: "same-origin", redirect: "error" };
  if (abort !== undefined) init.signal = abort;
  if (body !== undefined) {
    init.headers = { ...headers, "content-type": "application/json" };
    init.body = stringifyExact(body);
  }
  try {
    return await fetch(path, init);
  } catch (error) {
    if (abort?.aborted === true) throw error;
    throw new ApiError(0, "Unreachable", "failed to reach the server: is it running?");
  }
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === "" ? null : parseExact(text);
  } catch {
    throw new ApiError(response.status, "InvalidAnswer", "expected an answer in JSON");
  }
}

interface FailureBody {
  readonly title?: string;
  readonly detail?: string;
  readonly message?: string;
  readonly error?: { readonly description?: string };
}

function failureOf(response: Response, body: unknown): ApiError {
  const { title, detail, message, error } = (body ?? {}) as FailureBody;
  const requestId = response.headers.get("x-request-id") ?? undefined;
  if (response.status === 401) isSessionLost.value = true;
  const text = detail ?? error?.description ?? message ?? `the server answered ${response.status}`;
  const name = title ?? (error === undefined ? "Failed" : "StatementFailed");
  return new ApiError(response.status, name, text, requestId);
}
