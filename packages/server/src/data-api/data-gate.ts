/**
 * Data gate: authenticates each call of the data API, opens its app, and reads and decodes its body
 * within memory budgets. The credential is checked before the body is read (H3).
 */

import { type ErrorCode, PeerError, type Value } from "@bigpeer/protocol";
import type { Authentication } from "../auth/authentication.ts";
import { type Credential, ownerOf } from "../auth/credential.ts";
import type { AuthRegistry, Bearer } from "../auth/credentials.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import type { Answer } from "../http/answer.ts";
import { bearerOf } from "../http/bearer.ts";
import { BodyDecoder, type DecodedBody } from "../http/body-decoder.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { elsewhere, isElsewhere, Refusal, unavailable } from "../http/refusal.ts";
import { decoderOf } from "../http/request-format.ts";
import type { Place } from "../http/router.ts";
import {
  BODIES_PER_CREDENTIAL_SIZE_MAX,
  BODIES_SIZE_MAX,
  BODY_VALUES_PER_CREDENTIAL_SIZE_MAX,
  BODY_VALUES_SIZE_MAX,
  CALLS_MAX,
  CALLS_PER_CREDENTIAL_MAX,
} from "../limits/limits.ts";
import { Shares } from "../limits/shares.ts";

/** An app as the gate uses it. */
export interface DataApp {
  readonly id: string;
}

/** Reference to an app, which keeps it open. */
export interface AppUse<App extends DataApp> {
  readonly app: App;
  /** Call it once, when the app is no longer needed. */
  release(): void;
}

/** Registry and apps that serve the calls. */
export interface DataSource<App extends DataApp> {
  readonly registry: AuthRegistry;
  readonly apps: {
    /** Returns the app if it is open; undefined when it must be opened first. */
    tryUse(id: string): AppUse<App> | undefined;
    use(id: string): Promise<AppUse<App>>;
  };
}

export interface DataGateOptions<App extends DataApp> {
  /** Undefined until the server is open, and once it starts to close. */
  readonly source: () => DataSource<App> | undefined;
  readonly auth: Pick<
    Authentication,
    "credentials" | "noteFailure" | "noteError" | "noteReason" | "pass" | "accept"
  >;
  /** Called for each call that is refused because of a limit, with its name. */
  readonly onRefused?: (bound: string) => void;
  /**
   * Finds the caller of a request in another way than by the header `Authorization`. Throws a
   * Refusal when the request is not admitted.
   */
  readonly findCaller?: FindBearer;
  /** Sends a call to the node of the cluster that evaluates its app; absent on one machine. */
  readonly passOn?: (call: PassedCall) => Promise<Answer>;
}

/** The caller of a request, and its app. */
export type FindBearer = (request: HttpRequest, place: Place) => Bearer;

/** A request with its credential. */
interface Presented {
  readonly request: HttpRequest;
  readonly place: Place;
  readonly authorization: string | undefined;
}

/** A call that must be evaluated on another node. */
export interface PassedCall {
  readonly request: HttpRequest;
  readonly appId: string;
  /** The body as received. */
  readonly bytes: Uint8Array;
}

/** Credential of a call, and its app. */
export interface Caller<App extends DataApp> {
  readonly app: App;
  readonly credential: Credential;
}

/** Authenticated caller. Its app stays open until `use` is released. */
export interface Admitted<App extends DataApp> extends Caller<App> {
  readonly use: AppUse<App>;
}

/** Call whose body has been decoded. */
export interface DataCall<App extends DataApp> extends Caller<App> {
  readonly request: HttpRequest;
  readonly place: Place;
  readonly body: Value;
  /** The body as received. */
  readonly bytes: Uint8Array;
}

function notServing({ passId }: HttpRequest): Refusal {
  // The node that passed it on finds another one.
  if (passId !== undefined) return elsewhere();
  return unavailable("the server is starting or closing, or is cut off from its cluster", 1);
}

const EXPECTED = "expected the header `Authorization: Bearer <API key or JWT>`";

/** One message for all cases: a credential must not reveal which apps exist (A2). */
const UNKNOWN = "the credential is not known, has expired, or is not for this app";

/** Errors of calls whose app is closed while they run. */
const ENDED_CODES = new Set<ErrorCode>(["store.closed", "query.timeout"]);

export class DataGate<App extends DataApp> {
  readonly #options: DataGateOptions<App>;
  /** Budget of received bodies, held until the call is answered (H5). */
  readonly #bodies = new Shares({
    max: BODIES_SIZE_MAX,
    perOwnerMax: BODIES_PER_CREDENTIAL_SIZE_MAX,
    areGrouped: true,
  });
  /** Decodes bodies within the budget of decoded values, also held until then (H50). */
  readonly #decoder = new BodyDecoder({
    max: BODY_VALUES_SIZE_MAX,
    perOwnerMax: BODY_VALUES_PER_CREDENTIAL_SIZE_MAX,
    areGrouped: true,
  });
  /** Calls whose body has arrived: one whose body never arrives must not block others. */
  readonly #calls = new Shares({
    max: CALLS_MAX,
    perOwnerMax: CALLS_PER_CREDENTIAL_MAX,
    areGrouped: true,
  });

  constructor(options: DataGateOptions<App>) {
    this.#options = options;
  }

  /** Whether requests are admitted: the server is neither starting nor closing, nor cut off. */
  get isServing(): boolean {
    return this.#options.source() !== undefined;
  }

  /** Runs `operation` on the decoded call. Throws a Refusal when the call is not admitted. */
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
      const { passOn } = this.#options;
      if (!isElsewhere(error) || bytes === undefined) throw this.failureOf(error, app.id);
      if (request.passId !== undefined) throw elsewhere();
      if (passOn === undefined) throw error;
      // A gate that passes calls on is one for answers.
      return (await passOn({ request, appId: app.id, bytes })) as T;
    } finally {
      if (isCounted) this.#calls.give(owner);
      if (bytes !== undefined) room.give(bytes.length);
      decoded?.release();
      use.release();
    }
  }

  /**
   * Authenticates a request, by its header `Authorization` or by another text in place of it.
   * Returns a promise only when it has to wait; the caller releases the app. Throws a Refusal: 503
   * when the server is not open, 401 or 429 without a valid credential.
   */
  authenticate(
    request: HttpRequest,
    place: Place,
    authorization: string | undefined = request.headers.authorization,
  ): Admitted<App> | Promise<Admitted<App>> {
    const source = this.#options.source();
    if (source === undefined) throw notServing(request);
    const { findCaller } = this.#options;
    if (findCaller !== undefined) return this.#open(source, findCaller(request, place));
    // A missing credential does not count as a failed one.
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

  /**
   * Authenticates a request that was admitted before, as if it came now. Undefined when its
   * credential is no longer valid. The caller releases the app. Throws a Refusal, 503, when the
   * credential cannot be checked now.
   */
  async authenticateAgain(
    request: HttpRequest,
    place: Place,
    authorization: string | undefined = request.headers.authorization,
  ): Promise<Admitted<App> | undefined> {
    const source = this.#options.source();
    const bearer = source && (await this.#findAgain(source, { request, place, authorization }));
    if (source === undefined || bearer === undefined) return undefined;
    const { appId, credential } = bearer;
    const use = source.apps.tryUse(appId) ?? (await source.apps.use(appId));
    return { use, app: use.app, credential };
  }

  async #findAgain(
    { registry }: DataSource<App>,
    { request, place, authorization }: Presented,
  ): Promise<Bearer | undefined> {
    const { findCaller, auth } = this.#options;
    if (findCaller === undefined) {
      const text = bearerOf(authorization ?? "");
      if (text === undefined) return undefined;
      try {
        return await auth.credentials.find(registry, text, place.appId);
      } catch (error) {
        // The claims of the token no longer give any rights.
        if (error instanceof Refusal && error.status === 401) return undefined;
        throw error;
      }
    }
    try {
      return findCaller(request, place);
    } catch {
      // The session has ended, or the app is gone.
      return undefined;
    }
  }

  /** Maps the error of a call. A call whose app was deleted meanwhile gets 401 (H2). */
  failureOf(error: unknown, appId: string): unknown {
    if (!(error instanceof PeerError && ENDED_CODES.has(error.code))) return error;
    const registry = this.#options.source()?.registry;
    const isDeleted = registry !== undefined && registry.apps.get(appId) === undefined;
    return isDeleted ? unauthorized(UNKNOWN) : error;
  }

  /** As `authenticate`, for a token that is still being verified. */
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

  /** Counts the failure; throws a Refusal, 429, after too many. */
  #failed({ remoteAddress }: HttpRequest, message: string): Refusal {
    this.#options.auth.noteFailure(remoteAddress);
    return unauthorized(message);
  }

  #tooMany(): Refusal {
    this.#options.onRefused?.("calls");
    return unavailable("the server, or this credential, has too many requests under way", 1);
  }

  /** Lets a known credential in, unless its address is throttled. */
  #enter(
    source: DataSource<App>,
    bearer: Bearer,
    request: HttpRequest,
  ): Admitted<App> | Promise<Admitted<App>> {
    const { auth } = this.#options;
    const { remoteAddress } = request;
    const owner = ownerOf(bearer.appId, bearer.credential);
    auth.pass(remoteAddress, owner);
    if (request.identify(owner)) auth.accept(remoteAddress, owner);
    return this.#open(source, bearer);
  }

  /** Returns the app of a caller, and opens it if it is closed. */
  #open(
    { apps }: DataSource<App>,
    { appId, credential }: Bearer,
  ): Admitted<App> | Promise<Admitted<App>> {
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
