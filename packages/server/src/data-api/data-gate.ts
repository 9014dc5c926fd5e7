/**
 * The gate of the data API: what every call passes before its operation. Is the server open, who
 * asks and about which app, in which form, and what is in the body. In this order: nobody without
 * a credential makes us read a body.
 */

import type { Value } from "@bigpeer/protocol";
import { type ApiKeys, isEverything } from "../api-keys.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { decoderOf } from "../http/request-format.ts";
import type { Place } from "../http/router.ts";
import { BODIES_SIZE_MAX, BODY_SIZE_MAX } from "../limits.ts";

/** An app as the operations see it. */
export interface DataApp {
  readonly id: string;
}

/** What calls are served from. */
export interface DataSource<App extends DataApp> {
  readonly keys: ApiKeys;
  readonly apps: readonly App[];
}

export interface DataCall<App extends DataApp> {
  readonly app: App;
  readonly requestId: string;
  readonly body: Value;
  /** See HttpRequest.onHangUp. */
  readonly onHangUp: HttpRequest["onHangUp"];
}

export class DataGate<App extends DataApp> {
  /** Undefined until the stores are open, and from the first step of closing on. */
  readonly #source: () => DataSource<App> | undefined;
  /** Bytes of bodies in memory, as far as they were announced. */
  #bodiesSize = 0;

  constructor(source: () => DataSource<App> | undefined) {
    this.#source = source;
  }

  /** Hands the call in `request` to `operation`. Throws a Refusal when it does not come so far. */
  async admit<T>(
    request: HttpRequest,
    place: Place,
    operation: (call: DataCall<App>) => Promise<T>,
  ): Promise<T> {
    const source = this.#source();
    if (source === undefined) throw unavailable("the server is starting or closing", 1);
    const app = findApp(source, request.headers.authorization, place.appId);
    const decode = decoderOf(request.headers);
    return this.#hold(request, async () => {
      const body = decode(await request.readBody());
      const onHangUp = (listener: () => void): (() => void) => request.onHangUp(listener);
      return operation({ app, requestId: request.id, body, onHangUp });
    });
  }

  /** A body takes its room from before it is read until its call is answered. */
  async #hold<T>(request: HttpRequest, work: () => Promise<T>): Promise<T> {
    // What is larger will not be read.
    const size = Math.min(request.bodySizeMax, BODY_SIZE_MAX);
    if (this.#bodiesSize + size > BODIES_SIZE_MAX) {
      throw unavailable("the server has too many requests under way", 1);
    }
    this.#bodiesSize += size;
    try {
      return await work();
    } finally {
      this.#bodiesSize -= size;
    }
  }
}

/** The app that the credential opens. Throws a Refusal, 401, when it opens none, or another one. */
function findApp<App extends DataApp>(
  { keys, apps }: DataSource<App>,
  authorization: string | undefined,
  appId: string | undefined,
): App {
  if (authorization === undefined) {
    throw unauthorized("expected the header `Authorization: Bearer <API key>`, found none");
  }
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw unauthorized("expected `Bearer <API key>` in the header Authorization");
  }
  const key = keys.find(token);
  const app = apps.find(({ id }) => id === key?.appId);
  // One sentence for all: a key must not tell which apps there are.
  if (key === undefined || app === undefined || !isMeant(app, appId)) {
    throw unauthorized("the API key is not known, or not for this app");
  }
  if (!isEverything(key.permissions)) {
    throw unauthorized("the API key lacks the permission for this operation");
  }
  return app;
}

function isMeant(app: DataApp, appId: string | undefined): boolean {
  return appId === undefined || appId.toLowerCase() === app.id;
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { "www-authenticate": "Bearer" });
}
