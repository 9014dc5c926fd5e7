/**
 * Pass on: sends a request that must be evaluated elsewhere to the node that evaluates, and returns
 * its answer as if it had been evaluated here.
 *
 * The evaluating node may change or be lost meanwhile. Then the request is sent again: only where it
 * cannot have been done, or where it is recognised and done once.
 */

import type { IncomingHttpHeaders } from "node:http";
import { type Answer, contentAnswer, type Headers } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { ELSEWHERE_HEADER, type Refusal, unavailable } from "../http/refusal.ts";
import type { Evaluators } from "./evaluators.ts";
import { type NodeAnswer, type NodeClient, NodeUnreached } from "./node-client.ts";
import { PASS_PATH, PASSED, SEQUENCE_HEADER } from "./node-listener.ts";
import { sleep } from "./waiting.ts";

/** How long a request waits for a node that evaluates. */
const WAIT_MS_MAX = 10_000;

/** When it is asked again after a node that did not evaluate. */
const AGAIN_MS = 50;

/** Headers between two neighbours, and those that this node decides itself. */
const OWN_HEADERS = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "date",
  "expect",
  "upgrade",
  "accept-encoding",
  "x-request-id",
]);

export interface PassOnHost {
  readonly client: Pick<NodeClient, "send">;
  readonly evaluators: Pick<Evaluators, "url" | "while">;
  /** Resolves when a store here has an entry of the log, or after a short time. */
  readonly caughtUp: (store: string, sequence: number) => Promise<void>;
  readonly elapsed: () => number;
}

export interface PassedOn {
  readonly store: string;
  /** The listener that the request came to. */
  readonly listener: "data" | "management";
  readonly body: Uint8Array;
  /** Whether the evaluating node recognises the request if it is sent again. */
  readonly isRepeatable: boolean;
}

export class PassOn {
  readonly #host: PassOnHost;

  constructor(host: PassOnHost) {
    this.#host = host;
  }

  /** Throws a Refusal, 503, if no node evaluates it in time. */
  async send(request: HttpRequest, passed: PassedOn): Promise<Answer> {
    const { elapsed, evaluators } = this.#host;
    const endMs = elapsed() + WAIT_MS_MAX;
    // A node that was lost may have done it.
    let isUnknown = false;
    for (;;) {
      const waitMs = Math.max(0, endMs - elapsed());
      const url = await evaluators.url(passed.store, waitMs).catch((error: unknown) => {
        throw isUnknown ? lost() : error;
      });
      const answer = await this.#try(url, request, passed);
      if (typeof answer !== "string") return answer;
      isUnknown ||= answer === "unknown";
      if (elapsed() > endMs) throw isUnknown ? lost() : noNode();
      await sleep(AGAIN_MS);
    }
  }

  /** "undone" or "unknown" if the request may be sent again. */
  async #try(
    url: string,
    request: HttpRequest,
    { store, listener, body, isRepeatable }: PassedOn,
  ): Promise<Answer | "undone" | "unknown"> {
    const sent = {
      method: request.method,
      path: PASS_PATH,
      headers: {
        ...headersOf(request.headers),
        [PASSED.listener]: listener,
        [PASSED.target]: request.target,
        [PASSED.address]: request.remoteAddress,
        [PASSED.requestId]: request.id,
        [PASSED.store]: store,
      },
      body,
    };
    const { client, evaluators } = this.#host;
    try {
      const answer = await evaluators.while(store, url, (signal) => {
        return client.send(url, { ...sent, signal });
      });
      if (answer.headers[ELSEWHERE_HEADER] !== undefined) return "undone";
      // A client that has its answer reads what it has written, also without naming it.
      await this.#host.caughtUp(store, Number(answer.headers[SEQUENCE_HEADER] ?? 0));
      return answerOf(answer);
    } catch (error) {
      if (!(error instanceof NodeUnreached)) throw error;
      if (error.isSent && !isRepeatable) throw lost();
      return error.isSent ? "unknown" : "undone";
    }
  }
}

function answerOf({ status, headers, body }: NodeAnswer): Answer {
  return contentAnswer(status, { kind: "bytes", bytes: body }, headersOf(headers));
}

function headersOf(given: IncomingHttpHeaders): Headers {
  const headers: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(given)) {
    const isOwn = OWN_HEADERS.has(name) || /^(access-control|x-bigpeer)-/.test(name);
    if (!isOwn && value !== undefined) headers[name] = String(value);
  }
  const { vary } = headers;
  if (vary !== undefined) headers["vary"] = withoutOrigin(vary);
  return headers;
}

/** This node says itself that its answers differ by the origin of the caller. */
function withoutOrigin(vary: string): string {
  const names = vary.split(",").map((name) => name.trim());
  return names.filter((name) => name.toLowerCase() !== "origin").join(", ");
}

function noNode(): Refusal {
  return unavailable("no node of the cluster evaluates writes now (cluster.elsewhere)", 1);
}

function lost(): Refusal {
  const lostNode = "the connection to another node was lost, and it is not known what it has done";
  const remedy = "retry with the same idempotency key, or look first";
  return unavailable(`${lostNode}; ${remedy} (cluster.unanswered)`, 1);
}
