/**
 * A peer that speaks to `/sync` message by message, so that a test can say what no peer would.
 */

import {
  decodeServerMessage,
  encodeMessage,
  type Hello,
  type PeerMessage,
  type ServerMessage,
  SYNC_VERSION,
} from "@bigpeer/protocol";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

export interface DialOptions {
  /** Behind the address of the server. */
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

/** How a connection that was not opened was answered. */
export class DialRefused extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;

  constructor(status: number, headers: DialRefused["headers"], body: string) {
    super(`expected a WebSocket, found ${status}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

export const SITE = "0123456789abcdef";

export function helloOf(token: string, changes: Partial<Hello> = {}): Hello {
  const peer = { key: "k", deviceName: "d", os: "o", sdk: "s", metadata: {} };
  return {
    t: "hello",
    version: SYNC_VERSION,
    token,
    site: SITE,
    peer,
    now: Date.now(),
    ...changes,
  };
}

type Kind = ServerMessage["t"];
export type MessageOf<K extends Kind> = Extract<ServerMessage, { readonly t: K }>;

export class SyncClient {
  readonly #socket: WebSocket;
  readonly #received: ServerMessage[] = [];
  readonly #waiters: (() => void)[] = [];
  /** All that came, in its order. */
  readonly all: ServerMessage[] = [];
  #isClosed = false;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (bytes: Buffer) => {
      const message = decodeServerMessage(bytes);
      this.#received.push(message);
      this.all.push(message);
      this.#wake();
    });
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
    // Being cut off is one way to be told.
    socket.on("error", () => {});
    onTestFinished(() => socket.terminate());
  }

  /** `url` is that of the server. Rejects with DialRefused. */
  static dial(
    url: string,
    { path = "/sync", headers = {} }: DialOptions = {},
  ): Promise<SyncClient> {
    const address = url.replace(/^http/, "ws") + path;
    const socket = new WebSocket(address, { headers, rejectUnauthorized: false });
    const client = new SyncClient(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(client));
      socket.once("error", reject);
      socket.once("unexpected-response", (_request, response) => {
        let body = "";
        response.on("data", (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on("end", () => {
          reject(new DialRefused(response.statusCode ?? 0, response.headers, body));
          socket.terminate();
        });
      });
    });
  }

  /** Dials and says hello. */
  static async greet(
    url: string,
    token: string,
    options: DialOptions = {},
    changes: Partial<Hello> = {},
  ): Promise<SyncClient> {
    const client = await SyncClient.dial(url, options);
    client.send(helloOf(token, changes));
    return client;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(message: PeerMessage): void {
    this.#socket.send(encodeMessage(message));
  }

  /** A frame that may be no message: text goes as text. */
  sendRaw(content: Uint8Array | string): void {
    this.#socket.send(content);
  }

  /** Reads nothing more from the network. */
  stopReading(): void {
    this.#socket.pause();
  }

  goOn(): void {
    this.#socket.resume();
  }

  ping(content: Uint8Array): void {
    this.#socket.ping(content);
  }

  /** The content of the next pong. */
  pong(): Promise<Buffer> {
    return new Promise((resolve) => this.#socket.once("pong", resolve));
  }

  /** Leaves without a word. */
  cut(): void {
    this.#socket.terminate();
  }

  /** The next message; undefined when the connection ends before one. */
  async next(): Promise<ServerMessage | undefined> {
    while (this.#received.length === 0 && !this.#isClosed) await this.#arrival();
    return this.#received.shift();
  }

  /** The next message of a kind; those before it are passed over. Rejects at the end. */
  async nextOf<K extends Kind>(kind: K): Promise<MessageOf<K>> {
    for (;;) {
      const message = await this.next();
      if (message === undefined) throw new Error(`expected ${kind}, found the end`);
      if (message.t === kind) return message as MessageOf<K>;
      if (message.t === "bye") throw new Error(`expected ${kind}, found bye ${message.code}`);
    }
  }

  /** Resolves when the connection is over. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#arrival();
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

/** A WebSocket without the protocol of sync. */
export class RawSocket {
  readonly #socket: WebSocket;
  /** All that came. */
  readonly received: Uint8Array[] = [];
  isClosed = false;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (bytes: Buffer) => void this.received.push(bytes));
    socket.on("close", () => {
      this.isClosed = true;
    });
    // Being cut off is one way to be told.
    socket.on("error", () => {});
    onTestFinished(() => socket.terminate());
  }

  static open(url: string): Promise<RawSocket> {
    const socket = new WebSocket(url);
    const made = new RawSocket(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(made)).once("error", reject);
    });
  }

  send(bytes: Uint8Array): void {
    this.#socket.send(bytes);
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  close(): void {
    this.#socket.close();
  }

  ping(content: Uint8Array): void {
    this.#socket.ping(content);
  }

  /** Reads nothing until it is resumed. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }
}
