/**
 * Login endpoint, `POST /{appId}/auth/login`: exchanges a token of an auth provider of the app for
 * a session (A10).
 */

import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { bindPermissions } from "@bigpeer/engine/query";
import { type Charge, getField, isObject, unreachable, type Value } from "@bigpeer/protocol";
import { networkOf } from "../address/client-address.ts";
import { createAnswer } from "../http/answer.ts";
import { BodyDecoder } from "../http/body-decoder.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { checkUncoded, type Decode, decoderOf } from "../http/request-format.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import {
  LOGIN_BODIES_SIZE_MAX,
  LOGIN_BODY_MS_MAX,
  LOGIN_SIZE_MAX,
  LOGIN_VALUES_PER_ADDRESS_SIZE_MAX,
  LOGIN_VALUES_SIZE_MAX,
} from "../limits/limits.ts";
import {
  type AnonymousProvider,
  providerNamed,
  SESSION_LENGTH_MAX,
} from "../registry/auth-provider.ts";
import type { Authentication } from "./authentication.ts";
import type { AuthRegistry } from "./credentials.ts";
import { isFromThisMachine } from "./loopback-request.ts";
import { type AuthApp, type Session, signSession } from "./session.ts";
import { unauthorized } from "./unauthorized.ts";

export interface LoginHost {
  /** Undefined until the server is open, and once it starts to close. */
  readonly registry: () => Pick<AuthRegistry, "apps"> | undefined;
  readonly auth: Pick<
    Authentication,
    | "tokens"
    | "webhooks"
    | "now"
    | "noteFailedLogin"
    | "noteReason"
    | "isSuspect"
    | "pass"
    | "accept"
  >;
}

interface LoginRequest {
  readonly provider: string;
  readonly token: string;
}

/** User as the provider describes it. */
interface LoginUser extends Omit<Session, "provider"> {
  readonly clientInfo?: Value | undefined;
}

/** Maximum characters of a session token: it comes back in a header, whose size is limited. */
const SESSION_TOKEN_LENGTH_MAX = 12 * 1024;

/** One message for all cases, which does not reveal which apps and providers exist (A11). */
const REFUSED = "the app, the provider or the token is not known";

/** Refusal that carries information of the webhook for the client. */
class LoginRefusal extends Refusal {
  readonly clientInfo: Value | undefined;

  constructor(clientInfo: Value | undefined) {
    const { message, headers } = unauthorized(REFUSED);
    super(401, message, headers);
    this.clientInfo = clientInfo;
  }
}

const FORM = "application/x-www-form-urlencoded";

export function loginEndpoint(host: LoginHost): Endpoint {
  // Only received bytes count, not announced ones: a body that never arrives blocks no one.
  const room = new ByteBudget(LOGIN_BODIES_SIZE_MAX);
  const bodies = new BodyDecoder({
    max: LOGIN_VALUES_SIZE_MAX,
    perOwnerMax: LOGIN_VALUES_PER_ADDRESS_SIZE_MAX,
  });
  return {
    name: "login",
    path: "/{appId}/auth/login",
    methods: ["POST"],
    isJsonOnly: true,
    failureBody: (message, refusal) => {
      const clientInfo = refusal instanceof LoginRefusal ? refusal.clientInfo : undefined;
      return clientInfo === undefined ? messageBody(message) : { message, clientInfo };
    },
    answer: async (request, { parameters }) => {
      const registry = host.registry();
      if (registry === undefined) throw unavailable("the server is starting or closing", 1);
      const decode = decoderFor(request.headers);
      checkAnnounced(request);
      const bytes = await request.readBody(room, LOGIN_BODY_MS_MAX);
      try {
        const app = registry.apps.get((parameters["appId"] ?? "").toLowerCase());
        const body = await bodies.decode(bytes, decode, networkOf(request.remoteAddress));
        // Only two texts of it are kept, and its bytes pay for them.
        body.release();
        const login = readLogin(body.value, app?.id);
        const session = await logIn(host.auth, app, request, login);
        return createAnswer(200, session, { "cache-control": "no-store" });
      } catch (error) {
        host.auth.noteFailedLogin(error, request.remoteAddress);
        throw error;
      } finally {
        room.give(bytes.length);
      }
    },
  };
}

async function logIn(
  auth: LoginHost["auth"],
  app: AuthApp | undefined,
  request: HttpRequest,
  login: LoginRequest,
): Promise<Value> {
  // Before the token is checked: while the address is throttled, the answer must not depend on it.
  const name = loginName(app, login);
  auth.pass(request.remoteAddress, name);
  if (app === undefined) throw new LoginRefusal(undefined);
  const { clientInfo = null, ...user } = await findUser(auth, app, request, login);
  auth.accept(request.remoteAddress, name);
  const nowMs = auth.now();
  const longest = Math.floor(nowMs / 1000) + SESSION_LENGTH_MAX;
  const expiresAt = Math.min(Math.floor(user.expiresAt), longest);
  // A token that is valid only by the leeway would give an expired session.
  if (expiresAt * 1000 <= nowMs) throw new LoginRefusal(undefined);
  const session = { ...user, provider: login.provider, expiresAt };
  const accessToken = await signSession(app, session, nowMs);
  if (accessToken.length > SESSION_TOKEN_LENGTH_MAX) {
    throw new Refusal(500, "the permissions and metadata of this user are too large for a token");
  }
  const accessExpiry = new Date(expiresAt * 1000).toISOString();
  return { accessToken, accessExpiry, userId: user.userId, clientInfo };
}

/** Name that stands for the token of a login without revealing it. */
function loginName(app: AuthApp | undefined, { provider, token }: LoginRequest): string {
  const text = JSON.stringify([app?.id, provider, token]);
  return `login ${createHash("sha256").update(text).digest("base64")}`;
}

async function findUser(
  auth: LoginHost["auth"],
  app: AuthApp,
  request: HttpRequest,
  { provider: name, token }: LoginRequest,
): Promise<LoginUser> {
  const provider = providerNamed(app.authProviders, name);
  switch (provider?.type) {
    case undefined:
      throw new LoginRefusal(undefined);
    case "anonymous":
      if (!isAnonymousAllowed(provider, request, token)) throw new LoginRefusal(undefined);
      return {
        ...anonymousUser(provider),
        expiresAt: auth.now() / 1000 + provider.sessionLength,
      };
    case "tokenWebhook": {
      const { remoteAddress: address } = request;
      const question = { appId: app.id, name, provider, token };
      const asker = { address, isSuspect: auth.isSuspect(address) };
      const verdict = await auth.webhooks.ask(question, asker);
      if (!verdict.isAuthenticated) throw new LoginRefusal(verdict.clientInfo);
      return verdict;
    }
    case "jwt": {
      const place = { requestId: request.id, appId: app.id, provider: name };
      const note = (reason: string): void => auth.noteReason(reason, place);
      const user = await auth.tokens.verify(token, provider, app.id, note);
      if (user === undefined) throw new LoginRefusal(undefined);
      return user;
    }
    default:
      return unreachable(provider);
  }
}

/** Creates a new user for every login (A12). */
function anonymousUser({
  permission,
}: AnonymousProvider): Pick<LoginUser, "userId" | "permissions"> {
  const userId = randomUUID();
  return { userId, permissions: bindPermissions(permission, { userId, claims: {} }) };
}

function isAnonymousAllowed(
  { sharedToken, isLoopbackOnly }: AnonymousProvider,
  request: HttpRequest,
  token: string,
): boolean {
  const isKnown = timingSafeEqual(digestOf(token), digestOf(sharedToken));
  return isKnown && (!isLoopbackOnly || isFromThisMachine(request));
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** JSON, or a form as browsers and older clients send it (A27). */
function decoderFor(headers: HttpRequest["headers"]): Decode {
  checkUncoded(headers);
  const given = headers["content-type"] ?? "";
  const [type, ...parameters] = given.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (isUtf8 && type === FORM) return formFields;
  if (isUtf8 && type === "application/json") return decoderOf(headers);
  const expected = `application/json or ${FORM}, in UTF-8`;
  const found = given === "" ? "none" : given;
  throw new Refusal(415, `expected the content type ${expected}, found ${found}`);
}

/** Memory that a byte of a form takes at most: `&a` is a field. */
const FORM_BYTES_PER_BYTE = 128;

/** Reads provider and token. A form may repeat the app id, which must then match. */
function readLogin(body: Value, appId: string | undefined): LoginRequest {
  if (!isObject(body)) throw new Refusal(400, "expected an object as body (value.invalid)");
  const named = getField(body, "appId");
  if (named !== undefined && (typeof named !== "string" || named.toLowerCase() !== appId)) {
    throw new LoginRefusal(undefined);
  }
  return { provider: textField(body, "provider"), token: textField(body, "token") };
}

/** The caller is unknown, so only a small body with an announced length is read. */
function checkAnnounced({ headers, bodySizeMax }: HttpRequest): void {
  if (headers["transfer-encoding"] !== undefined) {
    throw new Refusal(411, "expected a body whose Content-Length is known");
  }
  if (bodySizeMax <= LOGIN_SIZE_MAX) return;
  throw new Refusal(413, `expected a body of at most ${LOGIN_SIZE_MAX} bytes`);
}

/** Decodes a form; its fields are flat. */
function* formFields(bytes: Uint8Array, charge: Charge): Generator<void, Value> {
  charge(FORM_BYTES_PER_BYTE * bytes.length);
  yield;
  return Object.fromEntries(new URLSearchParams(Buffer.from(bytes).toString()));
}

function textField(body: { readonly [name: string]: Value }, name: string): string {
  const value = getField(body, name);
  if (typeof value === "string" && value !== "") return value;
  throw new Refusal(400, `expected text at ${name} (value.invalid)`);
}
