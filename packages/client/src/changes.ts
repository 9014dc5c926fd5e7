/**
 * Changes: the change feed of an app as an async iterator. It connects again with the cursor of the
 * last change when the connection is lost, after a pause that grows with each failure.
 */

import { queryText } from "./address.ts";
import { BigPeerError } from "./error.ts";
import { parseExact } from "./exact-json.ts";
import { stringify } from "./json.ts";
import { pause, readStream, type Send } from "./request.ts";

/** What happened to a document, as the filter and the permissions of the caller see it. */
export type ChangeType = "insert" | "update" | "delete" | "leave";

/** Who wrote a change. */
export interface ChangeWriter {
  /** Name of the API key. */
  readonly credential?: string;
  readonly provider?: string;
  readonly user?: string;
  /** Key of the peer that sent it. */
  readonly peer?: string;
}

/** A change of one document. */
export interface Change<T = Record<string, unknown>> {
  readonly type: ChangeType;
  readonly collection: string;
  readonly id: unknown;
  /** The transaction that wrote it. */
  readonly txnId: number;
  /** When it was written, in ISO 8601. */
  readonly at: string;
  /** Null if that is not known, or if the caller may not read everything. */
  readonly by: ChangeWriter | null;
  readonly document?: T;
  readonly before?: T;
  /** Set for the rows that were there at the beginning. */
  readonly initial?: true;
  /** Store it: `since` continues after this change. */
  readonly cursor: string;
}

/** Options of {@link BigPeerClient.changes}. */
export interface ChangesOptions {
  /** Only this collection; by default all that the caller may read. */
  readonly collection?: string | undefined;
  /** Only documents that this filter chooses, in the filter language of `find`. */
  readonly query?: string | undefined;
  /** Values for the parameters of `query`. */
  readonly args?: Readonly<Record<string, unknown>> | undefined;
  /** Continue after this cursor; `"0"` for the oldest change that the server has. */
  readonly since?: string | undefined;
  /** Begin with the current rows. */
  readonly initial?: boolean | undefined;
  /** `fields` has the changed fields of an update only. */
  readonly view?: "document" | "fields" | undefined;
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with each cursor, also of positions between changes; with that of a change after the loop
   * has handled it. The iteration ends with what it throws.
   */
  readonly onCursor?: ((cursor: string) => void) | undefined;
  /**
   * Called when the connection is lost or not made, before the next attempt. The iteration ends with
   * what it throws.
   */
  readonly onLost?: ((reason: BigPeerError) => void) | undefined;
}

/** A connection without a byte for longer is lost: the server sends a heartbeat every 15 seconds. */
const SILENT_MS_MAX = 45_000;

const FIRST_DELAY_MS = 200;
const DELAY_MS_MAX = 10_000;

/** A marker has no `type`. */
interface Line {
  readonly type?: string;
  readonly marker?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly oldest?: string;
  readonly cursor: string;
}

/**
 * The changes that the options choose, until the caller leaves the loop. Throws a BigPeerError that
 * no new attempt can mend: with `changes.gone`, read the rows again.
 */
export async function* changesOf<T>(
  send: Send,
  options: ChangesOptions,
): AsyncGenerator<Change<T>, void, void> {
  const { signal, onCursor, onLost } = options;
  let cursor = options.since;
  let fault: { readonly error: unknown } | undefined;
  const noteCursor = (position: string): void => {
    try {
      onCursor?.(position);
    } catch (error) {
      fault = { error };
      throw error;
    }
  };
  for (let failures = 0; ; ) {
    const ending = new AbortController();
    const onAbort = (): void => ending.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    let reason = lostConnection("the server has ended the stream");
    try {
      signal?.throwIfAborted();
      const body = await open(send, { ...options, since: cursor }, ending.signal);
      for await (const line of linesOf(body, () => ending.abort())) {
        signal?.throwIfAborted();
        if (line.marker === "end") {
          if (line.reason !== "closing") throw endOf(line);
          break;
        }
        // A server that closes at once begins its streams, too: these are no reason to hurry.
        if (line.marker !== "ready") failures = 0;
        cursor = line.cursor;
        if (line.type !== undefined) yield line as unknown as Change<T>;
        noteCursor(cursor);
      }
    } catch (error) {
      if (fault !== undefined) throw fault.error;
      signal?.throwIfAborted();
      reason = error instanceof BigPeerError ? error : lostConnection((error as Error).message);
      if (!reason.isTransient) throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      ending.abort();
    }
    onLost?.(reason);
    await pause(Math.random() * Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** failures++), signal);
  }
}

async function open(
  send: Send,
  options: ChangesOptions,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const { collection, query, args, since, initial, view } = options;
  const parameters = {
    collection,
    query,
    args: args === undefined ? undefined : stringify(args),
    since,
    initial: initial === true ? "true" : undefined,
    view,
  };
  const request = {
    method: "GET",
    url: `/store/changes${queryText(parameters)}`,
    headers: { accept: "application/x-ndjson" },
    isRepeatable: true,
    isStream: true,
    read: (response: Response) => readStream(response, "application/x-ndjson"),
  };
  return send(request, { signal });
}

async function* linesOf(
  body: ReadableStream<Uint8Array>,
  onSilence: () => void,
): AsyncGenerator<Line, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const timer = setTimeout(onSilence, SILENT_MS_MAX);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) yield parseExact(part) as Line;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function lostConnection(reason: string): BigPeerError {
  return new BigPeerError("client.network", `the connection is lost: ${reason}`);
}

function endOf({ reason = "", message, oldest }: Line): BigPeerError {
  if (reason === "credential") {
    const text = "the credential is no longer valid, or has expired";
    return new BigPeerError("http.401", text, { status: 401 });
  }
  const code = reason === "gone" ? "changes.gone" : "changes.failed";
  const status = reason === "gone" ? 410 : 500;
  return new BigPeerError(code, message ?? "the stream of changes ended", { status, oldest });
}
