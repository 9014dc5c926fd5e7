/**
 * Request bodies as values: JSON or CBOR, by Content-Type.
 */

import type { IncomingHttpHeaders } from "node:http";
import { decodeCbor, PeerError, parseJson, type Value } from "@bigpeer/protocol";
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
  return parseJson(decodeUtf8(bytes));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new PeerError("json.syntax", "expected text in UTF-8", { cause });
  }
}
