/**
 * Cors: which web pages may call this server, told to their browsers.
 *
 * A request of another page is answered as usual, and its browser keeps the answer from it. Callers
 * have a token, never a cookie: so there is no mode with credentials.
 */

import type { CorsOrigins } from "../config.ts";
import { type Answer, contentAnswer, type Headers } from "./answer.ts";
import { withVary } from "./answer-encoding.ts";
import type { HttpRequest } from "./http-request.ts";
import { isLoopbackOrigin } from "./loopback.ts";

const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "Accept",
  "X-SERVICE-TXN-ID",
  "X-DITTO-TXN-ID",
  "X-HYDRA-TXN-ID",
  "Idempotency-Key",
  "Range",
  "If-None-Match",
  "If-Range",
].join(", ");

const EXPOSED_HEADERS = [
  "X-Request-Id",
  "Retry-After",
  "ETag",
  "Content-Range",
  "Accept-Ranges",
  "Idempotency-Replayed",
  "Content-Disposition",
].join(", ");

/** Seconds for which a browser may remember what a preflight said. */
const PREFLIGHT_AGE = "600";

export class Cors {
  readonly #allows: (origin: string) => boolean;
  readonly #isForAll: boolean;
  readonly #isForNone: boolean;
  /** The last headers that were extended for nobody, and what became of them. */
  #given: Headers | undefined;
  #made: Headers | undefined;

  constructor(origins: CorsOrigins) {
    this.#isForAll = origins === "*";
    this.#isForNone = origins.length === 0;
    if (origins === "*") this.#allows = () => true;
    else if (origins === "loopback") this.#allows = isLoopbackOrigin;
    else this.#allows = (origin) => origins.includes(origin);
  }

  /** Whether a page of `origin` may call; who names none is no page. */
  allows(origin: string | undefined): boolean {
    return origin === undefined || this.#allows(origin);
  }

  /** The headers of an answer, for a page of `origin`. */
  extend(headers: Headers, origin: string | undefined): Headers {
    if (this.#isForNone) return headers;
    if (this.#isForAll) return { ...headers, ...exposed("*") };
    // Without an allowed origin as well: a cache must not give this answer to another page.
    if (origin === undefined) return this.#varied(headers);
    const all = withVary(headers, "origin");
    return this.#allows(origin) ? { ...all, ...exposed(origin) } : all;
  }

  /** Most requests are of no page, and most answers share their headers: made once for them all. */
  #varied(headers: Headers): Headers {
    if (headers === this.#given && this.#made !== undefined) return this.#made;
    this.#given = headers;
    this.#made = withVary(headers, "origin");
    return this.#made;
  }

  /** To the question of a browser whether a page may send a request; extend() has the other half. */
  preflight(methods: readonly string[], origin: string | undefined): Answer {
    const headers: Headers =
      origin !== undefined && this.#allows(origin)
        ? {
            "access-control-allow-methods": methods.join(", "),
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": PREFLIGHT_AGE,
          }
        : {};
    return contentAnswer(204, { kind: "bytes", bytes: new Uint8Array() }, headers);
  }
}

/** Whether a browser asks what it may send; any other OPTIONS is a method that nobody serves. */
export function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function exposed(origin: string): Headers {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
  };
}
