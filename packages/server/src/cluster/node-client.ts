/**
 * NodeClient: sends requests to other nodes of the cluster over HTTP, on connections that are kept.
 *
 * Every request has the secret of the cluster. A request that failed tells whether the other node
 * can have seen it.
 */

import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as sendRequest,
} from "node:http";
import { Agent as SecureAgent, request as sendSecure } from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  decodeCbor,
  type ErrorCode,
  encodeCbor,
  isObject,
  PeerError,
  type Value,
} from "@bigpeer/protocol";
import { ANSWER_SIZE_MAX, STATEMENT_TIMEOUT_MS_MAX } from "../limits/limits.ts";

import type { DialOptions } from "../sync/dial.ts";

export const SECRET_HEADER = "x-bigpeer-cluster";

/** Certificates of this node, and the CA that signs those of all nodes (mutual TLS). */
export interface NodeTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Connections to one node at a time. */
const CONNECTIONS_MAX = 128;

/** How long a connection may take to be made, and how long an unused one is kept. */
const CONNECT_MS_MAX = 2_000;
const IDLE_MS = 4_000;

/** The largest answer to a request that was passed on, and room for what a procedure adds. */
const SIZE_MAX: number = ANSWER_SIZE_MAX + 1024 * 1024;

/** A statement may run for a minute, and its outcome may wait for the log. */
const ANSWER_MS_MAX: number = STATEMENT_TIMEOUT_MS_MAX + 30_000;

/** Errors before anything was sent. */
const UNSENT_CODES = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND"]);

export interface NodeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: Uint8Array | undefined;
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

export interface NodeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** A request whose contents are not held in memory. */
export interface StreamedRequest extends Omit<NodeRequest, "body"> {
  readonly body?: { readonly stream: Readable; readonly size: number };
}

export interface StreamedAnswer {
  readonly status: number;
  /** The caller reads it to its end or destroys it. */
  readonly body: IncomingMessage;
}

/** The connection to a node failed. */
export class NodeUnreached extends Error {
  /** Whether the node can have seen the request. */
  readonly isSent: boolean;

  constructor(url: string, isSent: boolean, cause: unknown) {
    super(`the node at ${url} cannot be reached`, { cause });
    this.name = "NodeUnreached";
    this.isSent = isSent;
  }
}

export interface NodeClientOptions {
  /** Called after each request, unless its caller has ended it. */
  readonly onOutcome?: (url: string, isReached: boolean) => void;
  /** For tests. */
  readonly sizeMax?: number;
  readonly answerMsMax?: number;
}

export class NodeClient {
  readonly #secret: string;
  readonly #tls: NodeTls | undefined;
  readonly #agent: Agent;
  readonly #secureAgent: SecureAgent;
  readonly #options: NodeClientOptions;

  constructor(secret: string, tls: NodeTls | undefined, options: NodeClientOptions = {}) {
    this.#secret = secret;
    this.#tls = tls;
    this.#options = options;
    const kept = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS };
    this.#agent = new Agent(kept);
    this.#secureAgent = new SecureAgent({ ...kept, ...tls });
  }

  /** Rejects with NodeUnreached, also if the answer is too large or too late. */
  async send(url: string, request: NodeRequest): Promise<NodeAnswer> {
    const { body } = request;
    const { sizeMax = SIZE_MAX, answerMsMax = ANSWER_MS_MAX } = this.#options;
    const incoming = await this.#request(url, request, body?.length ?? 0, (outgoing) => {
      const late = setTimeout(() => outgoing.destroy(new Error("no answer in time")), answerMsMax);
      outgoing.on("close", () => clearTimeout(late));
      outgoing.end(body);
    });
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(new NodeUnreached(url, true, cause));
      const chunks: Uint8Array[] = [];
      let size = 0;
      incoming.on("data", (chunk: Uint8Array) => {
        size += chunk.length;
        if (size <= sizeMax) {
          chunks.push(chunk);
          return;
        }
        fail(new Error(`an answer of more than ${sizeMax} bytes`));
        incoming.destroy();
      });
      incoming.on("error", fail);
      incoming.on("aborted", () => fail(new Error("the answer was cut off")));
      incoming.on("end", () => {
        const { statusCode: status = 0, headers: received } = incoming;
        resolve({ status, headers: received, body: Buffer.concat(chunks) });
      });
    });
  }

  /** As `send`. Resolves when the answer begins. */
  async stream(url: string, request: StreamedRequest): Promise<StreamedAnswer> {
    const { body } = request;
    const incoming = await this.#request(url, request, body?.size ?? 0, (outgoing) => {
      if (body === undefined) outgoing.end();
      // The request fails with the stream.
      else pipeline(body.stream, outgoing).catch((error: Error) => outgoing.destroy(error));
    });
    // It is read later; its reader gets the error too.
    incoming.on("error", () => {});
    return { status: incoming.statusCode ?? 0, body: incoming };
  }

  /** Resolves when the answer begins. */
  #request(
    url: string,
    { method, path, headers, signal }: Omit<NodeRequest, "body">,
    size: number,
    write: (outgoing: ClientRequest) => void,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const target = new URL(path, url);
      const isSecure = target.protocol === "https:";
      let isSent = false;
      const connected = (): void => {
        isSent = true;
        clearTimeout(connecting);
      };
      const options = {
        method,
        ...(signal && { signal }),
        headers: { ...headers, [SECRET_HEADER]: this.#secret, "content-length": String(size) },
      };
      const outgoing = isSecure
        ? sendSecure(target, { ...options, agent: this.#secureAgent })
        : sendRequest(target, { ...options, agent: this.#agent });
      const connecting = setTimeout(() => {
        outgoing.destroy(Object.assign(new Error("no connection"), { code: "EHOSTUNREACH" }));
      }, CONNECT_MS_MAX);
      outgoing.on("socket", (socket) => {
        if (!socket.connecting) return connected();
        socket.once(isSecure ? "secureConnect" : "connect", connected);
      });
      outgoing.on("error", (cause: NodeJS.ErrnoException) => {
        if (signal?.aborted !== true) this.#options.onOutcome?.(url, false);
        reject(new NodeUnreached(url, isSent || !UNSENT_CODES.has(cause.code ?? ""), cause));
      });
      outgoing.on("close", () => clearTimeout(connecting));
      outgoing.on("response", (incoming) => {
        this.#options.onOutcome?.(url, true);
        resolve(incoming);
      });
      write(outgoing);
    });
  }

  /** Calls a procedure of a node. Rejects with what it threw, or with NodeUnreached. */
  async call(url: string, name: string, value: Value, signal?: AbortSignal): Promise<Value> {
    const answer = await this.send(url, {
      method: "POST",
      path: `/call/${name}`,
      headers: { "content-type": "application/cbor" },
      body: encodeCbor(value),
      ...(signal && { signal }),
    });
    const content = answer.status === 200 ? decodeCbor(answer.body) : null;
    if (!isObject(content)) {
      const cause = new Error(`expected the status 200, found ${answer.status}`);
      throw new NodeUnreached(url, true, cause);
    }
    const { result = null, code, message } = content;
    if (typeof code !== "string") return result;
    const text = typeof message === "string" ? message : "an error of another node";
    throw new PeerError(code as ErrorCode, text);
  }

  /** How a WebSocket to a node is opened. */
  dialOptions(url: string, path: string): DialOptions {
    return {
      url: new URL(path, url.replace(/^http/, "ws")).href,
      headers: { [SECRET_HEADER]: this.#secret },
      timeoutMs: CONNECT_MS_MAX,
      ...(this.#tls && { tls: this.#tls }),
    };
  }

  close(): void {
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }
}
