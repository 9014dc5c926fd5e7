/**
 * The gate of the data API: what every call passes before its operation. Is the server open, who
 * asks and about which app, in which form, and what is in the body. In this order: nobody without
 * a credential makes us read a body.
 */

import type { Value } from "@bigpeer/protocol";
import { type ApiKeys, isEverything, type KnownKey } from "../api-keys.ts";
import type { FailedCredentials } from "../failed-credentials.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { decoderOf } from "../http/request-format.ts";
import type { Place } from "../http/router.ts";
import { BODIES_SIZE_MAX, BODY_SIZE_MAX, CALLS_MAX } from "../limits.ts";

/** An app as the gate sees it. */
export interface DataApp {
  readonly id: string;
}

/** What calls are served from. */
export interface DataSource<App extends DataApp> {
  readonly keys: ApiKeys;
  readonly apps: readonly App[];
}

export interface DataGateOptions<App extends DataApp> {
  /** Undefined until the stores are open, and from the first step of closing on. */
  readonly source: () => DataSource<App> | undefined;
  readonly failed: FailedCredentials;
  /** Told of every credential that opened nothing. */
  readonly onFailed?: () => void;
}

/** Who asks, and about which app. */
export interface Caller<App extends DataApp> {
  readonly app: App;
  readonly credential: Credential;
}

export interface Credential {
  /** Names the credential without giving it away. */
  readonly id: string;
  /** Whether statements may be run on connected peers. */
  readonly mayAskPeers: boolean;
}

/** A call whose body is there. */
export interface DataCall<App extends DataApp> extends Caller<App> {
  readonly request: HttpRequest;
  readonly place: Place;
  readonly body: Value;
  /** The body as it came. */
  readonly bytes: Uint8Array;
}

export class DataGate<App extends DataApp> {
  readonly #options: DataGateOptions<App>;
  /** Bytes of bodies in memory, as far as they were announced. */
  #bodiesSize = 0;
  #calls = 0;

  constructor(options: DataGateOptions<App>) {
    this.#options = options;
  }

  /** Hands the call in `request` to `operation`. Throws a Refusal when it does not come so far. */
  async admit<T>(
    request: HttpRequest,
    place: Place,
    operation: (call: DataCall<App>) => T | Promise<T>,
  ): Promise<T> {
    const { app, credential } = this.authenticate(request, place);
    const decode = decoderOf(request.headers);
    // What is larger will not be read.
    let size = Math.min(request.bodySizeMax, BODY_SIZE_MAX);
    this.#take(size);
    try {
      const bytes = await request.readBody();
      // One that came in chunks may have been much smaller than it could have been.
      this.#bodiesSize -= size - bytes.length;
      size = bytes.length;
      const body = decode(bytes);
      const result = operation({ app, credential, request, place, body, bytes });
      return result instanceof Promise ? await result : result;
    } finally {
      this.#calls--;
      this.#bodiesSize -= size;
    }
  }

  /** Who asks. Throws a Refusal: 503 when the server is not open, 401 or 429 when nobody is known. */
  authenticate(request: HttpRequest, place: Place): Caller<App> {
    const source = this.#options.source();
    if (source === undefined) throw unavailable("the server is starting or closing", 1);
    try {
      return findCaller(source, request.headers.authorization, place.appId);
    } catch (error) {
      const isTried = request.headers.authorization !== undefined;
      if (isTried && error instanceof Refusal) this.#throttle(request.remoteAddress);
      throw error;
    }
  }

  /** A known credential always passes, so that nobody can lock out others behind the same proxy. */
  #throttle(address: string): void {
    const { failed, onFailed } = this.#options;
    onFailed?.();
    failed.note(address);
    const seconds = failed.retryAfterSeconds(address);
    if (seconds === undefined) return;
    const message = "too many requests with a wrong credential came from this address";
    throw new Refusal(429, message, { "retry-after": String(seconds) });
  }

  /** A call takes its room from before its body is read until it is answered. */
  #take(size: number): void {
    if (this.#calls >= CALLS_MAX || this.#bodiesSize + size > BODIES_SIZE_MAX) {
      throw unavailable("the server has too many requests under way", 1);
    }
    this.#calls++;
    this.#bodiesSize += size;
  }
}

/** Throws a Refusal, 401, when the credential opens no app, or another one. */
function findCaller<App extends DataApp>(
  { keys, apps }: DataSource<App>,
  authorization: string | undefined,
  appId: string | undefined,
): Caller<App> {
  const key = keys.find(tokenOf(authorization));
  const app = apps.find(({ id }) => id === key?.appId);
  // One sentence for all: a key must not tell which apps there are.
  if (key === undefined || app === undefined || !isMeant(app, appId)) {
    throw unauthorized("the API key is not known, or not for this app");
  }
  checkPermissions(key);
  const mayAskPeers = key.permissions["remoteQuery"] === true;
  return { app, credential: { id: key.id, mayAskPeers } };
}

function tokenOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw unauthorized("expected the header `Authorization: Bearer <API key>`, found none");
  }
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw unauthorized("expected `Bearer <API key>` in the header Authorization");
}

function checkPermissions({ permissions }: KnownKey): void {
  if (isEverything(permissions)) return;
  throw unauthorized("the API key lacks the permission for this operation");
}

function isMeant(app: DataApp, appId: string | undefined): boolean {
  return appId === undefined || appId.toLowerCase() === app.id;
}

export function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { "www-authenticate": "Bearer" });
}
