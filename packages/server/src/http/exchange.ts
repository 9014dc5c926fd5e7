/**
 * Exchange: one request under way, and the answer that it will get, on one connection.
 *
 * Every request makes one, so it is a class: functions of its own for each request would cost more
 * than what they do. What is seldom asked for is found when it is.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Room, Shares } from "../shares.ts";
import { networkOf } from "./client-address.ts";
import type { ConnectionOwners, HttpConnection } from "./connection-owners.ts";
import {
  type BodyOptions,
  bodySizeMaxOf,
  type HttpRequest,
  isLongUnread,
  openBody,
  readBody,
} from "./http-request.ts";
import { nextRequestId } from "./request-id.ts";

/** What the buffers of a connection take at once: such an answer waits for nobody. */
export const SHORT_ANSWER: number = 64 * 1024;

export interface ExchangeOptions {
  /** Whether the client waits to be told to send its body. */
  readonly isAsking: boolean;
  /** Of the client, whose connection may be gone when it is asked for. */
  readonly remoteAddress: string;
  readonly answers: Shares;
  /** Undefined when it is gone. */
  readonly connection: HttpConnection | undefined;
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
  readonly #connection: HttpConnection | undefined;
  readonly #owners: ConnectionOwners;
  /** Whose credential was accepted. */
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

  /** Whether its answer is out, or its connection gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** What came of the body. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** What Node lets pass and HTTP/1.1 does not. */
  get fault(): string | undefined {
    const { httpVersion, rawHeaders } = this.incoming;
    if (!httpVersion.startsWith("1.")) return `expected HTTP/1.1, found HTTP/${httpVersion}`;
    // Addresses in answers are made from it; of several Node shows the first.
    const hosts = countOf("host", rawHeaders);
    if (hosts > 1) return `expected one header Host, found ${hosts}`;
    if (hosts === 0 && httpVersion !== "1.0") return "expected the header Host, found none";
    // A proxy in front may have judged another one than the first.
    const credentials = countOf("authorization", rawHeaders);
    if (credentials > 1) return `expected one header Authorization, found ${credentials}`;
    const coding = this.headers["transfer-encoding"] ?? "chunked";
    // Node undoes only this one.
    return coding.toLowerCase() === "chunked"
      ? undefined
      : "expected chunked as the one transfer coding";
  }

  /** Whether its connection ends with its answer. */
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

  /** Whose share is used: of the credential, or of the address while there is none. */
  get #payer(): string {
    return this.#owner ?? networkOf(this.remoteAddress);
  }

  readBody(room?: Room, timeMsMax?: number): Promise<Uint8Array> {
    return readBody(this.incoming, this.#bodyOptions(room, timeMsMax));
  }

  openBody(): Readable {
    return openBody(this.incoming, this.#bodyOptions());
  }

  /** Whether the connection cannot be used again, because of what its client may still send. */
  isCutOff(status: number): boolean {
    if (this.incoming.complete) return false;
    // One that was not told to send its body may send it, or its next request.
    return this.#isAsking || isLongUnread(this.incoming) || status === 408;
  }

  /**
   * To be called when the answer is out, and when the connection is closed: an answer that waits for
   * those before it is not told of that. False when it is not the first call.
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

  #bodyOptions(room?: Room, timeMsMax?: number): BodyOptions {
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

/** How often a header comes, in a list of names and values in turn. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}
