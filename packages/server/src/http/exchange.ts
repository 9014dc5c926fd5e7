/**
 * Exchange: one HTTP request in progress and its response, on one connection.
 *
 * It is a class because every request creates one: closures for each request would cost more than
 * what they do. Values that are rarely needed are computed on demand.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { networkOf } from "../address/client-address.ts";
import type { MemoryBudget, Shares } from "../limits/shares.ts";
import type { ConnectionOwners, OwnedConnection } from "./connection-owners.ts";
import {
  type BodyOptions,
  bodySizeMaxOf,
  type HttpRequest,
  isLongUnread,
  openBody,
  readBody,
} from "./http-request.ts";
import { nextRequestId } from "./request-id.ts";

/** Size of an answer that the buffers of a connection take at once, so it needs no reservation. */
export const SHORT_ANSWER: number = 64 * 1024;

export interface ExchangeOptions {
  /** Whether the client sent `Expect: 100-continue` and waits before it sends its body. */
  readonly isAsking: boolean;
  /** Address of the client; kept here because the connection may be gone when it is needed. */
  readonly remoteAddress: string;
  readonly answers: Shares;
  /** Undefined when the connection is gone. */
  readonly connection: OwnedConnection | undefined;
  readonly owners: ConnectionOwners;
}

export class Exchange implements HttpRequest {
  readonly id: string = nextRequestId();
  readonly startMs: number = performance.now();
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly bodySizeMax: number;
  #isAsking: boolean;
  readonly #answers: Shares;
  readonly #connection: OwnedConnection | undefined;
  readonly #owners: ConnectionOwners;
  /** Owner of the accepted credential. */
  #owner: string | undefined;
  #reserved = 0;
  #isOver = false;
  #requestBytes = 0;
  #leaveListeners: Set<() => void> | undefined;

  constructor(
    incoming: IncomingMessage,
    response: ServerResponse,
    { isAsking, remoteAddress, answers, connection, owners }: ExchangeOptions,
  ) {
    this.#answers = answers;
    this.#connection = connection;
    this.#owners = owners;
    this.incoming = incoming;
    this.response = response;
    this.method = incoming.method ?? "";
    this.target = incoming.url ?? "";
    this.headers = incoming.headers;
    this.remoteAddress = remoteAddress;
    this.bodySizeMax = bodySizeMaxOf(incoming);
    this.#isAsking = isAsking;
  }

  get isEncrypted(): boolean {
    return "encrypted" in this.incoming.socket;
  }

  /** Whether the answer is sent or the connection is gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Bytes of the body that have arrived. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** Violation of HTTP/1.1 that Node accepts; undefined when there is none. */
  get fault(): string | undefined {
    const { httpVersion, rawHeaders } = this.incoming;
    if (!httpVersion.startsWith("1.")) return `expected HTTP/1.1, found HTTP/${httpVersion}`;
    // URLs in answers are made from Host; of several, Node returns the first.
    const hosts = countOf("host", rawHeaders);
    if (hosts > 1) return `expected one header Host, found ${hosts}`;
    if (hosts === 0 && httpVersion !== "1.0") return "expected the header Host, found none";
    // A proxy in front may have checked another one than the first.
    const credentials = countOf("authorization", rawHeaders);
    if (credentials > 1) return `expected one header Authorization, found ${credentials}`;
    const coding = this.headers["transfer-encoding"] ?? "chunked";
    // Node decodes only chunked.
    return coding.toLowerCase() === "chunked"
      ? undefined
      : "expected chunked as the one transfer coding";
  }

  /** Whether the connection closes after this answer. */
  get isSurplus(): boolean {
    return this.#connection?.isSurplus === true;
  }

  identify(owner: string): boolean {
    this.#owner = owner;
    return this.#connection !== undefined && this.#owners.identify(this.#connection, owner);
  }

  onHangUp(listener: () => void): () => void {
    if (this.#isOver) listener();
    this.#leaveListeners ??= new Set();
    this.#leaveListeners.add(listener);
    return () => this.#leaveListeners?.delete(listener);
  }

  reserveAnswer(size: number): boolean {
    if (size <= SHORT_ANSWER) return true;
    if (!this.#answers.take(this.#payer, size)) return false;
    this.#reserved += size;
    return true;
  }

  /** Owner whose share pays: the credential, or the network of the client without one. */
  get #payer(): string {
    return this.#owner ?? networkOf(this.remoteAddress);
  }

  readBody(room?: MemoryBudget, timeMsMax?: number): Promise<Uint8Array> {
    return readBody(this.incoming, this.#bodyOptions(room, timeMsMax));
  }

  openBody(): Readable {
    return openBody(this.incoming, this.#bodyOptions());
  }

  /** Whether the connection cannot be reused, because the client may still send a body. */
  isCutOff(status: number): boolean {
    if (this.incoming.complete) return false;
    // A client that did not get 100 Continue may send its body, or its next request.
    return this.#isAsking || isLongUnread(this.incoming) || status === 408;
  }

  /**
   * Call it when the answer is sent and when the connection closes, because an answer that waits
   * for earlier ones gets no close event. Returns false on every call but the first.
   */
  end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    if (this.#reserved > 0) this.#answers.give(this.#payer, this.#reserved);
    if (!this.response.writableEnded) {
      for (const listener of this.#leaveListeners ?? []) listener();
    }
    return true;
  }

  #bodyOptions(room?: MemoryBudget, timeMsMax?: number): BodyOptions {
    return {
      room,
      timeMsMax,
      startMs: this.startMs,
      begin: () => {
        if (this.#isAsking) this.response.writeContinue();
        this.#isAsking = false;
      },
      onBytes: (count) => {
        this.#requestBytes += count;
      },
    };
  }
}

/** Counts a header in a flat list of alternating names and values. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}
