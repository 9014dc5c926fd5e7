/**
 * HTTP transport: sends and receives the contents of attachments over the data API (H37, H54), beside
 * the connection of the sync, so that a large file does not delay documents.
 */

import type { Cancel, ContentTransport, CreatedContent, WantedContent } from "@bigpeer/engine/peer";
import { TransferError } from "@bigpeer/engine/peer";
import type { ErrorCode } from "@bigpeer/protocol";
import { PieceSize } from "./piece-size.ts";

export interface HttpTransportOptions {
  /** Address of the attachments of the app, without a slash at the end. */
  readonly url: string;
  /** The credential; rejects if there is none now. */
  readonly token: () => Promise<string>;
  /** The server did not accept the credential. */
  readonly onUnauthorized: () => void;
}

/** The longest time for the answer to a request, and between two pieces of a download. */
const ANSWER_MS_MAX = 120_000;
const IDLE_MS_MAX = 30_000;

/** Bytes of a request at most. What is sent is in memory, several times; what is received is not. */
const SENT_MAX = 4 * 1024 * 1024;
const RECEIVED_MAX = 8 * 1024 * 1024;

export function httpTransport(options: HttpTransportOptions): ContentTransport {
  const [sent, received] = [new PieceSize(SENT_MAX), new PieceSize(RECEIVED_MAX)];
  return {
    begin: (content, cancel) => begin(options, content, cancel),
    send: (content, offset, pieces, cancel) =>
      sendAll(options, { content, offset, pieces, cancel, size: sent }),
    receive: (content, offset, cancel) =>
      receiveAll(options, { content, offset, cancel, size: received }),
  };
}

async function begin(
  options: HttpTransportOptions,
  { id, len, proof }: CreatedContent,
  cancel: Cancel,
): Promise<number> {
  const answer = await ask(options, `${id}/upload`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ len, proof }),
    cancel,
  });
  return offsetIn(answer);
}

interface Sending {
  readonly content: CreatedContent;
  readonly offset: number;
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly cancel: Cancel;
  readonly size: PieceSize;
}

async function sendAll(
  options: HttpTransportOptions,
  { content, offset, pieces, cancel, size }: Sending,
): Promise<number> {
  let at = offset;
  for await (const body of ahead(gathered(pieces, size))) {
    if (cancel.isCancelled) return at;
    const headers = {
      "content-type": "application/octet-stream",
      "upload-offset": String(at),
      "upload-length": String(content.len),
    };
    const asked = { method: "PATCH", headers, body, cancel };
    const answer = await timed(size, body.length, () =>
      ask(options, `${content.id}/upload`, asked),
    );
    const next = offsetIn(answer);
    if (isConflict(answer) && next >= content.len) return begin(options, content, cancel);
    // The server expects another place: the upload begins there again.
    if (next !== at + body.length) return next;
    at = next;
  }
  return at;
}

async function timed<T>(size: PieceSize, bytes: number, work: () => Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    const result = await work();
    size.done(bytes, performance.now() - since);
    return result;
  } catch (error) {
    size.failed();
    throw error;
  }
}

/** Joins pieces into the bodies of requests. Two buffers take turns: one is sent, one is filled. */
async function* gathered(
  pieces: AsyncIterable<Uint8Array>,
  size: PieceSize,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let [body, other] = [new Uint8Array(size.bytes), new Uint8Array(0)];
  let filled = 0;
  for await (const piece of pieces) {
    let from = 0;
    while (from < piece.length) {
      const part = piece.subarray(from, from + body.length - filled);
      body.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled < body.length) continue;
      yield body;
      [body, other] = [other.length === size.bytes ? other : new Uint8Array(size.bytes), body];
      filled = 0;
    }
  }
  if (filled > 0) yield body.subarray(0, filled);
}

/** Reads the next piece while one is sent. */
async function* ahead<T>(pieces: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = pieces.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = pieces.next();
      // Its error is thrown when it is its turn.
      next.catch(() => {});
      yield value;
    }
  } finally {
    await next.catch(() => {});
    await pieces.return(undefined);
  }
}

interface Receiving {
  readonly content: WantedContent;
  readonly offset: number;
  readonly cancel: Cancel;
  readonly size: PieceSize;
}

async function* receiveAll(
  options: HttpTransportOptions,
  { content, offset, cancel, size }: Receiving,
): AsyncIterable<Uint8Array> {
  let at = offset;
  while (at < content.len && !cancel.isCancelled) {
    const since = performance.now();
    const from = at;
    let isWhole = false;
    const idle = new IdleTimer(IDLE_MS_MAX, cancel);
    try {
      const range = `bytes=${at}-${at + size.bytes - 1}`;
      const { signal } = idle;
      const init = { method: "GET", headers: { range }, signal };
      const response = await request(options, content.id, init);
      await checkPart(response, content, options);
      for await (const bytes of bodyOf(response, idle)) {
        at += bytes.length;
        yield bytes;
      }
      isWhole = at > from;
    } finally {
      idle.stop();
      if (isWhole) size.done(at - from, performance.now() - since);
      else size.failed();
    }
    if (!isWhole) throw new TransferError("lost", "expected bytes of an attachment, found none");
  }
}

async function* bodyOf(response: Response, idle: IdleTimer): AsyncIterable<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    idle.restart();
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw lost(error);
    });
    if (done) return;
    yield value;
  }
}

/** The server says how many bytes the whole content has: they must be those of the token. */
async function checkPart(
  response: Response,
  { id, len }: WantedContent,
  options: HttpTransportOptions,
): Promise<void> {
  const { status, headers } = response;
  if (!response.ok && status !== 416) throw await faultOf(response, options);
  const range = /^bytes (?:\d+-\d+|\*)\/(\d+)$/.exec(headers.get("content-range") ?? "");
  const total = range === null ? undefined : Number(range[1]);
  if (total === len && status === 206) return;
  if (total === undefined || total === len) {
    throw new TransferError("later", "expected a part of an attachment from the server");
  }
  throw refused(
    `expected ${len} bytes of the attachment ${id}, as its token says; the server has ${total}`,
    "attachment.invalid",
  );
}

interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly cancel: Cancel;
}

/** The JSON of the answer; 409 is an answer too, with the place that is expected. */
async function ask(
  options: HttpTransportOptions,
  path: string,
  { method, headers, body, cancel }: Asked,
): Promise<unknown> {
  const idle = new IdleTimer(ANSWER_MS_MAX, cancel);
  try {
    const response = await request(options, path, { method, headers, body, signal: idle.signal });
    if (!response.ok && response.status !== 409) throw await faultOf(response, options);
    return await response.json().catch((error: unknown) => {
      throw lost(error);
    });
  } finally {
    idle.stop();
  }
}

async function request(
  { url, token }: HttpTransportOptions,
  path: string,
  init: Omit<RequestInit, "headers"> & { readonly headers: Readonly<Record<string, string>> },
): Promise<Response> {
  const credential = await token().catch((error: unknown) => {
    throw new TransferError("later", messageOf(error));
  });
  const headers = { ...init.headers, authorization: `Bearer ${credential}` };
  return fetch(`${url}/${path}`, { ...init, headers }).catch((error: unknown) => {
    throw lost(error);
  });
}

async function faultOf(
  response: Response,
  { onUnauthorized }: HttpTransportOptions,
): Promise<TransferError> {
  const answer = (await response.json().catch(() => ({}))) as { readonly message?: unknown };
  const reason = typeof answer.message === "string" ? answer.message : "no reason given";
  const message = `${response.status}: ${reason}`;
  const afterMs = 1000 * (Number(response.headers.get("retry-after")) || 0);
  switch (response.status) {
    case 401:
      // The session is valid: another one would not help.
      if (reason.endsWith("(permission.denied)")) return refused(message, "permission.denied");
      onUnauthorized();
      return new TransferError("later", message);
    case 404:
      return new TransferError("absent", message);
    case 413:
      return refused(message, "attachment.too_large");
    case 403:
      return refused(message, "permission.denied");
    case 400:
    case 405:
    case 415:
    case 422:
      return refused(message, "attachment.invalid");
    default:
      return new TransferError("later", message, {
        afterMs,
        ...(reason.endsWith("(store.full)") && { code: "store.full" }),
      });
  }
}

function refused(message: string, code: ErrorCode): TransferError {
  return new TransferError("refused", message, { code });
}

function lost(error: unknown): TransferError {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return new TransferError("lost", messageOf(cause instanceof Error ? cause : error));
}

/** An error with an offset. That all bytes have arrived does not yet say that they are stored. */
function isConflict(answer: unknown): boolean {
  return (answer as { readonly message?: unknown } | undefined)?.message !== undefined;
}

function offsetIn(answer: unknown): number {
  const { offset } = (answer ?? {}) as { readonly offset?: unknown };
  if (typeof offset === "number") return offset;
  throw new TransferError("later", "expected the offset of an upload from the server");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Aborts a request that does not go on, or is cancelled. */
class IdleTimer {
  readonly #ms: number;
  readonly #controller = new AbortController();
  readonly #forget: () => void;
  #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number, cancel: Cancel) {
    this.#ms = ms;
    this.#timer = this.#wait();
    this.#forget = cancel.onCancel(() => this.#controller.abort());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#wait();
  }

  /** Also ends an answer that was not read to its end. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#forget();
    this.#controller.abort();
  }

  #wait(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#controller.abort(), this.#ms);
  }
}
