/**
 * Management endpoint: turns a resource of the management API into an HTTP endpoint. It admits the
 * caller, checks the Big Peer in the path, reads and checks the body, and maps errors to problems.
 */

import type { Platform } from "@bigpeer/engine";
import { assert, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { Config } from "../config/config.ts";
import type { DeliveryCommand } from "../delivery/delivery-commands.ts";
import { type Answer, type Headers, NO_HEADERS } from "../http/answer.ts";
import { BodyDecoder } from "../http/body-decoder.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { PathParameters } from "../http/path-table.ts";
import { elsewhere, isElsewhere, Refusal } from "../http/refusal.ts";
import { decoderOf, isUtf8 } from "../http/request-format.ts";
import type { Endpoint, Place } from "../http/router.ts";
import { MANAGEMENT_BODY_SIZE_MAX, MANAGEMENT_VALUES_SIZE_MAX } from "../limits/limits.ts";
import type { Log } from "../observability/log.ts";
import type { Author } from "../registry/audit-log.ts";
import type { ConsoleSession } from "../registry/console-access.ts";
import type { ConsoleLink } from "../registry/console-link.ts";
import type { Registry } from "../registry/registry.ts";
import { shown } from "../registry/registry-fault.ts";
import type { Replication } from "../registry/replications.ts";
import type { Check } from "../validation/schema.ts";
import type { Admin, ManagementGate } from "./management-gate.ts";
import { Problem, problemBody, problemOf } from "./problem.ts";
import type { ServerFacts } from "./server-facts.ts";

/** Parts of the server that resources use. */
export interface ManagementHost {
  readonly config: Pick<Config, "namespace" | "name" | "appGraceMs">;
  readonly registry: Registry;
  readonly apps: Pick<OpenApps, "closeApp">;
  /** Webhooks and sinks of the apps; absent in a server that delivers nothing. */
  readonly deliveries?: ManagedDeliveries | undefined;
  /** Status of the links of a replication; absent without links. */
  readonly linkStatus?: ((replication: Replication) => Promise<Value>) | undefined;
  readonly gate: ManagementGate;
  /** The link to the console; absent where none is made. */
  readonly consoleLink?: (() => ConsoleLink | undefined) | undefined;
  /** The running server; absent where only its registry is served. */
  readonly facts?: ServerFacts | undefined;
  /** URL of the data API, for clients; absent while it has none. */
  readonly dataUrl?: (() => string | undefined) | undefined;
  readonly platform: Platform;
  readonly log: Log;
  /** State of the cluster; absent when the server is alone. */
  readonly clusterStatus?: (() => Promise<Value>) | undefined;
  /** Sends a request to the node of the cluster that evaluates the registry. */
  readonly passOn?: ((request: HttpRequest, body: Uint8Array) => Promise<Answer>) | undefined;
}

/** Deliveries of the apps, wherever they run. */
export interface ManagedDeliveries {
  /** The position after all changes that are durable now. */
  currentCursor(appId: string): Promise<string>;
  /** Undefined when there is no such dead letter. */
  run(asked: DeliveryCommand): Promise<ValueObject | undefined>;
}

/** One path and the handlers of its methods. */
export interface Resource {
  /** Name in the log and the metrics. */
  readonly name: string;
  /** Path after the Big Peer; of a resource outside of it, the whole path. */
  readonly path: string;
  /** Whether the path has no Big Peer. */
  readonly isOutside?: boolean;
  /** By default `admin`. */
  readonly access?: Access;
  readonly methods: { readonly [method in Method]?: Handler };
}

/**
 * Who may call: `admin` is every caller that may manage the server, `signedIn` one with the admin
 * token or a session of the console, `page` also a page of this server that is not signed in.
 */
export type Access = "admin" | "signedIn" | "page";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Returns the body of the answer, whose status is 200. */
export type Handler = (call: ManagementCall) => Value | Promise<Value>;

/** How the paths of the API begin. */
export const BIG_PEER = "/namespace/{namespace}/bigPeer/{bigPeer}";

/** Actor of a page that is not signed in. */
const PAGE = "page";

export function managementEndpoint(host: ManagementHost, resource: Resource): Endpoint {
  const { name, path, methods, isOutside = false } = resource;
  const served = Object.keys(methods);
  return {
    name,
    path: isOutside ? path : BIG_PEER + path,
    methods: methods.GET === undefined ? served : [...served, "HEAD"],
    isJsonOnly: true,
    failureBody: problemBody,
    answer: async (request, place) => {
      const handler = methods[methodOf(request)];
      assert(handler !== undefined, "the router asks for methods that are served");
      let call: ManagementCall | undefined;
      try {
        const admin = admit(host, resource, request);
        request.identify(admin.actor);
        call = new ManagementCall(host, request, place, admin);
        if (!isOutside) checkBigPeer(host.config, place.parameters);
        const isChange = handler !== methods.GET;
        const value = await answered(handler(call), host, isChange);
        return answerWith(value, call.headers, isChange);
      } catch (error) {
        if (!isElsewhere(error) || call === undefined) throw problemOf(error);
        if (request.passId !== undefined) throw elsewhere();
        if (host.passOn === undefined) throw problemOf(error);
        return await host.passOn(request, call.received);
      }
    },
  };
}

function admit({ gate }: ManagementHost, { access }: Resource, request: HttpRequest): Admin {
  if (access === "signedIn") return gate.admitSignedIn(request);
  if (access !== "page") return gate.admit(request);
  const session = gate.admitPage(request);
  return { actor: session === undefined ? PAGE : "console", session };
}

/** A change goes on to its end, also if the log of a cluster does not answer its caller in time. */
function answered(
  value: Value | Promise<Value>,
  { registry }: ManagementHost,
  isChange: boolean,
): Value | Promise<Value> {
  const isLate = isChange && value instanceof Promise;
  return isLate ? registry.storeFolder.store.answered(value) : value;
}

function methodOf({ method }: HttpRequest): Method {
  return method === "HEAD" ? "GET" : (method as Method);
}

function answerWith(value: Value, headers: Headers, isApplied: boolean): Answer {
  return { status: 200, headers, body: { kind: "value", value }, isApplied };
}

const bodies = new BodyDecoder({
  max: MANAGEMENT_VALUES_SIZE_MAX,
  perOwnerMax: MANAGEMENT_VALUES_SIZE_MAX,
});

/** Request of an admitted caller. */
export class ManagementCall {
  readonly host: ManagementHost;
  readonly author: Author;
  readonly query: string;
  /** Session of the console; undefined for other callers. */
  readonly session: ConsoleSession | undefined;
  readonly request: HttpRequest;
  readonly random = (size: number): Uint8Array => this.host.platform.random(size);
  readonly #parameters: PathParameters;
  #received: Uint8Array = new Uint8Array();
  #headers: Headers = NO_HEADERS;

  constructor(host: ManagementHost, request: HttpRequest, place: Place, admin: Admin) {
    this.host = host;
    this.session = admin.session;
    this.author = { actor: admin.actor, requestId: request.id, address: request.remoteAddress };
    this.query = place.query;
    this.request = request;
    this.#parameters = place.parameters;
  }

  get registry(): Registry {
    return this.host.registry;
  }

  /** The body as far as it was read. */
  get received(): Uint8Array {
    return this.#received;
  }

  /** Headers of the answer beside the usual ones. */
  get headers(): Headers {
    return this.#headers;
  }

  /** Adds a header to the answer; `name` is in lower case. */
  setHeader(name: string, value: string): void {
    this.#headers = { ...this.#headers, [name]: value };
  }

  /** Value of `{name}` in the path. */
  parameter(name: string): string {
    const value = this.#parameters[name];
    assert(value !== undefined, `a parameter ${name} in the path`);
    return value;
  }

  /** The id of the app in the path. */
  appId(): string {
    return this.registry.apps.named(this.parameter("app")).id;
  }

  get facts(): ServerFacts {
    const { facts } = this.host;
    assert(facts !== undefined, "a server that runs");
    return facts;
  }

  get deliveries(): ManagedDeliveries {
    const { deliveries } = this.host;
    assert(deliveries !== undefined, "a server with deliveries");
    return deliveries;
  }

  /** Refuses a body whose `field` differs from the path (M31). */
  checkSame(given: string | null | undefined, expected: string, field: string): void {
    if (given === undefined || given === null || given === expected) return;
    const message = `expected ${expected}, which cannot be changed, found another text`;
    throw new PeerError("value.invalid", message, { at: field });
  }

  /** Reads the body, which must be JSON (M7). */
  async body<T>(check: Check<T>): Promise<T> {
    const { headers } = this.request;
    checkJson(headers["content-type"]);
    const decode = decoderOf(headers);
    // The size of a chunked body is known only when it has arrived.
    const announced = headers["content-length"];
    if (announced !== undefined) checkSize(Number(announced));
    const bytes = await this.request.readBody();
    checkSize(bytes.length);
    this.#received = bytes;
    const body = await bodies.decode(bytes, decode, this.author.actor);
    try {
      return check(body.value);
    } finally {
      // The registry bounds what is kept of it.
      body.release();
    }
  }

  /** As `body`; an absent body counts as an empty object. */
  optionalBody<T>(check: Check<T>): Promise<T> {
    return this.request.bodySizeMax === 0 ? Promise.resolve(check({})) : this.body(check);
  }
}

/** Throws a Problem if the path names another Big Peer (M6). */
export function checkBigPeer(
  { namespace, name }: ManagementHost["config"],
  parameters: PathParameters,
): void {
  const given = { namespace: parameters["namespace"] ?? "", name: parameters["bigPeer"] ?? "" };
  if (given.namespace === namespace && given.name === name) return;
  const asked = `there is no Big Peer named ${shown(given.name)} in the namespace ${shown(given.namespace)}`;
  const detail = `${asked}: this is ${name} in the namespace ${namespace}`;
  throw new Problem("BigPeerNotFound", detail);
}

function checkJson(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? "")
    .split(";")
    .map((part) => part.trim().toLowerCase());
  if (type === "application/json" && parameters.every(isUtf8)) return;
  const expected = "expected the content type application/json (in UTF-8)";
  throw new Refusal(415, `${expected}, found ${contentType ?? "none"}`);
}

function checkSize(size: number): void {
  if (size <= MANAGEMENT_BODY_SIZE_MAX) return;
  throw new Refusal(413, `expected a body of at most ${MANAGEMENT_BODY_SIZE_MAX} bytes`);
}
