/**
 * Router: finds the endpoint of a request, calls it, and turns any error into an answer in the
 * format of that endpoint.
 *
 * Endpoints of the data API are below `/api/v4` and `/api/v5`, and below both with the id of an app
 * in front: `/{appId}/api/v4` (H1). All others have one path.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import { PATH_SHOWN_MAX, STREAM_SIZE } from "../limits/limits.ts";
import { describeError, type Log } from "../observability/log.ts";
import { type Answer, createAnswer, type EncodedAnswer } from "./answer.ts";
import { encodeAnswer } from "./answer-encoding.ts";
import { Cors, isPreflight } from "./cors.ts";
import type { HttpRequest } from "./http-request.ts";
import { NO_PARAMETERS, type PathParameters, PathTable } from "./path-table.ts";
import { Refusal, refusalOf, unavailable } from "./refusal.ts";

/** Parts of the target of a request. */
export interface Place {
  /** App id in the path; undefined when the credential alone determines the app. */
  readonly appId: string | undefined;
  /** `v4` or `v5`; undefined outside the data API. */
  readonly version: string | undefined;
  /** Values of each `{name}` in the path of the endpoint, decoded. */
  readonly parameters: PathParameters;
  /** Query string after the `?`, as sent. */
  readonly query: string;
}

/** Handler of the requests of one path. */
export interface Endpoint {
  /** Name in the log and the metrics. */
  readonly name: string;
  /**
   * The whole path; for an endpoint of the data API, the part after the version. It may have
   * parameters, see path-table.ts.
   */
  readonly path: string;
  readonly methods: readonly string[];
  /** Whether answers are JSON regardless of `Accept`. */
  readonly isJsonOnly?: boolean;
  /** May throw a Refusal or a PeerError. */
  readonly answer: (request: HttpRequest, place: Place) => Answer | Promise<Answer>;
  /** Creates the body of an error answer of this endpoint. */
  readonly failureBody: FailureBody;
}

export type FailureBody = (message: string, refusal: Refusal) => Value;

export interface RouterOptions {
  readonly endpoints: readonly Endpoint[];
  readonly dataEndpoints: readonly Endpoint[];
  /** Asked for all other paths outside of the data API and of apps. It may throw NothingHere. */
  readonly otherwise?: Endpoint | undefined;
  /** Hint where an unknown path is served; undefined when there is none. */
  readonly elsewhere?: (path: string) => string | undefined;
  /** Error body for paths without an endpoint. */
  readonly failureBody?: FailureBody;
  /** Without it no other web origin may call. */
  readonly cors?: Cors;
  readonly log: Log;
}

/** Thrown by the endpoint for all other paths: a path that has nothing there either. */
export class NothingHere extends Error {}

/** Encoded answer with its endpoint; undefined when no endpoint matched. */
export interface RoutedAnswer extends EncodedAnswer {
  readonly endpoint: Endpoint | undefined;
}

interface Found {
  /** The endpoint that the path names, or the one that it lies under. */
  readonly endpoint: Endpoint;
  readonly isExact: boolean;
  readonly place: Place;
}

/** Whether a path belongs to the data API, whichever operation it names. */
export function isDataPath(path: string): boolean {
  return DATA_PATH.test(path);
}

/** Paths of an app: its id is a UUID. */
const APP_PATH = /^\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/|$)/i;

const DATA_PATH = /^(?:\/([^/]+))?\/api\/(v[45])(\/.*)$/;

/** Number of targets in the cache, and their maximum length. */
const KNOWN_MAX = 256;
const KNOWN_LENGTH_MAX = 256;

export class Router {
  readonly #log: Log;
  readonly #cors: Cors;
  readonly #endpoints: PathTable<Endpoint>;
  readonly #dataEndpoints: PathTable<Endpoint>;
  readonly #otherwise: Endpoint | undefined;
  readonly #failureBody: FailureBody;
  readonly #elsewhere: (path: string) => string | undefined;
  /** Cache of lookups by target: clients repeat the same few. */
  readonly #known = new Map<string, Found>();

  constructor({ endpoints, dataEndpoints, cors = new Cors([]), ...options }: RouterOptions) {
    this.#log = options.log;
    this.#cors = cors;
    this.#otherwise = options.otherwise;
    this.#failureBody = options.failureBody ?? messageBody;
    this.#elsewhere = options.elsewhere ?? (() => undefined);
    this.#endpoints = new PathTable(endpoints);
    this.#dataEndpoints = new PathTable(dataEndpoints);
  }

  /** Never rejects. */
  async answer(request: HttpRequest): Promise<RoutedAnswer> {
    const { target } = request;
    const found = this.#known.get(target) ?? this.#find(target) ?? this.#findOther(request);
    const endpoint = found?.endpoint;
    try {
      if (request.fault !== undefined) throw new Refusal(400, request.fault);
      if (found?.isExact !== true) throw this.#absent(pathOf(target));
      const answer = await this.#ask(found, request);
      const encoded = this.#encode(answer, request, endpoint);
      const routed = encoded instanceof Promise ? await encoded : encoded;
      if (!mayBeSent(routed, answer, request)) {
        throw unavailable("too many long answers wait for their clients to take them", 1);
      }
      return routed;
    } catch (error) {
      const refusal =
        error instanceof NothingHere
          ? this.#absent(pathOf(target))
          : this.#refusal(error, request.id);
      try {
        return await this.#refuse(refusal, request, endpoint);
      } catch (second) {
        // The body of the error answer may itself fail to encode.
        return await this.#refuse(this.#unexpected(second, request.id), request, endpoint);
      }
    }
  }

  #absent(path: string): Refusal {
    const message = `there is nothing at ${path.slice(0, PATH_SHOWN_MAX)}`;
    const elsewhere = this.#elsewhere(path);
    if (elsewhere !== undefined) return new Refusal(404, `${message}: ${elsewhere}`);
    const near = path.length > PATH_SHOWN_MAX ? undefined : this.#near(path);
    return new Refusal(404, near === undefined ? message : `${message}; did you mean ${near}?`);
  }

  /** Path of an endpoint that was probably meant. */
  #near(path: string): string | undefined {
    const [, , , local] = DATA_PATH.exec(path) ?? [];
    if (local === undefined) {
      const isLocal = this.#dataEndpoints.find(path)?.isExact === true;
      return isLocal ? `/api/v4${path}` : this.#endpoints.near(path);
    }
    const near = this.#dataEndpoints.near(local);
    return near && path.slice(0, path.length - local.length) + near;
  }

  async #refuse(
    refusal: Refusal,
    request: HttpRequest,
    endpoint: Endpoint | undefined,
  ): Promise<RoutedAnswer> {
    const body = (endpoint?.failureBody ?? this.#failureBody)(refusal.message, refusal);
    const answer = createAnswer(refusal.status, body, refusal.headers);
    return await this.#encode(answer, request, endpoint);
  }

  #ask({ endpoint, place }: Found, request: HttpRequest): Answer | Promise<Answer> {
    if (isPreflight(request)) return this.#cors.preflight(endpoint.methods, request.headers.origin);
    checkMethod(endpoint, request.method);
    return endpoint.answer(request, place);
  }

  /** Returns a promise only when it has to wait. */
  #encode(
    answer: Answer,
    { headers: asked }: HttpRequest,
    endpoint: Endpoint | undefined,
  ): RoutedAnswer | Promise<RoutedAnswer> {
    const isJsonOnly = endpoint?.isJsonOnly === true;
    const route = ({ status, headers, content }: EncodedAnswer): RoutedAnswer => {
      return { endpoint, status, headers: this.#cors.extend(headers, asked.origin), content };
    };
    const encoded = encodeAnswer(answer, { headers: asked, isJsonOnly });
    return encoded instanceof Promise ? encoded.then(route) : route(encoded);
  }

  #find(target: string): Found | undefined {
    const found = this.#findPath(pathOf(target), queryOf(target));
    // Paths with parameters are unbounded in number.
    const isOneOfFew = found?.isExact === true && found.place.parameters === NO_PARAMETERS;
    if (isOneOfFew && target.length <= KNOWN_LENGTH_MAX) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(target, found);
    }
    return found;
  }

  #findOther({ method, target }: HttpRequest): Found | undefined {
    const endpoint = this.#otherwise;
    // Other methods get 404, as they do without this endpoint.
    if (endpoint === undefined || !endpoint.methods.includes(method)) return undefined;
    const path = pathOf(target);
    if (APP_PATH.test(path) || DATA_PATH.test(path)) return undefined;
    const place = {
      appId: undefined,
      version: undefined,
      parameters: NO_PARAMETERS,
      query: queryOf(target),
    };
    return { endpoint, isExact: true, place };
  }

  #findPath(path: string, query: string): Found | undefined {
    const inData = DATA_PATH.exec(path);
    const [, appId, version, local = ""] = inData ?? [];
    const match = inData === null ? this.#endpoints.find(path) : this.#dataEndpoints.find(local);
    if (match === undefined) return undefined;
    const { entry: endpoint, isExact, parameters } = match;
    return { endpoint, isExact, place: { appId, version, parameters, query } };
  }

  /** Refusal with what a client may learn of an error; the rest is logged (H13). */
  #refusal(error: unknown, requestId: string): Refusal {
    return refusalOf(error) ?? this.#unexpected(error, requestId);
  }

  #unexpected(error: unknown, requestId: string): Refusal {
    this.#log("error", `failed to answer a request: ${describeError(error)}`, { requestId });
    return new Refusal(500, `${whatFailed(error)}; its log has more about request ${requestId}`);
  }
}

/** Damaged data is not a bug, and a retry does not help. */
function whatFailed(error: unknown): string {
  const isDamage = error instanceof PeerError && error.code === "store.corrupt";
  return isDamage
    ? "the server found damaged data on its disk (store.corrupt)"
    : "an unexpected error of the server";
}

/** Reserves memory for an answer until its client has taken it; false when none is left. */
function mayBeSent({ content }: EncodedAnswer, answer: Answer, request: HttpRequest): boolean {
  if (content.kind === "live") return true;
  // A stream is read as fast as the client takes it, and held in its buffers only.
  if (content.kind === "stream") return request.reserveAnswer(Math.min(content.size, STREAM_SIZE));
  const size = content.kind === "bytes" ? content.bytes.length : content.size;
  return request.reserveAnswer(size) || answer.isApplied === true;
}

/** Default body of an error. */
export function messageBody(message: string): Value {
  return { message };
}

/** Path of a target, without the query, and without the origin that a proxy may leave in front. */
export function pathOf(target: string): string {
  return (target.split("?", 1)[0] ?? "").replace(/^https?:\/\/[^/]*/i, "");
}

function queryOf(target: string): string {
  const start = target.indexOf("?");
  return start < 0 ? "" : target.slice(start + 1);
}

function checkMethod({ path, methods }: Endpoint, method: string): void {
  if (methods.includes(method)) return;
  const expected = methods.join(" or ");
  const message = `expected ${expected} on ${path}, found ${method}`;
  throw new Refusal(405, message, { allow: methods.join(", ") });
}
