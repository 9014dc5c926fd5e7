/**
 * Auth providers: by what the users of an app prove who they are. Plain data: how a provider is
 * read from a request, kept by the registry, and shown without its secrets.
 */

import { type Permissions, permissionsValue, readPermissions } from "@bigpeer/engine";
import {
  checkValue,
  getField,
  isArray,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { kindOf } from "../schema-fault.ts";

export interface AuthProviders {
  readonly [name: string]: AuthProvider;
}

export type AuthProvider = AnonymousProvider | WebhookProvider | JwtProvider;

/** Whoever knows the shared token is let in, without a name. */
export interface AnonymousProvider {
  readonly type: "anonymous";
  readonly permission: Permissions;
  /** In seconds. */
  readonly sessionLength: number;
  readonly sharedToken: string;
  readonly isLoopbackOnly: boolean;
}

/** A server of the developer is asked about each token. */
export interface WebhookProvider {
  readonly type: "tokenWebhook";
  readonly webhookUrl: string;
  /** Base64, newest first: requests are signed with each of them. */
  readonly secrets: readonly string[];
}

/** Tokens that somebody else has signed. */
export interface JwtProvider {
  readonly type: "jwt";
  readonly keys: JwtKeys;
  readonly issuer?: string;
  /** For tokens that carry no permissions. */
  readonly permission?: Permissions;
}

export type JwtKeys =
  | { readonly secret: string }
  | { readonly jwks: ValueObject }
  | { readonly jwksUrl: string };

type Random = (size: number) => Uint8Array;

/** A year, in seconds: the longest session. */
export const SESSION_LENGTH_MAX = 31_536_000;

/** Bytes of a webhook's secret. */
const SECRET_SIZE = 128;

/** While a secret is exchanged there are two. */
const SECRETS_MAX = 2;

/** Bytes: a shorter key of HS256 could be guessed. */
const JWT_SECRET_SIZE_MIN = 32;

const KEYS_MAX = 100;
const TEXT_LENGTH_MAX = 1_024;
const URL_LENGTH_MAX = 2_048;

/** Neither spaces nor controls, and nothing that ends a part of a path. */
const PROVIDER_NAME = /^[^\p{C}\p{Z}/]{1,63}$/u;

const TYPES = ["anonymous", "tokenWebhook", "jwt"] as const;

/** The key types that carry a signature of ours. */
const PUBLIC_KEY_TYPES = new Set<Value>(["RSA", "EC", "OKP"]);

/**
 * All providers of an app, from a request. Secrets that are not given are kept, as long as the
 * provider keeps its type. Throws PeerError `value.invalid`, or that of a permission's query.
 */
export function readProviders(
  given: unknown,
  before: AuthProviders,
  random: Random,
): AuthProviders {
  const value = checkValue(given ?? null, "authProviders");
  if (!isObject(value)) throw fault("an object of providers by name", value, "authProviders");
  const providers: { [name: string]: AuthProvider } = {};
  for (const name of Object.keys(value)) {
    const old = providerNamed(before, name);
    setField(providers, name, readProvider(name, getField(value, name), old, random));
  }
  return providers;
}

/** One provider; see readProviders. */
export function readProvider(
  name: string,
  given: unknown,
  before: AuthProvider | undefined,
  random: Random,
): AuthProvider {
  if (!PROVIDER_NAME.test(name)) {
    const message = "expected a name of 1 to 63 characters without spaces and slashes";
    throw new PeerError("value.invalid", message, { at: "authProviders" });
  }
  const at = `authProviders.${name}`;
  const fields = new Fields(checkValue(given ?? null, at), at);
  const type = fields.type();
  switch (type) {
    case "anonymous":
      return readAnonymous(fields, before?.type === type ? before : undefined);
    case "tokenWebhook":
      return readWebhook(fields, before?.type === type ? before : undefined, random);
    case "jwt":
      return readJwt(fields, before?.type === type ? before : undefined);
    default:
      return unreachable(type);
  }
}

/** The provider of this name; a name of the language itself is none. */
export function providerNamed(providers: AuthProviders, name: string): AuthProvider | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

/** For answers: what is secret is left out. */
export function shownProviders(providers: AuthProviders): ValueObject {
  return providersValue(providers, shownProvider);
}

/** As the registry keeps them, secrets included. */
export function storedProviders(providers: AuthProviders): ValueObject {
  return providersValue(providers, (provider) => {
    return { ...shownProvider(provider), ...secretsOf(provider) };
  });
}

/** What storedProviders made. Throws `store.corrupt` when it is something else. */
export function providersOfStore(value: Value): AuthProviders {
  try {
    return readProviders(value, {}, drawNone);
  } catch (cause) {
    throw new PeerError("store.corrupt", "expected auth providers in the registry", { cause });
  }
}

function drawNone(): never {
  throw new PeerError("value.invalid", "expected the secrets of a webhook");
}

/** A secret with which requests to a webhook are signed. */
export function drawWebhookSecret(random: Random): string {
  return Buffer.from(random(SECRET_SIZE)).toString("base64");
}

/** The provider with one more secret. The last one before it signs as well, until the next time. */
export function withNewSecret(provider: WebhookProvider, secret: string): WebhookProvider {
  return { ...provider, secrets: [secret, ...provider.secrets].slice(0, SECRETS_MAX) };
}

function readAnonymous(fields: Fields, before: AnonymousProvider | undefined): AuthProvider {
  const permission = fields.permission();
  if (permission === undefined) throw fields.missing("permission", "an object");
  const sessionLength = fields.integer("sessionLength", 1, SESSION_LENGTH_MAX);
  const sharedToken = fields.text("sharedToken", TEXT_LENGTH_MAX) ?? before?.sharedToken;
  if (sharedToken === undefined) throw fields.missing("sharedToken", "text");
  const isLoopbackOnly = fields.boolean("loopbackOnly") ?? false;
  fields.end();
  return { type: "anonymous", permission, sessionLength, sharedToken, isLoopbackOnly };
}

function readWebhook(
  fields: Fields,
  before: WebhookProvider | undefined,
  random: Random,
): AuthProvider {
  const webhookUrl = fields.url("webhookUrl");
  if (webhookUrl === undefined) throw fields.missing("webhookUrl", "a URL");
  const given = fields.secrets("secrets");
  fields.end();
  const secrets = given ?? before?.secrets ?? [drawWebhookSecret(random)];
  return { type: "tokenWebhook", webhookUrl, secrets };
}

function readJwt(fields: Fields, before: JwtProvider | undefined): AuthProvider {
  const given = [
    fields.jwtSecret("secret"),
    fields.keySet("jwks"),
    fields.keySetUrl("jwksUrl"),
  ].filter((keys) => keys !== undefined);
  const kept = before !== undefined && "secret" in before.keys ? before.keys : undefined;
  const [keys = kept] = given;
  if (keys === undefined || given.length > 1) {
    const message = "expected one of secret, jwks and jwksUrl";
    throw new PeerError("value.invalid", message, { at: fields.at });
  }
  const issuer = fields.text("issuer", TEXT_LENGTH_MAX);
  const permission = fields.permission();
  fields.end();
  return { type: "jwt", keys, ...(issuer && { issuer }), ...(permission && { permission }) };
}

/** The fields of one provider: each is asked for once, and then there must be no others. */
class Fields {
  readonly at: string;
  readonly #fields: ValueObject;
  readonly #asked = new Set<string>(["type"]);
  readonly #type: (typeof TYPES)[number];

  constructor(given: Value, at: string) {
    if (!isObject(given)) throw fault("an object", given, at);
    const nested = nestedForm(given);
    this.at = nested === undefined ? at : `${at}.${nested}`;
    this.#fields = nested === undefined ? given : (getField(given, nested) as ValueObject);
    const type = typeNamed(nested ?? getField(given, "type"));
    if (type === undefined) {
      throw fault(`one of ${TYPES.join(", ")}`, getField(given, "type"), `${at}.type`);
    }
    this.#type = type;
  }

  type(): (typeof TYPES)[number] {
    return this.#type;
  }

  text(name: string, lengthMax: number): string | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value !== "" && value.length <= lengthMax) return value;
    // It may be a secret, and errors are logged by many.
    const found = typeof value === "string" ? `${value.length} characters` : kindOf(value);
    throw this.#fault(name, `text of 1 to ${lengthMax} characters`, found);
  }

  boolean(name: string): boolean | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.#fault(name, "true or false", kindOf(value));
  }

  integer(name: string, min: number, max: number): number {
    const value = this.#take(name);
    if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) {
      return Number(value);
    }
    throw this.#fault(name, `an integer from ${min} to ${max}`, kindOf(value));
  }

  permission(): Permissions | undefined {
    const value = this.#take("permission");
    return value === undefined ? undefined : readPermissions(value, `${this.at}.permission`);
  }

  url(name: string): string | undefined {
    const text = this.text(name, URL_LENGTH_MAX);
    if (text === undefined) return undefined;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = url?.username === "" && url.password === "" && url.hash === "";
    if (isPlain && (url.protocol === "https:" || url.protocol === "http:")) return url.href;
    const expected = "a URL with http or https, without credentials and fragment";
    throw this.#fault(name, expected, "another text");
  }

  secrets(name: string): readonly string[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const isFitting = isArray(value) && value.length > 0 && value.length <= SECRETS_MAX;
    if (isFitting && value.every(isSecret)) return value;
    const expected = `1 to ${SECRETS_MAX} texts in base64, each of ${SECRET_SIZE} bytes`;
    throw this.#fault(name, expected, "another value");
  }

  jwtSecret(name: string): JwtKeys | undefined {
    const secret = this.text(name, TEXT_LENGTH_MAX);
    if (secret === undefined) return undefined;
    const size = Buffer.byteLength(secret);
    if (size >= JWT_SECRET_SIZE_MIN) return { secret };
    throw this.#fault(name, `at least ${JWT_SECRET_SIZE_MIN} bytes`, `${size} bytes`);
  }

  keySetUrl(name: string): JwtKeys | undefined {
    const jwksUrl = this.url(name);
    return jwksUrl === undefined ? undefined : { jwksUrl };
  }

  keySet(name: string): JwtKeys | undefined {
    const jwks = this.#take(name);
    if (jwks === undefined) return undefined;
    const keys = isObject(jwks) ? getField(jwks, "keys") : undefined;
    if (!isObject(jwks) || !isArray(keys) || keys.length === 0 || keys.length > KEYS_MAX) {
      throw this.#fault(name, `a JWK set with 1 to ${KEYS_MAX} keys`, kindOf(jwks));
    }
    for (const [i, key] of keys.entries()) {
      if (isPublicKey(key)) continue;
      const expected = "a public key (RSA, EC or OKP) without its private part";
      throw this.#fault(`${name}.keys[${i}]`, expected, "another value");
    }
    return { jwks };
  }

  missing(name: string, expected: string): PeerError {
    return this.#fault(name, expected, "nothing");
  }

  /** A field of no meaning is a mistake: in what guards an app, nothing is guessed. */
  end(): void {
    const other = Object.keys(this.#fields).find((name) => !this.#asked.has(name));
    if (other === undefined) return;
    const known = [...this.#asked].join(", ");
    throw new PeerError("value.invalid", `expected no other fields than ${known}`, {
      at: `${this.at}.${other}`,
    });
  }

  /** Null stands for a field that is not there. */
  #take(name: string): Value | undefined {
    this.#asked.add(name);
    return getField(this.#fields, name) ?? undefined;
  }

  #fault(name: string, expected: string, found: string): PeerError {
    const message = `expected ${expected}, found ${found}`;
    return new PeerError("value.invalid", message, { at: `${this.at}.${name}` });
  }
}

/** `{"anonymous": {…}}`: the type as the name of the one field. */
function nestedForm(given: ValueObject): string | undefined {
  const [name = "", ...others] = Object.keys(given);
  const isNested = others.length === 0 && typeNamed(name) !== undefined;
  return isNested && isObject(getField(given, name)) ? name : undefined;
}

function typeNamed(name: Value | undefined): (typeof TYPES)[number] | undefined {
  // What some descriptions of this interface call it.
  return name === "webhookUrl" ? "tokenWebhook" : TYPES.find((type) => type === name);
}

function isSecret(value: Value): value is string {
  return (
    typeof value === "string" &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(value) &&
    Buffer.from(value, "base64").length === SECRET_SIZE
  );
}

function isPublicKey(key: Value): boolean {
  if (!isObject(key)) return false;
  return PUBLIC_KEY_TYPES.has(getField(key, "kty") ?? null) && getField(key, "d") === undefined;
}

function fault(expected: string, value: Value | undefined, at: string): PeerError {
  return new PeerError("value.invalid", `expected ${expected}, found ${kindOf(value)}`, { at });
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
      const { keys, issuer, permission } = provider;
      return {
        type,
        ...("secret" in keys ? {} : keys),
        ...(issuer !== undefined && { issuer }),
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
