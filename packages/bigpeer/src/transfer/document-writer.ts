/**
 * DocumentWriter: writes batches of documents, each in one transaction. A batch is sent again under
 * its key until the server answers, so it is written once. A batch that the server refuses is halved
 * until the document at fault is found; nothing behind that one is written unless the import goes on.
 */

import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { BigPeerError } from "@bigpeer/client";
import { encodeCbor, isObject, parseJson, type Value } from "@bigpeer/protocol";
import type { ReadDocument } from "./document-reader.ts";
import { quoted } from "./typed-document.ts";

export const CONFLICTS = ["fail", "nothing", "update", "update-diff"] as const;

export type Conflict = (typeof CONFLICTS)[number];

const POLICIES: Readonly<Record<Conflict, string>> = {
  fail: "",
  nothing: " ON ID CONFLICT DO NOTHING",
  update: " ON ID CONFLICT DO UPDATE",
  "update-diff": " ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
};

export interface WriterOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly collection: string;
  readonly conflict: Conflict;
  /** Names this import in the keys of its batches; another import has another name. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** How long it tries to reach a server that does not answer. */
  readonly patienceMs: number;
  /** How long one attempt may take; default 90 seconds. */
  readonly timeoutMs?: number;
  /** Whether documents behind a refused one are written. */
  readonly isContinuing: boolean;
}

export interface Outcome {
  readonly written: number;
  /** At most one unless the import continues; the documents before it are written then. */
  readonly refused: readonly Refused[];
}

export interface Refused {
  readonly document: ReadDocument;
  readonly reason: string;
}

/** An answer after which a retry may help. */
const TRANSIENT = new Set([429, 500, 502, 503, 504]);

const TIMEOUT_MS = 90_000;
const PAUSE_MS_MAX = 5_000;

export class DocumentWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Writes what the server takes, in order. Throws when it has no answer. */
  async write(batch: readonly ReadDocument[]): Promise<Outcome> {
    const refused: Refused[] = [];
    let written = 0;
    // Documents with other types need another statement.
    for (const group of groupsOf(batch)) written += await this.#writeGroup(group, refused);
    return { written, refused };
  }

  /** Returns how many documents it has written. */
  async #writeGroup(group: readonly ReadDocument[], refused: Refused[]): Promise<number> {
    if (refused.length > 0 && !this.#options.isContinuing) return 0;
    const reason = await this.#send(group);
    if (reason === undefined) return group.length;
    const [first] = group;
    if (group.length === 1 && first !== undefined) {
      refused.push({ document: first, reason });
      return 0;
    }
    const half = Math.ceil(group.length / 2);
    const front = await this.#writeGroup(group.slice(0, half), refused);
    return front + (await this.#writeGroup(group.slice(half), refused));
  }

  /** Returns the reason of a refusal. */
  async #send(group: readonly ReadDocument[]): Promise<string | undefined> {
    const { collection, conflict } = this.#options;
    const declaration = group[0]?.declaration ?? "";
    const target = declaration === "" ? "" : "COLLECTION ";
    const types = declaration === "" ? "" : ` ${declaration}`;
    const statement = `INSERT INTO ${target}${quoted(collection)}${types} DOCUMENTS (:documents)${POLICIES[conflict]}`;
    const documents = group.map(({ document }) => document);
    const body = encodeCbor({ statement, args: { documents } });
    const endMs = performance.now() + this.#options.patienceMs;
    for (let attempts = 1; ; attempts++) {
      const outcome = await this.#attempt(body, this.#keyOf(group));
      if (outcome.kind === "done") return undefined;
      if (outcome.kind === "refused") return outcome.reason;
      if (performance.now() > endMs) throw outcome.error;
      const ms = Math.min(PAUSE_MS_MAX, 100 * 2 ** attempts);
      await pause(ms, undefined, { signal: this.#options.signal });
    }
  }

  #keyOf(group: readonly ReadDocument[]): string {
    const [first, last] = [group[0]?.index, group.at(-1)?.index];
    const text = `${this.#options.name} ${first} ${last} ${group.length}`;
    return createHash("sha256").update(text).digest("base64url");
  }

  async #attempt(body: Uint8Array, idempotencyKey: string): Promise<Attempt> {
    const { url, key, signal, timeoutMs = TIMEOUT_MS } = this.#options;
    // AbortSignal.any would keep each attempt of a long import in memory.
    const ending = new AbortController();
    const end = (): void => ending.abort(signal.reason);
    signal.addEventListener("abort", end);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      ending.abort();
    }, timeoutMs);
    try {
      signal.throwIfAborted();
      const response = await fetch(`${url.replace(/\/+$/, "")}/api/v4/store/execute`, {
        method: "POST",
        body: body as Uint8Array<ArrayBuffer>,
        signal: ending.signal,
        headers: {
          "content-type": "application/cbor",
          // Packing the ids of the answer costs both sides more than sending them.
          "accept-encoding": "identity",
          "idempotency-key": idempotencyKey,
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
      });
      const text = await response.text();
      const { status } = response;
      if (response.ok && isAnswer(text)) return { kind: "done" };
      const given = response.ok ? undefined : reasonIn(text);
      const reason = given ?? `${url} answered ${status}, but not as a Big Peer does`;
      const error = new BigPeerError(`http.${status}`, reason, { status });
      if (TRANSIENT.has(status)) return { kind: "unanswered", error };
      // No document is at fault when the credential is.
      if (status === 401 || status === 403) throw error;
      // A proxy that takes no such size takes a smaller batch. No document is at fault otherwise.
      if (given === undefined && status !== 413) {
        throw new BigPeerError("client.answer", `${reason}; check the address`, { status });
      }
      return { kind: "refused", reason };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BigPeerError) throw error;
      return {
        kind: "unanswered",
        error: isLate ? lateError(timeoutMs) : networkError(url, error),
      };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }
}

/** The server may still write the batch: its key keeps it from being written twice. */
function lateError(timeoutMs: number): BigPeerError {
  return new BigPeerError("client.timeout", `no answer within ${timeoutMs / 1_000} s`);
}

function networkError(url: string, error: unknown): BigPeerError {
  const { message, cause } = error as Error;
  // fetch hides the reason in the cause.
  const reason = (cause as Error | undefined)?.message ?? message;
  return new BigPeerError("client.network", `failed to reach ${url}: ${reason}`);
}

type Attempt =
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unanswered"; readonly error: BigPeerError };

/** Neighbours with the same declaration. */
function groupsOf(batch: readonly ReadDocument[]): ReadDocument[][] {
  const groups: ReadDocument[][] = [];
  for (const document of batch) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.declaration === document.declaration) last.push(document);
    else groups.push([document]);
  }
  return groups;
}

/** Whether it is the answer to a write. Another program at the address may answer 200 as well. */
function isAnswer(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    const fields = (body ?? {}) as { readonly [name: string]: unknown };
    return Array.isArray(fields["mutatedDocumentIds"]);
  } catch {
    return false;
  }
}

const OWN_PLACE = / at line 1, column \d+, near `:documents\)[^`]*`/;

function reasonIn(text: string): string | undefined {
  try {
    const body = parseJson(text);
    const error: Value = isObject(body) ? (body["error"] ?? null) : null;
    const reason = isObject(error) ? error["description"] : undefined;
    // The place in our statement says nothing to the user.
    return typeof reason === "string" ? reason.replace(OWN_PLACE, "") : undefined;
  } catch {
    return undefined;
  }
}
