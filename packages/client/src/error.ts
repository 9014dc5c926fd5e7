/**
 * BigPeerError: the one error class of the client, with the code of the product, the status of the
 * answer and the place of the fault.
 *
 * Codes and places are read from the message, where the data API writes them:
 * `expected FROM, found "FORM" at line 1, column 10, near … (query.syntax)`. The management API has
 * the title of its problem as the code.
 */

/** More about a {@link BigPeerError}. */
export interface ErrorDetails {
  readonly status?: number;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly at?: string | undefined;
  readonly oldest?: string | undefined;
  readonly cause?: unknown;
}

/** A place in the text of a statement, both from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * A request that failed.
 *
 * @example
 * try {
 *   await client.execute("SELECT * FORM cars");
 * } catch (error) {
 *   if (!(error instanceof BigPeerError)) throw error;
 *   console.log(error.code, error.status, error.place); // query.syntax 400 { line: 1, column: 10 }
 * }
 */
export class BigPeerError extends Error {
  /**
   * What kind of error it is, for programs:
   *
   * - of the data API the code in docs/errors.md, such as `query.syntax`
   * - of the management API the title of the problem, such as `AppNotFound`
   * - `http.401` and the like, where a status says all
   * - `client.network`: no answer, the connection failed or was lost
   * - `client.timeout`: no answer within `timeoutMs`
   * - `client.answer`: an answer that is not one of a Big Peer, for instance of a proxy
   */
  readonly code: string;
  /** Status of the answer; 0 if there was none. */
  readonly status: number;
  /** Where in the request the fault is, for instance `commands[1].query`. */
  readonly at: string | undefined;
  /** Of a statement: line and column of the fault. */
  readonly place: TextPlace | undefined;
  /** Names the request in the log of the server. */
  readonly requestId: string | undefined;
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** Of `changes.gone`: the cursor of the oldest change that the server has. */
  readonly oldest: string | undefined;
  /** How often the request was sent. */
  attempts = 0;
  /**
   * Of a write: the key under which it was sent. Send the same write again with this key if you do
   * not know its outcome: the server does it once.
   */
  idempotencyKey: string | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "BigPeerError";
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.oldest = details.oldest;
    this.place = placeIn(message);
    this.at = details.at ?? atIn(message);
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    const { status, code } = this;
    if (status === 500) return code === "http.500";
    const isUnanswered = code === "client.network" || code === "client.timeout";
    return isUnanswered || [429, 502, 503, 504].includes(status);
  }
}

/** A message that ends with its code; that of damaged data goes on. */
const CODED = /^([^]*) \(([a-z]+\.[a-z_]+)\)(; its log has more [^]*)?$/;

/** The error of an answer whose status is 400 or more. */
export function errorOfAnswer(response: Response, body: unknown): BigPeerError {
  const { status, headers } = response;
  const { title, text, oldest } = described(body);
  const [, reason, code, more = ""] = CODED.exec(text ?? "") ?? [];
  const message = reason === undefined ? text : reason + more;
  const fallback = `the server answered ${status} ${response.statusText}`.trimEnd();
  return new BigPeerError(title ?? code ?? `http.${status}`, message ?? fallback, {
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterMs: retryAfter(headers.get("retry-after")),
    oldest,
  });
}

interface Described {
  readonly title?: string | undefined;
  readonly text?: string | undefined;
  readonly oldest?: string | undefined;
}

/** `{title, detail}` of the management API, `{message}` or `{error: {description}}` of the other. */
function described(body: unknown): Described {
  if (typeof body !== "object" || body === null) return {};
  const { title, detail, message, error, oldest } = body as Record<string, unknown>;
  if (typeof title === "string") return { title, text: textOf(detail) };
  const description = (error as { readonly description?: unknown } | undefined)?.description;
  return { text: textOf(message) ?? textOf(description), oldest: textOf(oldest) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Seconds, or a date. */
function retryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function placeIn(message: string): TextPlace | undefined {
  const [, line, column] = / at line (\d+), column (\d+)/.exec(message) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

/** The place is at the end of a message, before the text of a statement or advice. */
const PLACE =
  / at (?:(line \d+, column \d+)(?:[,; ][^]*)?|((?:the (?:header|parameter) )?[^\s;]+)(?:; [^]*)?)$/;

function atIn(message: string): string | undefined {
  const [, line, field] = PLACE.exec(message) ?? [];
  return line ?? field;
}
