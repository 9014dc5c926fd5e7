/**
 * CORS: decides which web origins may read answers of this server, and writes the headers that say
 * so to browsers (H35).
 *
 * Requests of other origins are still answered; the browser withholds the answer from the page.
 * Callers authenticate with a token, never a cookie, so no answer allows credentials.
 */

import { isLoopbackOrigin } from "../address/loopback.ts";
import type { CorsOrigins } from "../config/config.ts";
import { type Answer, contentAnswer, type Headers } from "./answer.ts";
import { withVary } from "./answer-encoding.ts";
import type { HttpRequest } from "./http-request.ts";

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
  "Upload-Offset",
  "Upload-Length",
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

/** Seconds for which a browser may cache the answer to a preflight. */
const PREFLIGHT_AGE = "600";

export class Cors {
  readonly #allows: (origin: string) => boolean;
  readonly #isForAll: boolean;
  readonly #isForNone: boolean;
  /** Last headers that were extended for a request without an origin, and the result. */
  #given: Headers | undefined;
  #made: Headers | undefined;

  /** Pages at `publicUrl` may call as well, because this server serves them; `none` refuses all. */
  constructor(origins: CorsOrigins, publicUrl?: string) {
    this.#isForAll = origins === "*";
    this.#isForNone = origins.length === 0;
    const own = publicUrl === undefined || this.#isForNone ? undefined : new URL(publicUrl).origin;
    const allows = testOf(origins);
    this.#allows = (origin) => origin === own || allows(origin);
  }

  /** Whether a page of `origin` may call; a request without an origin is not from a page. */
  allows(origin: string | undefined): boolean {
    return origin === undefined || this.#allows(origin);
  }

  /** Adds the CORS headers to the headers of an answer for `origin`. */
  extend(headers: Headers, origin: string | undefined): Headers {
    if (this.#isForNone) return headers;
    if (this.#isForAll) return { ...headers, ...exposed("*") };
    // Also without an allowed origin: a cache must not serve this answer to another page.
    if (origin === undefined) return this.#varied(headers);
    const all = withVary(headers, "origin");
    return this.#allows(origin) ? { ...all, ...exposed(origin) } : all;
  }

  /** Caches the result: most requests have no origin, and most answers share one headers object. */
  #varied(headers: Headers): Headers {
    if (headers === this.#given && this.#made !== undefined) return this.#made;
    this.#given = headers;
    this.#made = withVary(headers, "origin");
    return this.#made;
  }

  /** Answer to a preflight; `extend` adds the origin to it. */
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

function testOf(origins: CorsOrigins): (origin: string) => boolean {
  if (origins === "*") return () => true;
  if (origins === "loopback") return isLoopbackOrigin;
  return (origin) => origins.includes(origin);
}

/** Whether the request is a CORS preflight; any other OPTIONS is a method that is not supported. */
export function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function exposed(origin: string): Headers {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
  };
}
