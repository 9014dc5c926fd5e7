/**
 * Request bodies as values: JSON or CBOR, by Content-Type.
 */

import type { IncomingHttpHeaders } from "node:http";
import {
  DEPTH_MAX,
  decodeCbor,
  isArray,
  isObject,
  PeerError,
  parseJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { Refusal } from "./refusal.ts";

export type Decode = (bytes: Uint8Array) => Value;

const DECODERS: ReadonlyMap<string, Decode> = new Map([
  ["application/json", decodeJson],
  ["application/cbor", decodeCbor],
]);

/** How to read a body with these headers. Throws a Refusal, 415, when it is in no form of ours. */
export function decoderOf(headers: IncomingHttpHeaders): Decode {
  checkUncoded(headers);
  const given = headers["content-type"] ?? "";
  // What nearly all clients send, letter by letter.
  if (given === "application/json") return decodeJson;
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim().toLowerCase());
  const decode = DECODERS.get(type);
  if (decode === undefined || !parameters.every(isUtf8)) throw unsupported(given);
  return decode;
}

/** Throws a Refusal, 415, when a body is compressed. */
export function checkUncoded(headers: IncomingHttpHeaders): void {
  const coding = headers["content-encoding"];
  if (coding === undefined || coding.toLowerCase() === "identity") return;
  throw new Refusal(415, `expected a body without content encoding, found ${coding}`);
}

/** Parameters other than the charset say nothing about these two types. */
export function isUtf8(parameter: string): boolean {
  const [name, value = ""] = parameter.split("=");
  return name !== "charset" || /^"?utf-?8"?$/.test(value);
}

function unsupported(given: string): Refusal {
  const found = given === "" ? "none" : given;
  const message = `expected the content type application/json (in UTF-8) or application/cbor, found ${found}`;
  return new Refusal(415, message);
}

function decodeJson(bytes: Uint8Array): Value {
  const value = parseJson(decodeUtf8(bytes));
  const place = infinityIn(value, LEVELS_MAX);
  if (place === undefined) return value;
  const at = place === "" ? "the body" : place.replace(/^\./, "");
  throw new PeerError("value.invalid", "expected a number that a float can hold", { at });
}

/** As deep as a value may be, and what stands around one in a body; what is deeper is no value. */
const LEVELS_MAX = DEPTH_MAX + 8;

/**
 * Where the first infinity stands. JSON has none: it was a number beyond all floats, and whoever
 * sent it would be told null. The name of a place is only put together when one stands there.
 */
function infinityIn(value: Value, levels: number): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "";
  if (levels === 0) return undefined;
  if (isArray(value)) return infinityInArray(value, levels);
  return isObject(value) ? infinityInObject(value, levels) : undefined;
}

function infinityInArray(array: readonly Value[], levels: number): string | undefined {
  for (let i = 0; i < array.length; i++) {
    const place = infinityIn(array[i] as Value, levels - 1);
    if (place !== undefined) return `[${i}]${place}`;
  }
  return undefined;
}

function infinityInObject(object: ValueObject, levels: number): string | undefined {
  for (const key in object) {
    const place = infinityIn(object[key] as Value, levels - 1);
    if (place !== undefined) return `.${key}${place}`;
  }
  return undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new PeerError("json.syntax", "expected text in UTF-8", { cause });
  }
}
