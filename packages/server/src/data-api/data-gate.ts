/**
 * The gate of the data API: what every call passes before its operation. Is the server open, who
 * asks and about which app, in which form, and what is in the body. In this order: nobody without
 * a credential makes us read a body.
 */

import { type ErrorCode, PeerError, type Value } from "@bigpeer/protocol";
import type { Authentication } from "../auth/authentication.ts";
import { type Credential, ownerOf } from "../auth/credential.ts";
import type { AuthRegistry, Bearer } from "../auth/credentials.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import { bearerOf } from "../http/bearer.ts";
import { BodyDecoder, type DecodedBody } from "../http/body-decoder.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { type Refusal, unavailable } from "../http/refusal.ts";
import { decoderOf } from "../http/request-format.ts";
import type { Place } from "../http/router.ts";
import {
  BODIES_PER_CREDENTIAL_SIZE_MAX,
  BODIES_SIZE_MAX,
  BODY_VALUES_PER_CREDENTIAL_SIZE_MAX,
  BODY_VALUES_SIZE_MAX,
  CALLS_MAX,
  CALLS_PER_CREDENTIAL_MAX,
} from "../limits.ts";
import { Shares } from "../shares.ts";

/** An app as the gate sees it. */
export interface DataApp {
  readonly id: string;
}

/** An app while it is in use. */
export interface AppUse<App extends DataApp> {
  readonly app: App;
  /** To be called once, when the app is not needed any more. */
  release(): void;
}

/** What calls are served from. */
export interface DataSource<App extends DataApp> {
  readonly registry: AuthRegistry;
  readonly apps: {
    /** The app while it is open; undefined when it must be opened. */
    tryUse(id: string): AppUse<App> | undefined;
    use(id: string): Promise<AppUse<App>>;
  };
}

export interface DataGateOptions<App extends DataApp> {
  /** Undefined until the server is open, and from the first step of closing on. */
  readonly source: () => DataSource<App> | undefined;
  readonly auth: Pick<
    Authentication,
    "credentials" | "noteFailure" | "noteError" | "noteReason" | "pass" | "accept"
  >;
  /** Told of each call that was refused because of a bound. */
  readonly onRefused?: (bound: string) => void;
}

/** Who asks, and about which app. */
export interface Caller<App extends DataApp> {
  readonly app: App;
  readonly credential: Credential;
}

/** A caller who got in. His app stays open until its use is released. */
export interface Admitted<App extends DataApp> extends Caller<App> {
  readonly use: AppUse<App>;
}

/** A call whose body is there. */
export interface DataCall<App extends DataApp> extends Caller<App> {
  readonly request: HttpRequest;
  readonly place: Place;
  readonly body: Value;
  /** The body as it came. */
  readonly bytes: Uint8Array;
}

const EXPECTED = "expected the header `Authorization: Bearer <API key or JWT>`";

/** One sentence for all: a credential must not tell which apps there are. */
const UNKNOWN = "the credential is not known, has expired, or is not for this app";

/** How calls end whose app is closed under them. */
const ENDED_CODES = new Set<ErrorCode>(["store.closed", "query.timeout"]);

export class DataGate<App extends DataApp> {
  readonly #options: DataGateOptions<App>;
  /** Of bodies: as much as has come of each, until its call is answered. */
  readonly #bodies = new Shares({
    max: BODIES_SIZE_MAX,
    perOwnerMax: BODIES_PER_CREDENTIAL_SIZE_MAX,
    areGrouped: true,
  });
  /** Of their values, until the call is answered, too. */
  readonly #decoder = new BodyDecoder({
    max: BODY_VALUES_SIZE_MAX,
    perOwnerMax: BODY_VALUES_PER_CREDENTIAL_SIZE_MAX,
    areGrouped: true,
  });
  /** Those whose body is there: one that does not come must not keep others out. */
  readonly #calls = new Shares({
    max: CALLS_MAX,
    perOwnerMax: CALLS_PER_CREDENTIAL_MAX,
    areGrouped: true,
  });

  constructor(options: DataGateOptions<App>) {
    this.#options = options;
  }

  /** Hands the call in `request` to `operation`. Throws a Refusal when it does not come so far. */
  async admit<T>(
    request: HttpRequest,
    place: Place,
    operation: (call: DataCall<App>) => T | Promise<T>,
  ): Promise<T> {
    const admitted = this.authenticate(request, place);
    const { use, app, credential } = admitted instanceof Promise ? await admitted : admitted;
    const owner = ownerOf(app.id, credential);
    const room = this.#bodies.roomOf(owner);
    let bytes: Uint8Array | undefined;
    let decoded: DecodedBody | undefined;
    let isCounted = false;
    try {
      const decode = decoderOf(request.headers);
      if (!this.#calls.hasLeft(owner)) throw this.#tooMany();
      bytes = await request.readBody(room);
      isCounted = this.#calls.take(owner);
      if (!isCounted) throw this.#tooMany();
      const decoding = this.#decoder.decode(bytes, decode, owner);
      decoded = decoding instanceof Promise ? await decoding : decoding;
      const body = decoded.value;
      const result = operation({ app, credential, request, place, body, bytes });
      return result instanceof Promise ? await result : result;
    } catch (error) {
      throw this.failureOf(error, app.id);
    } finally {
      if (isCounted) this.#calls.give(owner);
      if (bytes !== undefined) room.give(bytes.length);
      decoded?.release();
      use.release();
    }
  }

  /**
   * Who asks. A promise only where something has to be waited for; whoever calls it releases the
   * app. Throws a Refusal: 503 when the server is not open, 401 or 429 when nobody is known.
   */
  authenticate(request: HttpRequest, place: Place): Admitted<App> | Promise<Admitted<App>> {
    const source = this.#options.source();
    if (source === undefined) throw unavailable("the server is starting or closing", 1);
    const { authorization } = request.headers;
    // Where none was tried, none has failed.
    if (authorization === undefined) throw unauthorized(`${EXPECTED}, found none`);
    const text = bearerOf(authorization);
    if (text === undefined) throw this.#failed(request, EXPECTED);
    const { auth } = this.#options;
    const note = (reason: string): void => {
      auth.noteReason(reason, { requestId: request.id, appId: place.appId });
    };
    const bearer = auth.credentials.find(source.registry, text, place.appId, note);
    if (bearer instanceof Promise) return this.#verify(source, bearer, request);
    if (bearer === undefined) throw this.#failed(request, UNKNOWN);
    return this.#enter(source, bearer, request);
  }

  /** What a failed call is told. One whose app was deleted meanwhile is nobody's any more: 401. */
  failureOf(error: unknown, appId: string): unknown {
    if (!(error instanceof PeerError && ENDED_CODES.has(error.code))) return error;
    const registry = this.#options.source()?.registry;
    const isDeleted = registry !== undefined && registry.apps.get(appId) === undefined;
    return isDeleted ? unauthorized(UNKNOWN) : error;
  }

  /** As authenticate, for a token that is still being looked at. */
  async #verify(
    source: DataSource<App>,
    verifying: Promise<Bearer | undefined>,
    request: HttpRequest,
  ): Promise<Admitted<App>> {
    const bearer = await verifying.catch((error: unknown) => {
      this.#options.auth.noteError(error, request.remoteAddress);
      throw error;
    });
    if (bearer === undefined) throw this.#failed(request, UNKNOWN);
    return this.#enter(source, bearer, request);
  }

  /** Who tries many is told to wait. */
  #failed({ remoteAddress }: HttpRequest, message: string): Refusal {
    this.#options.auth.noteFailure(remoteAddress);
    return unauthorized(message);
  }

  #tooMany(): Refusal {
    this.#options.onRefused?.("calls");
    return unavailable("the server, or this credential, has too many requests under way", 1);
  }

  /** The app of a known credential; opened, when nobody has used it for a while. */
  #enter(
    { apps }: DataSource<App>,
    { appId, credential }: Bearer,
    request: HttpRequest,
  ): Admitted<App> | Promise<Admitted<App>> {
    const { auth } = this.#options;
    const { remoteAddress } = request;
    const owner = ownerOf(appId, credential);
    auth.pass(remoteAddress, owner);
    if (request.identify(owner)) auth.accept(remoteAddress, owner);
    const use = apps.tryUse(appId);
    if (use !== undefined) return { use, app: use.app, credential };
    return apps.use(appId).then(
      (opened) => ({ use: opened, app: opened.app, credential }),
      (error: unknown) => {
        throw this.failureOf(error, appId);
      },
    );
  }
}
