/**
 * The HTTP listener: node:http on one side, a function from request to answer on the other.
 *
 * It knows connections and bytes, nothing of what is asked. A body is read only when the answer
 * needs it; a client that is refused while it sends a long one gets time to see why.
 */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { PeerError } from "@bigpeer/protocol";
import {
  CLOSE_MS_MAX,
  CONNECTIONS_MAX,
  HEADERS_MS_MAX,
  LINGER_MS_MAX,
  REQUEST_MS_MAX,
} from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { EncodedAnswer } from "./answer.ts";
import {
  type BodyOptions,
  bodySizeMaxOf,
  type HttpRequest,
  isLongUnread,
  readBody,
} from "./http-request.ts";

export interface HttpOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Must not reject. */
  readonly answer: (request: HttpRequest) => Promise<EncodedAnswer>;
  readonly log: Log;
}

/** Starts to listen. Throws PeerError `config.invalid` when the address cannot be had. */
export async function listenHttp(options: HttpOptions): Promise<HttpServer> {
  const server = new HttpServer(options);
  await server.listen();
  return server;
}

export class HttpServer {
  readonly #options: HttpOptions;
  readonly #server: Server;
  /** Requests under way, by connection. */
  readonly #requests = new Map<Socket, number>();
  #url = "";
  #closing: Promise<void> | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    const timeouts = { requestTimeout: REQUEST_MS_MAX, headersTimeout: HEADERS_MS_MAX };
    this.#server = createServer(timeouts, (request, response) => this.#take(request, response));
    this.#server.maxConnections = CONNECTIONS_MAX;
    // A client that asks before it sends its body is told to when somebody reads it.
    this.#server.on("checkContinue", (request, response) =>
      this.#take(request, response, { begin: () => response.writeContinue() }),
    );
    this.#server.on("connection", (socket) => {
      this.#requests.set(socket, 0);
      socket.once("close", () => this.#requests.delete(socket));
    });
  }

  /** Where it listens, also after it has closed. */
  get url(): string {
    return this.#url;
  }

  async listen(): Promise<void> {
    const { host, port, log } = this.#options;
    await new Promise<void>((done, fail) => {
      this.#server.once("error", fail);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", fail);
        done();
      });
    }).catch((error: NodeJS.ErrnoException) => {
      throw listenError(error, host, port);
    });
    // A connection that cannot be accepted is no reason to end.
    this.#server.on("error", (error) => log("error", `HTTP listener: ${describeError(error)}`));
    this.#url = urlOf(this.#server.address() as AddressInfo);
  }

  /** Takes no new connection, finishes requests within a bound, then cuts off what is left. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    // Node's own closeIdleConnections leaves those on which nothing was ever asked.
    for (const [socket, count] of this.#requests) if (count === 0) socket.destroy();
    const timer = setTimeout(() => this.#server.closeAllConnections(), CLOSE_MS_MAX);
    await closed;
    clearTimeout(timer);
  }

  #take(request: IncomingMessage, response: ServerResponse, body: BodyOptions = {}): void {
    this.#count(request.socket, 1);
    response.once("close", () => this.#count(request.socket, -1));
    this.#serve(request, response, body).catch((error: unknown) => {
      this.#options.log("error", `expected an answer for a request: ${describeError(error)}`);
      request.socket.destroy();
    });
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    body: BodyOptions,
  ): Promise<void> {
    const id = randomUUID();
    const { status, headers, bytes } = await this.#options.answer({
      id,
      method: request.method ?? "",
      target: request.url ?? "",
      headers: request.headers,
      bodySizeMax: bodySizeMaxOf(request),
      onHangUp: (listener) => onHangUp(response, listener),
      readBody: () => readBody(request, body),
    });
    const isLast = this.#closing !== undefined || isLongUnread(request);
    response.writeHead(status, {
      "content-length": bytes.length,
      "cache-control": "no-store",
      "x-request-id": id,
      ...(isLast ? { connection: "close" } : {}),
      ...headers,
    });
    response.write(bytes);
    // Closing while the client still sends would take the answer away from it.
    if (isLongUnread(request)) await skipRest(request);
    response.end();
    request.resume();
  }

  #count(socket: Socket, change: 1 | -1): void {
    const count = this.#requests.get(socket);
    if (count === undefined) return;
    this.#requests.set(socket, count + change);
    if (count + change === 0 && this.#closing !== undefined) socket.end();
  }
}

function onHangUp(response: ServerResponse, listener: () => void): () => void {
  const close = (): void => {
    if (!response.writableEnded) listener();
  };
  response.once("close", close);
  return () => response.off("close", close);
}

/** Reads and forgets until the client has sent all, has left, or has had enough time. */
function skipRest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS_MAX);
    request.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    request.on("error", () => {}).resume();
  });
}

/** An address that can be opened from this machine. */
function urlOf({ address, family, port }: AddressInfo): string {
  if (address === "0.0.0.0") return `http://127.0.0.1:${port}`;
  if (address === "::") return `http://[::1]:${port}`;
  return family === "IPv6" ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): PeerError {
  return new PeerError("config.invalid", listenMessage(error, host, port), { cause: error });
}

function listenMessage(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use by another program; choose one with --port`;
    case "EACCES":
      return `port ${port} may not be used by this user; choose one above 1023 with --port`;
    default:
      return `expected an address of this machine in --host, found ${host}`;
  }
}
