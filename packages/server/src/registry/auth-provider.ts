/**
 * Auth providers: the sources of users of an app, as plain data. Reads a provider from a request,
 * encodes it for the registry, and shows it without its secrets (A21).
 */

import { type Permissions, permissionsValue } from "@bigpeer/engine/query";
import {
  checkValue,
  getField,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import {
  type JwtKeys,
  ProviderFields,
  providerFault,
  SECRET_SIZE,
  SECRETS_MAX,
  SHARED_TOKEN_LENGTH_MIN,
  TEXT_LENGTH_MAX,
} from "./provider-fields.ts";

export interface AuthProviders {
  readonly [name: string]: AuthProvider;
}

export type AuthProvider = AnonymousProvider | WebhookProvider | JwtProvider;

interface IdentifiedProvider {
  /**
   * Random id, kept while a provider is replaced by one of the same type. Sessions refer to their
   * provider by it, so another one with the same name does not accept them (A29).
   */
  readonly id: string;
}

/** Admits every client that knows the shared token, as an anonymous user (A12). */
export interface AnonymousProvider extends IdentifiedProvider {
  readonly type: "anonymous";
  readonly permission: Permissions;
  /** In seconds. */
  readonly sessionLength: number;
  readonly sharedToken: string;
  readonly isLoopbackOnly: boolean;
}

/** Asks a server of the developer about each token (A15). */
export interface WebhookProvider extends IdentifiedProvider {
  readonly type: "tokenWebhook";
  readonly webhookUrl: string;
  /** Base64, newest first: requests are signed with each of them. */
  readonly secrets: readonly string[];
}

/** Accepts JWTs of an issuer (A14). */
export interface JwtProvider extends IdentifiedProvider {
  readonly type: "jwt";
  readonly keys: JwtKeys;
  readonly issuer?: string;
  /** Audiences, one of which `aud` must name; default: the id of the app (A23). */
  readonly audience?: readonly string[];
  /** Accepted algorithms of those that fit its keys; default all. */
  readonly algorithms?: readonly JwtAlgorithm[];
  /** Allowed clock skew in seconds; default 60. */
  readonly clockTolerance?: number;
  /** Permissions for tokens without the claim `permissions`. */
  readonly permission?: Permissions;
}

export const JWT_ALGORITHMS = ["HS256", "RS256", "PS256", "ES256", "EdDSA", "Ed25519"] as const;

export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

/** Maximum number of audiences, and of seconds of clock skew. */
const AUDIENCES_MAX = 20;
const CLOCK_TOLERANCE_MAX = 300;

type Random = (size: number) => Uint8Array;

/** Context for reading one provider. */
export interface ProviderReading {
  /** Provider that it replaces. */
  readonly before: AuthProvider | undefined;
  readonly random: Random;
  /** Places of its name and its fields in the request, for errors. */
  readonly places: { readonly name: string; readonly config: string };
}

/** Longest session in seconds: a year. */
export const SESSION_LENGTH_MAX = 31_536_000;

const ID_SIZE = 8;

/** Id of providers that were stored before ids existed. It is never drawn. */
const FIRST_ID = "0";

/** No spaces, control characters or slashes. */
const PROVIDER_NAME = /^[^\p{C}\p{Z}/]{1,63}$/u;

/**
 * Reads all providers of an app from a request. Absent secrets are kept while the provider keeps
 * its type. Throws PeerError `value.invalid`, or the error of a query in a permission.
 */
export function readProviders(
  given: unknown,
  before: AuthProviders,
  random: Random,
): AuthProviders {
  const value = checkValue(given ?? null, "authProviders");
  if (!isObject(value))
    throw providerFault("an object of providers by name", value, "authProviders");
  const providers: { [name: string]: AuthProvider } = {};
  for (const name of Object.keys(value)) {
    const places = { name: "authProviders", config: `authProviders.${name}` };
    const reading = { before: providerNamed(before, name), random, places };
    setField(providers, name, readProvider(name, getField(value, name), reading));
  }
  return providers;
}

/** Reads one provider; see `readProviders`. */
export function readProvider(
  name: string,
  given: unknown,
  { before, random, places }: ProviderReading,
): AuthProvider {
  if (!PROVIDER_NAME.test(name)) {
    const message = "expected a name of 1 to 63 characters without spaces and slashes";
    throw new PeerError("value.invalid", message, { at: places.name });
  }
  const fields = new ProviderFields(checkValue(given ?? null, places.config), places.config);
  const id = before?.type === fields.type ? before.id : drawProviderId(random);
  return readContent(fields, id, before, random);
}

/** Names of providers whose shared token is shorter than is now required. */
export function weakProviders(providers: AuthProviders): string[] {
  return Object.keys(providers).filter((name) => {
    const provider = providerNamed(providers, name);
    return provider?.type === "anonymous" && provider.sharedToken.length < SHARED_TOKEN_LENGTH_MIN;
  });
}

function readContent(
  fields: ProviderFields,
  id: string,
  before: AuthProvider | undefined,
  random: Random | "stored",
): AuthProvider {
  const { type } = fields;
  switch (type) {
    case "anonymous": {
      const known = before?.type === type ? before : undefined;
      return { id, ...readAnonymous(fields, known, random === "stored") };
    }
    case "tokenWebhook":
      return { id, ...readWebhook(fields, before?.type === type ? before : undefined, random) };
    case "jwt":
      return {
        id,
        ...readJwt(fields, before?.type === type ? before : undefined, random === "stored"),
      };
    default:
      return unreachable(type);
  }
}

export function drawProviderId(random: Random): string {
  return Buffer.from(random(ID_SIZE)).toString("hex");
}

/** Provider with this name; names of object prototypes are not found. */
export function providerNamed(providers: AuthProviders, name: string): AuthProvider | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

/** Encodes providers for answers, without secrets. */
export function shownProviders(providers: AuthProviders): ValueObject {
  return providersValue(providers, shownProvider);
}

/** Encodes providers for the registry, with secrets. */
export function storedProviders(providers: AuthProviders): ValueObject {
  return providersValue(providers, (provider) => {
    return { id: provider.id, ...shownProvider(provider), ...secretsOf(provider) };
  });
}

/** Decodes the result of `storedProviders`. Throws `store.corrupt` when it is invalid. */
export function providersOfStore(value: Value): AuthProviders {
  try {
    if (!isObject(value))
      throw providerFault("an object of providers by name", value, "authProviders");
    const providers: { [name: string]: AuthProvider } = {};
    for (const name of Object.keys(value)) {
      setField(providers, name, providerOfStore(getField(value, name), `authProviders.${name}`));
    }
    return providers;
  } catch (cause) {
    throw new PeerError("store.corrupt", "expected auth providers in the registry", { cause });
  }
}

function providerOfStore(value: Value | undefined, at: string): AuthProvider {
  if (!isObject(value)) throw providerFault("an object", value, at);
  const { id = FIRST_ID, ...rest } = value;
  if (typeof id !== "string") throw providerFault("text", id, `${at}.id`);
  return readContent(new ProviderFields(rest, at), id, undefined, "stored");
}

function drawNone(): never {
  throw new PeerError("value.invalid", "expected the secrets of a webhook");
}

/** Creates a secret that signs requests to a webhook. */
export function drawWebhookSecret(random: Random): string {
  return Buffer.from(random(SECRET_SIZE)).toString("base64");
}

/** Adds a secret. The previous one also signs until the next call. */
export function withNewSecret(provider: WebhookProvider, secret: string): WebhookProvider {
  return { ...provider, secrets: [secret, ...provider.secrets].slice(0, SECRETS_MAX) };
}

function readAnonymous(
  fields: ProviderFields,
  before: AnonymousProvider | undefined,
  isStored: boolean,
): Omit<AnonymousProvider, "id"> {
  const permission = fields.permission(isStored);
  if (permission === undefined) throw fields.missing("permission", "an object");
  const sessionLength = fields.integer("sessionLength", 1, SESSION_LENGTH_MAX);
  // A stored token from before there was a minimum length keeps working.
  const given = isStored
    ? fields.text("sharedToken", TEXT_LENGTH_MAX)
    : fields.newSecret("sharedToken", SHARED_TOKEN_LENGTH_MIN, TEXT_LENGTH_MAX);
  const sharedToken = given ?? before?.sharedToken;
  if (sharedToken === undefined) throw fields.missing("sharedToken", "text");
  const isLoopbackOnly = fields.boolean("loopbackOnly") ?? false;
  fields.end();
  return { type: "anonymous", permission, sessionLength, sharedToken, isLoopbackOnly };
}

function readWebhook(
  fields: ProviderFields,
  before: WebhookProvider | undefined,
  random: Random | "stored",
): Omit<WebhookProvider, "id"> {
  const webhookUrl = fields.url("webhookUrl");
  if (webhookUrl === undefined) throw fields.missing("webhookUrl", "a URL");
  const given = fields.secrets("secrets");
  fields.end();
  const draw = random === "stored" ? drawNone : random;
  const secrets = given ?? before?.secrets ?? [drawWebhookSecret(draw)];
  return { type: "tokenWebhook", webhookUrl, secrets };
}

function readJwt(
  fields: ProviderFields,
  before: JwtProvider | undefined,
  isStored: boolean,
): Omit<JwtProvider, "id"> {
  const given = [
    fields.jwtSecret("secret"),
    fields.keySet("jwks"),
    fields.keySetUrl("jwksUrl"),
  ].filter((keys) => keys !== undefined);
  const kept = before !== undefined && "secret" in before.keys ? before.keys : undefined;
  const [keys = kept] = given;
  if (keys === undefined || given.length > 1) {
    const message = "expected exactly one of secret, jwks and jwksUrl";
    throw new PeerError("value.invalid", message, { at: fields.at });
  }
  const issuer = fields.text("issuer", TEXT_LENGTH_MAX);
  const bound = { countMax: AUDIENCES_MAX, lengthMax: TEXT_LENGTH_MAX };
  const audience = fields.texts("audience", bound);
  const algorithms = fields.choices("algorithms", fittingAlgorithms(keys));
  const clockTolerance = fields.optionalInteger("clockTolerance", 0, CLOCK_TOLERANCE_MAX);
  const permission = fields.permission(isStored);
  fields.end();
  return {
    type: "jwt",
    keys,
    ...(issuer && { issuer }),
    ...(audience && { audience }),
    ...(algorithms && { algorithms }),
    ...(clockTolerance !== undefined && { clockTolerance }),
    ...(permission && { permission }),
  };
}

/** By the kind of key: a token signed with a secret is never verified with a public key (A6). */
export function fittingAlgorithms(keys: JwtKeys): readonly JwtAlgorithm[] {
  const isSecret = "secret" in keys;
  return JWT_ALGORITHMS.filter((name) => (name === "HS256") === isSecret);
}

function providersValue(
  providers: AuthProviders,
  valueOf: (provider: AuthProvider) => ValueObject,
): ValueObject {
  const value: MutableObject = {};
  for (const name of Object.keys(providers)) {
    const provider = providerNamed(providers, name);
    if (provider !== undefined) setField(value, name, valueOf(provider));
  }
  return value;
}

function shownProvider(provider: AuthProvider): ValueObject {
  const { type } = provider;
  switch (type) {
    case "anonymous":
      return {
        type,
        permission: permissionsValue(provider.permission),
        sessionLength: provider.sessionLength,
        loopbackOnly: provider.isLoopbackOnly,
      };
    case "tokenWebhook":
      return { type, webhookUrl: provider.webhookUrl };
    case "jwt": {
      const { keys, issuer, audience, algorithms, clockTolerance, permission } = provider;
      return {
        type,
        ...("secret" in keys ? {} : keys),
        ...(issuer !== undefined && { issuer }),
        ...(audience && { audience: audience.length === 1 ? (audience[0] ?? "") : [...audience] }),
        ...(algorithms && { algorithms: [...algorithms] }),
        ...(clockTolerance !== undefined && { clockTolerance }),
        ...(permission && { permission: permissionsValue(permission) }),
      };
    }
    default:
      return unreachable(type);
  }
}

function secretsOf(provider: AuthProvider): ValueObject {
  const { type } = provider;
  switch (type) {
    case "anonymous":
      return { sharedToken: provider.sharedToken };
    case "tokenWebhook":
      return { secrets: provider.secrets };
    case "jwt":
      return "secret" in provider.keys ? provider.keys : {};
    default:
      return unreachable(type);
  }
}
