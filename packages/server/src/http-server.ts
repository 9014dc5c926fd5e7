/**
 * The HTTP listener: node:http on one side, a function from request to answer on the other.
 *
 * So far it serves health alone. `/health/live` says that the process runs, `/health/ready` that it
 * may be given work. Every body is JSON; an error is `{"message": …}`.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { PeerError } from "@bigpeer/protocol";
import { describeError, type Log } from "./log.ts";

/** `ready` only between the moment when all stores are open and the first step of closing. */
export type Health = "starting" | "ready" | "closing";

export interface HttpOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly health: () => Health;
  readonly log: Log;
}

export interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: object;
}

/** How long requests under way may take when the server closes. */
const CLOSE_MS_MAX = 10_000;

const REQUEST_MS_MAX = 60_000;
const HEADERS_MS_MAX = 20_000;

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
    this.#server = createServer(timeouts, (request, response) => {
      this.#count(request.socket, 1);
      response.once("close", () => this.#count(request.socket, -1));
      send(request, response, options.health());
    });
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

  #count(socket: Socket, change: 1 | -1): void {
    const count = this.#requests.get(socket);
    if (count === undefined) return;
    this.#requests.set(socket, count + change);
    if (count + change === 0 && this.#closing !== undefined) socket.end();
  }
}

/** What a request is answered. Pure, so it is tested without a port. */
export function answerRequest(method: string, target: string, health: Health): Answer {
  const path = target.split("?", 1)[0];
  if (path !== "/health/live" && path !== "/health/ready") {
    return answer(404, { message: `there is nothing at ${path}` });
  }
  if (method !== "GET" && method !== "HEAD") {
    const message = `expected GET or HEAD on ${path}, found ${method}`;
    return answer(405, { message }, { allow: "GET, HEAD" });
  }
  if (path === "/health/live") return answer(200, { status: "live" });
  return answer(health === "ready" ? 200 : 503, { status: health });
}

function answer(status: number, body: object, headers: Answer["headers"] = {}): Answer {
  return { status, headers, body };
}

function send(request: IncomingMessage, response: ServerResponse, health: Health): void {
  const { method = "", url = "" } = request;
  const { status, headers, body } = answerRequest(method, url, health);
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    ...headers,
  });
  response.end(text);
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
