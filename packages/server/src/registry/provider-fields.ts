/**
 * Provider fields: reads and checks the fields of an auth provider from a request or the registry,
 * each on demand. Errors name the place and never the value, which may be a secret.
 */

import { type Permissions, readPermissions } from "@bigpeer/engine/query";
import {
  getField,
  isArray,
  isObject,
  PeerError,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { fieldMismatch, kindOf } from "../validation/schema-fault.ts";

export type JwtKeys =
  | { readonly secret: string }
  | { readonly jwks: ValueObject }
  | { readonly jwksUrl: string };

/** Bytes of a webhook secret. */
export const SECRET_SIZE = 128;

/** Two while a secret is rotated. */
export const SECRETS_MAX = 2;

/** Minimum characters of a shared token: a shorter one could be guessed. */
export const SHARED_TOKEN_LENGTH_MIN = 16;

/** Minimum bytes of an HS256 key: a shorter one could be guessed. */
const JWT_SECRET_SIZE_MIN = 32;

const KEYS_MAX = 100;
export const TEXT_LENGTH_MAX = 1_024;
const URL_LENGTH_MAX = 2_048;

const TYPES = ["anonymous", "tokenWebhook", "jwt"] as const;

type ProviderType = (typeof TYPES)[number];

/** Key types that can verify signatures. */
const PUBLIC_KEY_TYPES = new Set<Value>(["RSA", "EC", "OKP"]);

export interface TextsBound {
  readonly countMax: number;
  readonly lengthMax: number;
}

/** Fields of one provider: the reader takes each known field, then `end` refuses all others. */
export class ProviderFields {
  readonly at: string;
  readonly type: ProviderType;
  readonly #fields: ValueObject;
  readonly #asked = new Set<string>(["type"]);

  constructor(given: Value, at: string) {
    if (!isObject(given)) throw providerFault("an object", given, at);
    const nested = nestedForm(given);
    this.at = nested === undefined ? at : `${at}.${nested}`;
    this.#fields = nested === undefined ? given : (getField(given, nested) as ValueObject);
    const type = typeNamed(nested ?? getField(given, "type") ?? impliedType(given));
    if (type === undefined) {
      throw providerFault(`one of ${TYPES.join(", ")}`, getField(given, "type"), `${at}.type`);
    }
    this.type = type;
  }

  text(name: string, lengthMax: number): string | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value !== "" && value.length <= lengthMax) return value;
    // The value may be a secret, and clients often log errors.
    const found = typeof value === "string" ? `${value.length} characters` : kindOf(value);
    throw this.#fault(name, `text of 1 to ${lengthMax} characters`, found);
  }

  /** Reads a secret of a new or changed provider. */
  newSecret(name: string, lengthMin: number, lengthMax: number): string | undefined {
    const secret = this.text(name, lengthMax);
    if (secret === undefined || secret.length >= lengthMin) return secret;
    const expected = `a secret of at least ${lengthMin} characters`;
    throw this.#fault(name, expected, `${secret.length} characters`);
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
    throw providerFault(`an integer from ${min} to ${max}`, value, `${this.at}.${name}`);
  }

  optionalInteger(name: string, min: number, max: number): number | undefined {
    return this.#take(name) === undefined ? undefined : this.integer(name, min, max);
  }

  /** With `isStored`, rules for new permissions do not apply. */
  permission(isStored: boolean): Permissions | undefined {
    const value = this.#take("permission");
    if (value === undefined) return undefined;
    const source = { isOfUsers: true, isSaved: !isStored };
    return readPermissions(value, `${this.at}.permission`, source);
  }

  /** Reads a text or a list of texts. */
  texts(name: string, { countMax, lengthMax }: TextsBound): readonly string[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const texts = isArray(value) ? value : [value];
    const isFitting = texts.length > 0 && texts.length <= countMax;
    const areTexts = texts.every((one) => {
      return typeof one === "string" && one !== "" && one.length <= lengthMax;
    });
    if (isFitting && areTexts) return texts as readonly string[];
    const expected = `text of 1 to ${lengthMax} characters, or a list of 1 to ${countMax} of them`;
    throw this.#fault(name, expected, isArray(value) ? "another list" : kindOf(value));
  }

  /** Reads a list of some of `known`. */
  choices<T extends string>(name: string, known: readonly T[]): readonly T[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const isFitting = isArray(value) && value.length > 0 && value.length <= known.length;
    if (isFitting && value.every((one) => known.includes(one as T))) return value as readonly T[];
    throw this.#fault(name, `a list of some of ${known.join(", ")}`, "another value");
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
    return providerFault(expected, undefined, `${this.at}.${name}`);
  }

  /** Refuses unknown fields: the configuration of access control must not be ambiguous. */
  end(): void {
    const other = Object.keys(this.#fields).find((name) => !this.#asked.has(name));
    if (other === undefined) return;
    const known = [...this.#asked].join(", ");
    throw new PeerError("value.invalid", `expected no other fields than ${known}`, {
      at: `${this.at}.${other}`,
    });
  }

  /** Null counts as absent. */
  #take(name: string): Value | undefined {
    this.#asked.add(name);
    return getField(this.#fields, name) ?? undefined;
  }

  #fault(name: string, expected: string, found: string): PeerError {
    const message = `expected ${expected}, found ${found}`;
    return new PeerError("value.invalid", message, { at: `${this.at}.${name}` });
  }
}

/** `{"anonymous": {…}}`: the type is the name of the only field. */
function nestedForm(given: ValueObject): string | undefined {
  const [name = "", ...others] = Object.keys(given);
  const isNested = others.length === 0 && typeNamed(name) !== undefined;
  return isNested && isObject(getField(given, name)) ? name : undefined;
}

/** `{"webhookUrl": "…"}`: a field that only one type has. */
function impliedType(given: ValueObject): Value | undefined {
  return typeof getField(given, "webhookUrl") === "string" ? "tokenWebhook" : undefined;
}

function typeNamed(name: Value | undefined): ProviderType | undefined {
  // Name that some descriptions of this API use.
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

export function providerFault(expected: string, value: Value | undefined, at: string): PeerError {
  return new PeerError("value.invalid", fieldMismatch(expected, value), { at });
}
