/**
 * A connection on which a test writes its own bytes and reads answers of HTTP/1.1. No client of the
 * platform sends a request that is broken, or says on which connection a request goes.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Without its content encoding. */
  readonly bytes: Uint8Array;
}

export interface RequestParts {
  readonly method: string;
  readonly target: string;
  /** In their order; the same name may come again. Each character is one byte. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined for none; its length is announced. */
  readonly body?: Uint8Array | string | undefined;
}

export function requestBytes({ method, target, headers, body }: RequestParts): Uint8Array {
  const content = body === undefined ? undefined : Buffer.from(body);
  const all = content === undefined ? headers : [...headers, contentLength(content.length)];
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...all.map(([name, value]) => `${name}: ${value}`),
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return content === undefined ? head : Buffer.concat([head, content]);
}

export function contentLength(size: number): [name: string, value: string] {
  return ["Content-Length", String(size)];
}

interface Waiter {
  readonly isHead: boolean;
  readonly resolve: (answer: RawAnswer | undefined) => void;
  readonly reject: (error: Error) => void;
}

export class RawConnection {
  readonly #socket: Socket;
  readonly #waiters: Waiter[] = [];
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;
  /** What is queued behind the calls before it. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#deliver();
    });
    // A reset is one way to be told that the connection is over.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
      this.#deliver();
    });
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    await once(socket, "connect");
    socket.setNoDelay(true);
    return new RawConnection(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the bytes are on their way, or nobody takes them any more. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** The next answer; undefined when the connection ends before one. Rejects what is no HTTP. */
  next(isHead: boolean = false): Promise<RawAnswer | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ isHead, resolve, reject });
      this.#deliver();
    });
  }

  /** Writes a request and reads its answer, after those before it on this connection. */
  ask(bytes: Uint8Array, isHead: boolean = false): Promise<RawAnswer | undefined> {
    const answer = this.#turn.then(async () => {
      await this.write(bytes);
      return await this.next(isHead);
    });
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  /** Says that nothing more will be sent. */
  end(): void {
    this.#socket.end();
  }

  /** Leaves, whatever is under way. */
  destroy(): void {
    this.#socket.destroy();
  }

  #deliver(): void {
    for (let waiter = this.#waiters[0]; waiter !== undefined; waiter = this.#waiters[0]) {
      try {
        const answer = this.#take(waiter.isHead);
        if (answer === undefined && !this.#isClosed) return;
        this.#waiters.shift();
        waiter.resolve(answer);
      } catch (error) {
        this.#waiters.shift();
        waiter.reject(error as Error);
      }
    }
  }

  /** An answer that is there as a whole; undefined when it is not. */
  #take(isHead: boolean): RawAnswer | undefined {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const [first = "", ...lines] = this.#received.toString("latin1", 0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1]);
    if (Number.isNaN(status)) throw new Error(`expected an answer of HTTP/1.1, found ${first}`);
    if (status < 200) {
      this.#received = this.#received.subarray(end + 4);
      return this.#take(isHead);
    }
    const headers = new Headers(lines.map(fieldOf));
    const size = isHead || status === 204 || status === 304 ? 0 : sizeOf(headers);
    const from = end + 4;
    if (this.#received.length < from + size) return undefined;
    const bytes = decoded(this.#received.subarray(from, from + size), headers);
    this.#received = this.#received.subarray(from + size);
    return { status, headers, bytes };
  }
}

function fieldOf(line: string): [name: string, value: string] {
  const at = line.indexOf(":");
  return [line.slice(0, at), line.slice(at + 1).trim()];
}

function sizeOf(headers: Headers): number {
  const size = headers.get("content-length");
  if (size === null || !/^\d+$/.test(size)) throw new Error(`expected a content-length: ${size}`);
  return Number(size);
}

function decoded(bytes: Buffer, headers: Headers): Uint8Array {
  switch (headers.get("content-encoding")) {
    case "gzip":
      return gunzipSync(bytes);
    case "br":
      return brotliDecompressSync(bytes);
    default:
      return bytes;
  }
}
