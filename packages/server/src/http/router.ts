/**
 * Router: from a request to the endpoint that answers it, and from whatever goes wrong to an
 * answer in the form of that endpoint.
 *
 * Endpoints of the data API are found under `/api/v4` and `/api/v5`, both also behind the id of an
 * app: `/{appId}/api/v4`. All others have one path.
 */

import type { Value } from "@bigpeer/protocol";
import { PATH_SHOWN_MAX } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import { type Answer, createAnswer, type EncodedAnswer, encodeAnswer } from "./answer.ts";
import type { HttpRequest } from "./http-request.ts";
import { Refusal, refusalOf } from "./refusal.ts";

/** Where in the server a request was sent. */
export interface Place {
  /** From the path; undefined when the credential alone decides the app. */
  readonly appId: string | undefined;
}

/** What answers the requests of one path. */
export interface Endpoint {
  /** The whole path; for an endpoint of the data API what follows the version. */
  readonly path: string;
  readonly methods: readonly string[];
  /** May throw a Refusal or a PeerError. */
  readonly answer: (request: HttpRequest, place: Place) => Answer | Promise<Answer>;
  /** The body that tells a failure to the callers of this endpoint. */
  readonly failureBody: (message: string) => Value;
}

export interface RouterOptions {
  readonly endpoints: readonly Endpoint[];
  readonly dataEndpoints: readonly Endpoint[];
  readonly log: Log;
}

interface Found {
  /** The one that the path names, or the one that it lies under. */
  readonly endpoint: Endpoint;
  readonly isExact: boolean;
  readonly place: Place;
}

const DATA_PATH = /^(?:\/([^/]+))?\/api\/v[45](\/.*)$/;

export class Router {
  readonly #options: RouterOptions;

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async answer(request: HttpRequest): Promise<EncodedAnswer> {
    const path = pathOf(request.target);
    const found = this.#find(path);
    try {
      if (found?.isExact !== true) {
        throw new Refusal(404, `there is nothing at ${path.slice(0, PATH_SHOWN_MAX)}`);
      }
      const { endpoint, place } = found;
      checkMethod(endpoint, request.method);
      return encodeAnswer(await endpoint.answer(request, place));
    } catch (error) {
      const { status, headers, message } = this.#refusal(error, request.id);
      const body = (found?.endpoint.failureBody ?? messageBody)(message);
      return encodeAnswer(createAnswer(status, body, headers));
    }
  }

  #find(path: string): Found | undefined {
    const inData = DATA_PATH.exec(path);
    const { endpoints, dataEndpoints } = this.#options;
    const [list, local] = inData === null ? [endpoints, path] : [dataEndpoints, inData[2] ?? ""];
    const endpoint = list.find((one) => local === one.path || local.startsWith(`${one.path}/`));
    if (endpoint === undefined) return undefined;
    return { endpoint, isExact: local === endpoint.path, place: { appId: inData?.[1] } };
  }

  /** What may be told of an error; what may not is logged. */
  #refusal(error: unknown, requestId: string): Refusal {
    const known = refusalOf(error);
    if (known !== undefined) return known;
    this.#options.log("error", `request ${requestId} failed: ${describeError(error)}`);
    const message = `an unexpected error of the server; its log has more about request ${requestId}`;
    return new Refusal(500, message);
  }
}

/** The body of a failure wherever nothing else is agreed. */
export function messageBody(message: string): Value {
  return { message };
}

/** Without the query; without the origin, which a proxy may leave in front. */
function pathOf(target: string): string {
  return (target.split("?", 1)[0] ?? "").replace(/^https?:\/\/[^/]*/i, "");
}

function checkMethod({ path, methods }: Endpoint, method: string): void {
  if (methods.includes(method)) return;
  const expected = methods.join(" or ");
  const message = `expected ${expected} on ${path}, found ${method}`;
  throw new Refusal(405, message, { allow: methods.join(", ") });
}
