/**
 * Request formats: picks the decoder of a request body, JSON or CBOR, by Content-Type (H4).
 */

import type { IncomingHttpHeaders } from "node:http";
import {
  type Charge,
  decodeCbor,
  decodeCborIncremental,
  decodeLimits,
  PeerError,
  parseJsonIncremental,
  type Value,
} from "@bigpeer/protocol";
import { BODY_FIELDS_MAX } from "../limits/limits.ts";
import { Refusal } from "./refusal.ts";

/** Decodes a body in steps. Calls `charge` before it allocates memory. */
export type Decode = (bytes: Uint8Array, charge: Charge) => Generator<void, Value>;

const DECODERS: ReadonlyMap<string, Decode> = new Map([
  ["application/json", decodeJson],
  ["application/cbor", decodeCborBody],
]);

/** Picks the decoder for these headers. Throws a Refusal, 415, for any other format. */
export function decoderOf(headers: IncomingHttpHeaders): Decode {
  checkUncoded(headers);
  const given = headers["content-type"] ?? "";
  // The exact text that nearly all clients send.
  if (given === "application/json") return decodeJson;
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim().toLowerCase());
  const decode = DECODERS.get(type);
  if (decode === undefined || !parameters.every(isUtf8)) throw unsupported(given);
  return decode;
}

/** Throws a Refusal, 415, when a body has a content encoding. */
export function checkUncoded(headers: IncomingHttpHeaders): void {
  const coding = headers["content-encoding"];
  if (coding === undefined || coding.toLowerCase() === "identity") return;
  throw new Refusal(415, `expected a body without content encoding, found ${coding}`);
}

/** Whether a parameter is the charset UTF-8 or one that does not matter for these two types. */
export function isUtf8(parameter: string): boolean {
  const [name, value = ""] = parameter.split("=");
  return name !== "charset" || /^"?utf-?8"?$/.test(value);
}

function unsupported(given: string): Refusal {
  const found = given === "" ? "none" : given;
  const message = `expected the content type application/json (in UTF-8) or application/cbor, found ${found}`;
  return new Refusal(415, message);
}

/** Nesting levels around the values: the body itself. */
const LEVELS_AROUND = 1;

function* decodeJson(bytes: Uint8Array, charge: Charge): Generator<void, Value> {
  const text = yield* textOf(bytes);
  const limits = { around: LEVELS_AROUND, fields: BODY_FIELDS_MAX, isValue: true, charge };
  return yield* parseJsonIncremental(text, limits);
}

/** Bytes that are decoded to text in one step. */
const TEXT_PIECE_SIZE: number = 256 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

function* textOf(bytes: Uint8Array): Generator<void, string> {
  if (bytes.length <= TEXT_PIECE_SIZE) return decodeUtf8(() => utf8.decode(bytes));
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += TEXT_PIECE_SIZE) {
    const piece = bytes.subarray(from, from + TEXT_PIECE_SIZE);
    const stream = from + TEXT_PIECE_SIZE < bytes.length;
    pieces.push(decodeUtf8(() => decoder.decode(piece, { stream })));
    yield;
  }
  return pieces.join("");
}

function decodeUtf8(decode: () => string): string {
  try {
    return decode();
  } catch (cause) {
    throw new PeerError("json.syntax", "expected text in UTF-8", { cause });
  }
}

/** Memory that a byte of CBOR takes at most: nested lists of one element. */
const BYTES_PER_BYTE = 256;

/** Bodies up to this size are charged the maximum instead of what they took. */
const ROUGH_SIZE_MAX = 512;

/** Decodes CBOR with the limits of sync messages on lists and objects per byte. */
function* decodeCborBody(bytes: Uint8Array, charge: Charge): Generator<void, Value> {
  if (bytes.length <= ROUGH_SIZE_MAX) {
    charge(BYTES_PER_BYTE * bytes.length);
    return decodeCbor(bytes);
  }
  const limits = { ...decodeLimits(bytes.length, LEVELS_AROUND), charge, isNoted: true };
  return yield* decodeCborIncremental(bytes, limits);
}
