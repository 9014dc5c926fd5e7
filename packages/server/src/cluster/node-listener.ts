/**
 * NodeListener: where the other nodes of the cluster reach this one: procedures that they call, and
 * requests of clients that they pass on.
 *
 * A request that was passed on is answered here as if its client had sent it here. It is not passed
 * on once more.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  decodeCbor,
  encodeCbor,
  PeerError,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
} from "@bigpeer/protocol";
import type { TlsFiles } from "../config/config.ts";
import { contentAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import {
  type HttpServer,
  listenHttp,
  type NamedAnswer,
  type UpgradeRequest,
} from "../http/http-server.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody, Router } from "../http/router.ts";
import { LINKS_MAX } from "../limits/limits.ts";
import type { PassedLink } from "../link/incoming-link.ts";
import { isLinkRequest } from "../link/link-listener.ts";
import { passedLinkOf } from "../link/link-relays.ts";
import { describeError, type Log } from "../observability/log.ts";
import { refuse } from "../sync/sync-endpoint.ts";
import { SECRET_HEADER } from "./node-client.ts";

/** Answers a call of another node. What it throws goes back to the caller. */
export type Procedure = (value: Value) => Promise<Value>;

export interface NodeListenerHost {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  readonly tls: TlsFiles | undefined;
  readonly procedures: { readonly [name: string]: Procedure };
  /** Further endpoints, for contents that are streamed. */
  readonly endpoints: readonly Endpoint[];
  /** The listener of clients that a passed on request is for; undefined while it is not open. */
  readonly answerOf: (
    listener: string,
  ) => ((request: HttpRequest) => Promise<NamedAnswer>) | undefined;
  /** Takes a link that another node passes on; false if it cannot. */
  readonly takeLink: (asked: UpgradeRequest, passed: PassedLink) => boolean;
  /** The last entry of the log that an open store has. */
  readonly sequenceOf: (store: string) => number | undefined;
  readonly log: Log;
}

/** Headers of a request that is passed on. */
export const PASSED = {
  listener: "x-bigpeer-listener",
  target: "x-bigpeer-target",
  address: "x-bigpeer-address",
  requestId: "x-bigpeer-request-id",
  store: "x-bigpeer-store",
} as const;

/** Header of the answer: the last entry of the log that the evaluating node had then. */
export const SEQUENCE_HEADER = "x-bigpeer-sequence";

export const PASS_PATH = "/pass";

/** The largest upload of a peer, and room for what a call adds. */
export const CALL_SIZE_MAX: number = SYNC_MESSAGE_BYTES_MAX + 1024 * 1024;

/** Whom the connections of other nodes are counted for. */
const NODE_OWNER = "nodes of the cluster";

export function listenForNodes(host: NodeListenerHost): Promise<HttpServer> {
  const router = new Router({
    endpoints: [...procedureEndpoints(host), ...host.endpoints],
    dataEndpoints: [],
    log: host.log,
  });
  const secretHash = hash(host.secret);
  const answer = async (request: HttpRequest): Promise<NamedAnswer> => {
    if (!isSecret(request, secretHash)) return router.answer(refused(request));
    request.identify(NODE_OWNER);
    if (request.target !== PASS_PATH) return router.answer(request);
    const passed = passedRequest(request);
    const inner = host.answerOf(String(request.headers[PASSED.listener]));
    if (inner === undefined) return router.answer(refused(request));
    const given = await inner(passed);
    const sequence = host.sequenceOf(String(request.headers[PASSED.store]));
    return sequence === undefined ? given : withSequence(given, sequence);
  };
  const { log, tls } = host;
  const take = (asked: UpgradeRequest): boolean => takeLink(asked, host, secretHash);
  const upgrades = { connectionsMax: LINKS_MAX, take };
  return listenHttp({ host: host.host, port: host.port, log, tls, upgrades, answer });
}

/** Answers a request for a WebSocket: the link of another Big Peer that a node passes on. */
function takeLink(asked: UpgradeRequest, host: NodeListenerHost, secretHash: Buffer): boolean {
  const { headers } = asked.incoming;
  if (!isSecret({ headers }, secretHash) || !isLinkRequest(asked)) return false;
  const passed = passedLinkOf(headers);
  if (passed === undefined) return false;
  if (!host.takeLink(asked, passed)) {
    refuse(asked.socket, unavailable("the replication port of this node is not open", 1));
  }
  return true;
}

function withSequence(answer: NamedAnswer, sequence: number): NamedAnswer {
  return { ...answer, headers: { ...answer.headers, [SEQUENCE_HEADER]: String(sequence) } };
}

function procedureEndpoints({ procedures, log }: NodeListenerHost): Endpoint[] {
  return Object.entries(procedures).map(([name, procedure]) => ({
    name: `node_${name}`,
    path: `/call/${name}`,
    methods: ["POST"],
    failureBody: messageBody,
    answer: async (request) => {
      const content = await outcomeOf(procedure, await readCall(request), (error) => {
        log("error", `failed to answer ${name} of another node: ${describeError(error)}`);
      });
      const bytes = encodeCbor(content);
      return contentAnswer(200, { kind: "bytes", bytes }, { "content-type": "application/cbor" });
    },
  }));
}

/** A call may have an upload of a peer, which is larger than a request of a client. */
async function readCall(request: HttpRequest): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.openBody() as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > CALL_SIZE_MAX) throw new Refusal(413, `expected at most ${CALL_SIZE_MAX} bytes`);
  }
  return Buffer.concat(chunks);
}

async function outcomeOf(
  procedure: Procedure,
  body: Uint8Array,
  onUnexpected: (error: unknown) => void,
): Promise<Value> {
  try {
    return { result: await procedure(decodeCbor(body)) };
  } catch (error) {
    if (error instanceof PeerError) return { code: error.code, message: error.message };
    if (error instanceof Refusal) return { code: "store.busy", message: error.message };
    onUnexpected(error);
    return { code: "store.busy", message: "an unexpected error of another node" };
  }
}

/** The request as its client sent it. */
function passedRequest(request: HttpRequest): HttpRequest {
  const { headers: all } = request;
  const headers: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(all)) {
    if (!name.startsWith("x-bigpeer-")) headers[name] = value;
  }
  return {
    id: String(all[PASSED.requestId]),
    method: request.method,
    target: String(all[PASSED.target]),
    headers,
    remoteAddress: String(all[PASSED.address]),
    isEncrypted: request.isEncrypted,
    fault: undefined,
    bodySizeMax: request.bodySizeMax,
    passId: String(all[PASSED.requestId]),
    // The node that passes it on counts the connections of the client.
    identify: () => false,
    onHangUp: (listener) => request.onHangUp(listener),
    reserveAnswer: (size) => request.reserveAnswer(size),
    readBody: (room, timeMsMax) => request.readBody(room, timeMsMax),
    openBody: () => request.openBody(),
  };
}

/** The same request with a fault, so that the router refuses it. */
function refused(request: HttpRequest): HttpRequest {
  return {
    ...passedRequest(request),
    target: "/",
    fault: "expected the secret of the cluster, and a node that is open",
  };
}

function isSecret({ headers }: Pick<HttpRequest, "headers">, secretHash: Buffer): boolean {
  // Hashes have equal length, so the time of the comparison reveals nothing about the secret.
  return timingSafeEqual(hash(String(headers[SECRET_HEADER] ?? "")), secretHash);
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
