/**
 * HTTP listener: accepts connections with node:http or node:https, and passes each request to a
 * function that returns its answer.
 *
 * It handles connections and bytes, not the content of requests. A body is read only when the
 * answer needs it. A client that is refused while it sends a long body gets time to read why.
 */

import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { networkOf, TrustedProxies } from "../address/client-address.ts";
import { hostOf, listenError } from "../address/listen-address.ts";
import type { TlsFiles } from "../config/config.ts";
import { INTAKE, type Intake } from "../limits/intake.ts";
import {
  ANSWER_SHARES,
  CLOSE_MS_MAX,
  CONNECTIONS_LOOK_MS,
  CONNECTIONS_MAX,
  CONNECTIONS_PER_CREDENTIAL_MAX,
  HEADERS_MS_MAX,
  HTTP_NEWCOMERS,
  HTTP_UNREAD_PER_OWNER_SIZE_MAX,
  HTTP_UNREAD_SIZE_MAX,
  KEEP_ALIVE_MS,
  LINGER_MS_MAX,
} from "../limits/limits.ts";
import type { NewcomerBounds } from "../limits/newcomers.ts";
import { Shares } from "../limits/shares.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { BytesContent, EncodedAnswer, StreamContent, TextContent } from "./answer.ts";
import { brokenRequestAnswer, type ReadError } from "./broken-request.ts";
import { ConnectionOwners } from "./connection-owners.ts";
import { endWith } from "./endings.ts";
import { Exchange, SHORT_ANSWER } from "./exchange.ts";
import { SendingEnded } from "./guarded-file.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { HttpRequest } from "./http-request.ts";
import { sendLive } from "./live-answer.ts";
import { HeldRequests, headOf, takeOneAtATime } from "./pipelining.ts";
import { nextRequestId } from "./request-id.ts";
import { limitSlowReader } from "./slow-reader.ts";
import { keepTickShape } from "./tick.ts";
import { readTls } from "./tls.ts";
import { dropUnread, skipRest } from "./unread-body.ts";

export interface HttpOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Files for HTTPS; without them the listener speaks HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** Must not reject. */
  readonly answer: (request: HttpRequest) => Promise<NamedAnswer>;
  /** Called for every request when its answer is sent or its client has disconnected. */
  readonly onAnswered?: (answered: Answered) => void;
  /** Handler of requests for another protocol on the connection, such as WebSocket. */
  readonly upgrades?: Upgrades;
  /** Limits of connections without an accepted credential; default: those of a port for clients. */
  readonly newcomers?: NewcomerBounds;
  /** Proxies whose `X-Forwarded-For` is trusted; default none. */
  readonly proxies?: TrustedProxies;
  /** Called for each connection that is refused or closed, with the limit that it exceeded. */
  readonly onRefused?: (bound: RefusedBound) => void;
  /** Scheduler of reads in each pass of the event loop; default: the one all listeners share. */
  readonly intake?: Intake;
  readonly log: Log;
}

export type RefusedBound = "newcomers" | "credential_connections" | "slow_reader" | "pipelined";

export interface Upgrades {
  /** Upgraded connections it may hold at a time; they do not count as HTTP connections. */
  readonly connectionsMax: number;
  /** Returns true when it took over the connection; otherwise the request is answered as usual. */
  readonly take: (asked: UpgradeRequest) => boolean;
}

/** Request to switch its connection to another protocol. */
export interface UpgradeRequest {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that followed the head of the request. */
  readonly head: Buffer;
  /** Address of the client. */
  readonly remoteAddress: string;
}

/** Answer with the endpoint that produced it. */
export interface NamedAnswer extends EncodedAnswer {
  readonly endpoint?: { readonly name: string } | undefined;
}

/** Completed request. */
export interface Answered {
  readonly request: HttpRequest;
  /** Name of the endpoint; `none` without an endpoint. */
  readonly operation: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** Bytes of the request body that arrived, and size of the response body. */
  readonly requestBytes: number;
  readonly responseBytes: number;
}

/** Memory of a waiting request, and how much of its body is received meanwhile. */
const WAITING_COST: number = 4 * 1024;
const WAITING_BODY_SIZE: number = 64 * 1024;

/**
 * Starts to listen. Throws PeerError `config.invalid` when the address is not available or the
 * HTTPS files are invalid.
 */
export async function listenHttp(options: HttpOptions): Promise<HttpServer> {
  keepTickShape();
  const server = new HttpServer(options);
  await server.listen();
  return server;
}

export class HttpServer {
  readonly #options: HttpOptions;
  readonly #server: Server;
  readonly #secureServer: SecureServer | undefined;
  readonly #connections = new Map<Socket, HttpConnection>();
  /** TCP connections whose TLS handshake is not complete, by their other end. */
  readonly #handshakes = new Map<string, Socket>();
  readonly #owners: ConnectionOwners;
  readonly #proxies: TrustedProxies;
  readonly #answers = new Shares(ANSWER_SHARES);
  /** Budget of bytes that were received and cannot be processed yet (H51, H52). */
  readonly #unread = new Shares({
    max: HTTP_UNREAD_SIZE_MAX,
    perOwnerMax: HTTP_UNREAD_PER_OWNER_SIZE_MAX,
  });
  readonly #intake: Intake;
  #requestCount = 0;
  #url = "";
  #closing: Promise<void> | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#intake = options.intake ?? INTAKE;
    const settings = {
      // Bodies have time limits where they are read; an upload may take longer.
      requestTimeout: 0,
      headersTimeout: HEADERS_MS_MAX,
      connectionsCheckingInterval: CONNECTIONS_LOOK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node would refuse such a request without a message.
      requireHostHeader: false,
    };
    const { tls } = options;
    if (tls === undefined) this.#server = createServer(settings);
    else {
      const secure = { ...settings, ...readTls(tls), handshakeTimeout: HEADERS_MS_MAX };
      this.#secureServer = createSecureServer(secure);
      this.#server = this.#secureServer;
    }
    const { upgrades } = options;
    const { proxies = new TrustedProxies([]), newcomers = HTTP_NEWCOMERS, onRefused } = options;
    this.#proxies = proxies;
    this.#owners = new ConnectionOwners({
      ...newcomers,
      perOwnerMax: CONNECTIONS_PER_CREDENTIAL_MAX,
      elapsed: () => performance.now(),
      onRefused: () => onRefused?.("newcomers"),
      onOwnerRefused: () => onRefused?.("credential_connections"),
    });
    this.#server.maxConnections = CONNECTIONS_MAX + (upgrades?.connectionsMax ?? 0);
    this.#server.on("request", (request, response) => this.#take(request, response, false));
    // 100 Continue is sent when the body is read.
    this.#server.on("checkContinue", (request, response) => this.#take(request, response, true));
    // Other expectations are ignored; Node would refuse them without a message.
    this.#server.on("checkExpectation", (request, response) =>
      this.#take(request, response, false),
    );
    this.#server.on("clientError", (error, socket) => this.#refuse(error, socket as Socket));
    this.#watchUpgrades(upgrades);
    this.#watchConnections();
  }

  /** URL of the listener, also after it has closed. */
  get url(): string {
    return this.#url;
  }

  /** Requests in progress. */
  get requestCount(): number {
    return this.#requestCount;
  }

  async listen(): Promise<void> {
    const { host, port, log, tls } = this.#options;
    await new Promise<void>((done, fail) => {
      this.#server.once("error", fail);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", fail);
        done();
      });
    }).catch((error: NodeJS.ErrnoException) => {
      throw listenError(error, host, port);
    });
    // A connection that cannot be accepted does not stop the listener.
    this.#server.on("error", (error) =>
      log("error", `the HTTP listener failed: ${describeError(error)}`),
    );
    const scheme = tls === undefined ? "http" : "https";
    this.#url = `${scheme}://${hostOf(this.#server.address() as AddressInfo)}`;
  }

  /** Reads the certificate and key again. If they are invalid, logs it and keeps the old ones. */
  reloadTls(): void {
    const { tls, log } = this.#options;
    if (tls === undefined) return;
    try {
      this.#secureServer?.setSecureContext(readTls(tls));
      log("info", "the certificate and key of HTTPS were read again");
    } catch (error) {
      log(
        "error",
        `failed to load the new certificate, the old one stays in use: ${describeError(error)}`,
      );
    }
  }

  /** Stops accepting, finishes requests in progress for a while, then closes the rest (H14). */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    // Node's closeIdleConnections skips connections that never had a request.
    for (const [socket, { exchange }] of this.#connections) {
      if (exchange === undefined) socket.destroy();
    }
    for (const socket of this.#handshakes.values()) socket.destroy();
    const timer = setTimeout(() => this.#cutAll(), CLOSE_MS_MAX);
    await closed;
    clearTimeout(timer);
  }

  #cutAll(): void {
    this.#server.closeAllConnections();
    // Node does not know the connections with held requests.
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #watchConnections(): void {
    // The TCP connection, before any TLS handshake.
    this.#server.on("connection", (socket: Socket) => this.#takeNewcomer(socket));
    const watch = (socket: Socket): void => {
      takeOneAtATime(socket, () => this.#mustWait(socket));
      // Known already: a refused upgrade, or requests that were held.
      if (this.#connections.has(socket)) return;
      const { remoteAddress = "" } = socket;
      const connection: HttpConnection = {
        end: otherEnd(socket),
        remoteAddress,
        isProxy: this.#proxies.has(remoteAddress),
        exchange: undefined,
        held: undefined,
        owner: undefined,
        notifiedOwner: undefined,
        notifiedMs: 0,
        isSurplus: false,
      };
      this.#connections.set(socket, connection);
      socket.once("close", () => {
        connection.held?.release();
        connection.held = undefined;
        if (connection.exchange !== undefined) this.#end(connection.exchange);
        this.#forget(socket);
      });
    };
    if (this.#secureServer === undefined) {
      this.#server.on("connection", watch);
      return;
    }
    // Requests arrive on a TLS socket that wraps the accepted one.
    this.#secureServer.on("connection", (socket: Socket) => {
      const end = otherEnd(socket);
      this.#handshakes.set(end, socket);
      socket.once("close", () => {
        if (this.#handshakes.get(end) === socket) this.#handshakes.delete(end);
      });
    });
    this.#secureServer.on("secureConnection", (socket) => {
      this.#handshakes.delete(otherEnd(socket));
      watch(socket);
    });
  }

  /** Connections of a trusted proxy do not count: they carry many clients (H46). */
  #takeNewcomer(socket: Socket): void {
    const { newcomers } = this.#owners;
    const { remoteAddress = "" } = socket;
    const end = otherEnd(socket);
    // A connection whose upgrade was refused is announced again.
    if (newcomers.has(end) || this.#connections.has(socket) || this.#proxies.has(remoteAddress)) {
      return;
    }
    if (!newcomers.makeRoom(remoteAddress)) {
      socket.destroy();
      return;
    }
    newcomers.add(end, remoteAddress, () => socket.destroy());
    socket.once("close", () => newcomers.remove(end));
  }

  #forget(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#owners.remove(connection);
    this.#connections.delete(socket);
  }

  #watchUpgrades(upgrades: Upgrades | undefined): void {
    this.#server.on("upgrade", (incoming, duplex, head) => {
      const socket = duplex as Socket;
      const connection = this.#connections.get(socket);
      if (connection === undefined) {
        socket.destroy();
        return;
      }
      if (connection.held !== undefined) {
        if (!connection.held.begin(incoming, head)) this.#cutPipelined(socket);
        return;
      }
      const remoteAddress = this.#clientOf(connection, incoming);
      if (upgrades?.take({ incoming, socket, head, remoteAddress }) === true) {
        this.#forget(socket);
        // A refused one closes at its own pace.
        if (!socket.writableEnded) this.#owners.newcomers.remove(connection.end);
      } else this.#readAgain(incoming, socket, head);
    });
  }

  /** Whether a pipelined request must wait because the answer before it is not sent (H51). */
  #mustWait(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection?.exchange === undefined) return false;
    connection.held = new HeldRequests(socket, this.#unread.roomOf(payerOf(connection)));
    return true;
  }

  /** Reads the held requests after the answer is sent. */
  #readHeld(socket: Socket, connection: HttpConnection, held: HeldRequests): void {
    connection.held = undefined;
    held.giveBack();
    // Node has set its keep-alive timeout.
    socket.setTimeout(0);
    this.#beginAgain(socket);
  }

  #cutPipelined(socket: Socket): void {
    if (!socket.destroyed) this.#options.onRefused?.("pipelined");
    socket.destroy();
  }

  /**
   * Answers a request for an upgrade as a plain request, as HTTP demands: some clients ask with
   * each request. Node has stopped parsing the connection, so it gets a new parser.
   */
  #readAgain(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const text = headOf(incoming, "upgrade");
    socket.unshift(Buffer.concat([text, head]));
    this.#beginAgain(socket);
  }

  /** Makes Node parse HTTP again on a connection where it stopped. */
  #beginAgain(socket: Socket): void {
    this.#server.emit(this.#secureServer === undefined ? "connection" : "secureConnection", socket);
    socket.resume();
  }

  #take(incoming: IncomingMessage, response: ServerResponse, isAsking: boolean): void {
    const connection = this.#connections.get(incoming.socket);
    if (connection?.exchange !== undefined) return this.#cutPipelined(incoming.socket);
    const remoteAddress = connection === undefined ? "" : this.#clientOf(connection, incoming);
    const exchange = new Exchange(incoming, response, {
      isAsking,
      remoteAddress,
      answers: this.#answers,
      connection,
      owners: this.#owners,
    });
    if (connection !== undefined) connection.exchange = exchange;
    this.#requestCount++;
    response.on("close", () => this.#end(exchange));
    if (connection === undefined || this.#intake.isOpen()) void this.#serve(exchange);
    else this.#serveLater(exchange, connection);
  }

  /** Queues a request for which this pass of the event loop has no time (H52). */
  #serveLater(exchange: Exchange, connection: HttpConnection): void {
    // Behind a proxy, the client pays.
    const payer = connection.owner ?? networkOf(exchange.remoteAddress);
    const size = WAITING_COST + Math.min(exchange.bodySizeMax, WAITING_BODY_SIZE);
    // Without memory to queue it, the request is served at once.
    if (!this.#unread.take(payer, size)) {
      void this.#serve(exchange);
      return;
    }
    const readLate = (): boolean => {
      this.#unread.give(payer, size);
      if (!exchange.isOver) void this.#serve(exchange);
      return false;
    };
    this.#intake.wait({ payer, isKnown: connection.owner !== undefined, readLate });
  }

  #clientOf({ remoteAddress, isProxy }: HttpConnection, { headers }: IncomingMessage): string {
    if (!isProxy) return remoteAddress;
    return this.#proxies.clientOf(remoteAddress, headers["x-forwarded-for"]);
  }

  #end(exchange: Exchange): void {
    if (!exchange.end()) return;
    this.#requestCount--;
    const { socket } = exchange.incoming;
    const connection = this.#connections.get(socket);
    if (connection?.exchange !== exchange) return;
    connection.exchange = undefined;
    const { held } = connection;
    if (this.#closing !== undefined) socket.end();
    else if (held !== undefined && socket.writable) this.#readHeld(socket, connection, held);
  }

  /** Never rejects. */
  async #serve(exchange: Exchange): Promise<void> {
    const { incoming, response } = exchange;
    try {
      const answer = await this.#options.answer(exchange);
      const { status, content } = answer;
      const isCut = exchange.isCutOff(status);
      const isLast = isCut || this.#closing !== undefined || exchange.isSurplus;
      response.writeHead(status, headerList(answer, exchange.id, isLast));
      if (content.kind === "live") {
        await sendLive(content, exchange, () => this.#options.onRefused?.("slow_reader"));
      } else if (content.kind === "stream") await this.#stream(content, exchange);
      else if (isCut) sendOpen(content, response);
      else this.#send(content, response);
      this.#log(exchange, answer);
      if (isCut) {
        // Closing while the client still sends would discard the answer.
        await skipRest(incoming);
        response.end();
      } else if (!incoming.complete) dropUnread(incoming);
    } catch (error) {
      this.#options.log("error", `failed to answer a request: ${describeError(error)}`);
      incoming.socket.destroy();
    }
  }

  #log(exchange: Exchange, { status, content, endpoint }: NamedAnswer): void {
    this.#options.onAnswered?.({
      request: exchange,
      operation: endpoint?.name ?? "none",
      status,
      elapsedMs: performance.now() - exchange.startMs,
      requestBytes: exchange.requestBytes,
      responseBytes: exchange.method === "HEAD" ? 0 : sizeOf(content),
    });
  }

  #send(content: BytesContent | TextContent, response: ServerResponse): void {
    if (sizeOf(content) > SHORT_ANSWER) {
      limitSlowReader(response, () => this.#options.onRefused?.("slow_reader"));
    }
    if (content.kind === "text") endWith(content, response);
    else response.end(content.bytes);
  }

  /**
   * A client that disconnects is no failure, nor is one that may no longer have the rest; content
   * shorter than its size is one.
   */
  async #stream(content: StreamContent, exchange: Exchange): Promise<void> {
    const { incoming, response } = exchange;
    if (incoming.method === "HEAD") {
      response.end();
      return;
    }
    const leaving = new AbortController();
    const { signal } = leaving;
    exchange.onHangUp(() => leaving.abort());
    if (signal.aborted) return;
    limitSlowReader(response, () => this.#options.onRefused?.("slow_reader"));
    try {
      const whole = (source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
        exactly(content.size, source);
      await pipeline(content.open(), whole, response, { signal });
    } catch (error) {
      response.destroy();
      if (hasLeft(error) || error instanceof SendingEnded) return;
      this.#options.log("error", `failed to send the whole of an answer: ${describeError(error)}`);
    }
  }

  /** Answers bytes that Node could not parse as a request. */
  #refuse(error: ReadError, socket: Socket): void {
    // It was answered already and keeps sending.
    if (socket.writableEnded) return;
    const id = nextRequestId();
    const answer = brokenRequestAnswer(error, id);
    if (answer === undefined || !socket.writable || !this.#isUnanswered(socket)) {
      socket.destroy();
      return;
    }
    this.#options.log("debug", `a request could not be read: ${error.message}`, { requestId: id });
    const timer = setTimeout(() => socket.destroy(), LINGER_MS_MAX);
    socket.once("close", () => clearTimeout(timer)).end(answer);
  }

  /** Whether a response written now cannot be mistaken for that of an earlier request. */
  #isUnanswered(socket: Socket): boolean {
    const exchange = this.#connections.get(socket)?.exchange;
    if (exchange === undefined) return true;
    const { incoming, response } = exchange;
    return !incoming.complete && !response.headersSent;
  }
}

/** Owner that pays for a connection: its credential, or its network. */
function payerOf({ owner, remoteAddress }: HttpConnection): string {
  return owner ?? networkOf(remoteAddress);
}

/**
 * Flat list of alternating names and values, which Node takes as it is. An object would be built
 * here and taken apart there for every request.
 */
function headerList(
  { status, headers, content }: EncodedAnswer,
  requestId: string,
  isLast: boolean,
): OutgoingHttpHeader[] {
  const list: OutgoingHttpHeader[] = ["x-request-id", requestId];
  for (const name in headers) list.push(name, headers[name] as string);
  if (headers["cache-control"] === undefined) list.push("cache-control", "no-store");
  const isSized = status !== 204 && status !== 304 && content.kind !== "live";
  if (isSized) list.push("content-length", sizeOf(content));
  if (isLast) list.push("connection", "close");
  return list;
}

function sizeOf(content: EncodedAnswer["content"]): number {
  if (content.kind === "live") return 0;
  return content.kind === "bytes" ? content.bytes.length : content.size;
}

/** Sends the whole answer, even an empty one, without ending the response. */
function sendOpen(content: BytesContent | TextContent, response: ServerResponse): void {
  response.flushHeaders();
  response.write(content.kind === "text" ? content.text : content.bytes);
}

/** Fails on fewer bytes than announced: the client would take the next answer for the rest. */
async function* exactly(
  size: number,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of source) {
    left -= chunk.length;
    yield chunk;
  }
  if (left !== 0) throw new Error(`expected ${size} bytes, found ${size - left}`);
}

/** Whether sending failed because the client closed the connection. */
function hasLeft(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ABORT_ERR";
}

/** Key that identifies a connection among those open at present. */
function otherEnd({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
