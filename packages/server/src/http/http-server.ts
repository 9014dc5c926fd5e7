/**
 * The HTTP listener: node:http or node:https on one side, a function from request to answer on the
 * other.
 *
 * It knows connections and bytes, nothing of what is asked. A body is read only when the answer
 * needs it; a client that is refused while it sends a long one gets time to see why.
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
import type { TlsFiles } from "../config.ts";
import { INTAKE, type Intake } from "../intake.ts";
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
} from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { NewcomerBounds } from "../newcomers.ts";
import { Shares } from "../shares.ts";
import {
  type BytesContent,
  type EncodedAnswer,
  type StreamContent,
  type TextContent,
} from "./answer.ts";
import { brokenRequestAnswer, type ReadError } from "./broken-request.ts";
import { networkOf, TrustedProxies } from "./client-address.ts";
import { ConnectionOwners, type HttpConnection } from "./connection-owners.ts";
import { endWith } from "./endings.ts";
import { Exchange, SHORT_ANSWER } from "./exchange.ts";
import type { HttpRequest } from "./http-request.ts";
import { hostOf, listenError } from "./listen-address.ts";
import { HeldRequests, headOf, takeOneAtATime } from "./pipelining.ts";
import { nextRequestId } from "./request-id.ts";
import { limitSlowReader } from "./slow-reader.ts";
import { keepTickShape } from "./tick.ts";
import { readTls } from "./tls.ts";
import { dropUnread, skipRest } from "./unread-body.ts";

export interface HttpOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** For HTTPS; HTTP without. */
  readonly tls?: TlsFiles | undefined;
  /** Must not reject. */
  readonly answer: (request: HttpRequest) => Promise<NamedAnswer>;
  /** Told of every request when its answer is out, or its client gone. */
  readonly onAnswered?: (answered: Answered) => void;
  /** For connections on which something else than HTTP is to be spoken. */
  readonly upgrades?: Upgrades;
  /** Connections without a credential that was accepted; those of a port for clients if left out. */
  readonly newcomers?: NewcomerBounds;
  /** Whose `X-Forwarded-For` is believed; nobody's if left out. */
  readonly proxies?: TrustedProxies;
  /** Told of each connection that was refused or cut, with the bound that it met. */
  readonly onRefused?: (bound: RefusedBound) => void;
  /** What is read in a pass of the event loop; that of all listeners if left out. */
  readonly intake?: Intake;
  readonly log: Log;
}

export type RefusedBound = "newcomers" | "credential_connections" | "slow_reader" | "pipelined";

export interface Upgrades {
  /** How many connections it may have taken at a time: they do not count as those of HTTP. */
  readonly connectionsMax: number;
  /** True when it has taken the connection; else the request is answered like any other. */
  readonly take: (asked: UpgradeRequest) => boolean;
}

/** A request to speak something else on its connection. */
export interface UpgradeRequest {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  /** What came behind the head of the request. */
  readonly head: Buffer;
  /** Of the client. */
  readonly remoteAddress: string;
}

/** An answer, and what gave it. */
export interface NamedAnswer extends EncodedAnswer {
  readonly endpoint?: { readonly name: string } | undefined;
}

/** A request that is over. */
export interface Answered {
  readonly request: HttpRequest;
  /** The name of the endpoint; `none` where there is no such. */
  readonly operation: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** Of the bodies: what came of the one, and the size of the other. */
  readonly requestBytes: number;
  readonly responseBytes: number;
}

/** What a request that waits costs, and what of its body is received meanwhile. */
const WAITING_COST: number = 4 * 1024;
const WAITING_BODY_SIZE: number = 64 * 1024;

/**
 * Starts to listen. Throws PeerError `config.invalid` when the address cannot be had, or the files
 * of HTTPS are not what they should be.
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
  /** Connections that are not yet encrypted, by their other end. */
  readonly #handshakes = new Map<string, Socket>();
  readonly #owners: ConnectionOwners;
  readonly #proxies: TrustedProxies;
  readonly #answers = new Shares(ANSWER_SHARES);
  /** Of bytes that came, and cannot be read yet. */
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
      // Bodies have bounds of their own where they are read; an upload may take its time.
      requestTimeout: 0,
      headersTimeout: HEADERS_MS_MAX,
      connectionsCheckingInterval: CONNECTIONS_LOOK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node would refuse it without a word.
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
    // A client that asks before it sends its body is told to when somebody reads it.
    this.#server.on("checkContinue", (request, response) => this.#take(request, response, true));
    // Other expectations may be passed over; Node would refuse them without a word.
    this.#server.on("checkExpectation", (request, response) =>
      this.#take(request, response, false),
    );
    this.#server.on("clientError", (error, socket) => this.#refuse(error, socket as Socket));
    this.#watchUpgrades(upgrades);
    this.#watchConnections();
  }

  /** Where it listens, also after it has closed. */
  get url(): string {
    return this.#url;
  }

  /** Requests under way. */
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
    // A connection that cannot be accepted is no reason to end.
    this.#server.on("error", (error) =>
      log("error", `the HTTP listener failed: ${describeError(error)}`),
    );
    const scheme = tls === undefined ? "http" : "https";
    this.#url = `${scheme}://${hostOf(this.#server.address() as AddressInfo)}`;
  }

  /** Reads the files of HTTPS again. Bad ones are told in the log, and those before stay in use. */
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

  /** Takes no new connection, finishes requests within a bound, then cuts off what is left. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    // Node's own closeIdleConnections leaves those on which nothing was ever asked.
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
    // Node does not know of those with requests that are held.
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #watchConnections(): void {
    // Encrypted or not, as it was accepted.
    this.#server.on("connection", (socket: Socket) => this.#takeNewcomer(socket));
    const watch = (socket: Socket): void => {
      takeOneAtATime(socket, () => this.#mustWait(socket));
      // One that asked for an upgrade and did not get it, or that was held.
      if (this.#connections.has(socket)) return;
      const { remoteAddress = "" } = socket;
      const connection: HttpConnection = {
        end: otherEnd(socket),
        remoteAddress,
        isProxy: this.#proxies.has(remoteAddress),
        exchange: undefined,
        held: undefined,
        owner: undefined,
        told: undefined,
        toldMs: 0,
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
    // Requests come on another socket, which is around the one that was accepted.
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

  /** Those of a proxy are not counted: they are of many clients. */
  #takeNewcomer(socket: Socket): void {
    const { newcomers } = this.#owners;
    const { remoteAddress = "" } = socket;
    const end = otherEnd(socket);
    // One that asked for an upgrade and did not get it comes again.
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
        // One that was refused is on its way out, at its own pace.
        if (!socket.writableEnded) this.#owners.newcomers.remove(connection.end);
      } else this.#readAgain(incoming, socket, head);
    });
  }

  /** Whether a request came before the answer of the one before it was out. */
  #mustWait(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection?.exchange === undefined) return false;
    connection.held = new HeldRequests(socket, this.#unread.roomOf(payerOf(connection)));
    return true;
  }

  /** The answer is out: reads what came behind its request. */
  #readHeld(socket: Socket, connection: HttpConnection, held: HeldRequests): void {
    connection.held = undefined;
    held.giveBack();
    // Node has set one for a connection that waits for its next request.
    socket.setTimeout(0);
    this.#beginAgain(socket);
  }

  #cutPipelined(socket: Socket): void {
    if (!socket.destroyed) this.#options.onRefused?.("pipelined");
    socket.destroy();
  }

  /**
   * Answers a request as if it had not asked for an upgrade, as HTTP has it: some clients do so with
   * each of theirs. Node has ended its reading there, so it gets a new one.
   */
  #readAgain(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    const text = headOf(incoming, "upgrade");
    socket.unshift(Buffer.concat([text, head]));
    this.#beginAgain(socket);
  }

  /** Lets Node read HTTP on a connection on which it has ended to. */
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

  /** There is no time for it in this pass of the event loop. */
  #serveLater(exchange: Exchange, connection: HttpConnection): void {
    // Of a proxy it is the client.
    const payer = connection.owner ?? networkOf(exchange.remoteAddress);
    const size = WAITING_COST + Math.min(exchange.bodySizeMax, WAITING_BODY_SIZE);
    // Memory is scarcer than time.
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
      if (content.kind === "stream") await this.#stream(content, exchange);
      else if (isCut) sendOpen(content, response);
      else this.#send(content, response);
      this.#tell(exchange, answer);
      if (isCut) {
        // Closing while the client still sends would take the answer away from it.
        await skipRest(incoming);
        response.end();
      } else if (!incoming.complete) dropUnread(incoming);
    } catch (error) {
      this.#options.log("error", `failed to answer a request: ${describeError(error)}`);
      incoming.socket.destroy();
    }
  }

  #tell(exchange: Exchange, { status, content, endpoint }: NamedAnswer): void {
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

  /** A client that leaves is no failure; content that ends before its size is one. */
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
      if (hasLeft(error)) return;
      this.#options.log("error", `failed to send the whole of an answer: ${describeError(error)}`);
    }
  }

  /** What Node could not read as a request. */
  #refuse(error: ReadError, socket: Socket): void {
    // It was told so, and goes on sending.
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

  /** Whether what is written now cannot be taken for the answer of a request before. */
  #isUnanswered(socket: Socket): boolean {
    const exchange = this.#connections.get(socket)?.exchange;
    if (exchange === undefined) return true;
    const { incoming, response } = exchange;
    return !incoming.complete && !response.headersSent;
  }
}

/** Who uses a connection, as far as it is known. */
function payerOf({ owner, remoteAddress }: HttpConnection): string {
  return owner ?? networkOf(remoteAddress);
}

/**
 * Names and values in turn. Node takes them as they are: an object would be made of several others
 * here, and be taken apart again there, for every request.
 */
function headerList(
  { status, headers, content }: EncodedAnswer,
  requestId: string,
  isLast: boolean,
): OutgoingHttpHeader[] {
  const list: OutgoingHttpHeader[] = ["x-request-id", requestId];
  for (const name in headers) list.push(name, headers[name] as string);
  if (headers["cache-control"] === undefined) list.push("cache-control", "no-store");
  if (status !== 204 && status !== 304) list.push("content-length", sizeOf(content));
  if (isLast) list.push("connection", "close");
  return list;
}

function sizeOf(content: EncodedAnswer["content"]): number {
  return content.kind === "bytes" ? content.bytes.length : content.size;
}

/** Sends all there is, and does not end: an answer without content as well. */
function sendOpen(content: BytesContent | TextContent, response: ServerResponse): void {
  response.flushHeaders();
  response.write(content.kind === "text" ? content.text : content.bytes);
}

/** With fewer bytes than announced the next answer would be taken for the rest of this one. */
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

/** Whether sending failed because the other end was closed. */
function hasLeft(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ABORT_ERR";
}

/** Tells the connections of a moment apart. */
function otherEnd({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
