/**
 * Every decoder of this package takes steps in proportion to its input, whatever that is: it is given
 * inputs of many shapes, each in three sizes, and the steps are counted.
 */
import { expect, test } from "vitest";
import { ByteReader } from "../src/bytes.ts";
import { canonicalBytes, decodeCbor, encodeCbor } from "../src/cbor.ts";
import { readCborIncremental } from "../src/cbor-incremental.ts";
import { documentId, idOfKey } from "../src/document-id.ts";
import { encodeBase64, parseJson, parseJsonIncremental, stringifyJson } from "../src/json.ts";
import { JsonReader } from "../src/json-reader.ts";
import { nearest } from "../src/near-name.ts";
import { orderedKey, valueOfOrderedKey } from "../src/ordered-key.ts";
import { decodeLimits } from "../src/sync/container-count.ts";
import {
  decodeLinkMessage,
  decodeLinkMessageIncremental,
  decodePeerMessage,
  decodePeerMessageIncremental,
  decodeServerMessage,
} from "../src/sync/message-codec.ts";
import { checkValue, type Value } from "../src/value.ts";
import { findGrowthFaults } from "./support/growth.ts";
import { cborShapes, jsonShapes, messageShapes, valueShapes } from "./support/hostile-input.ts";
import { oneOf } from "./support/test-size.ts";

const SIZE = 5_000;

/** One of three shapes, and all of them at full size. */
function some<T>(shapes: { readonly [name: string]: T }): { readonly [name: string]: T } {
  return Object.fromEntries(oneOf(8, Object.entries(shapes)));
}

function drain<T>(turns: Generator<void, T>): T {
  for (;;) {
    const { done, value } = turns.next();
    if (done === true) return value;
  }
}

const LONG = 60_000;

const jsonInTurns = (text: string): Value =>
  drain(parseJsonIncremental(text, { around: 1, isValue: true }));

test.each<[string, (text: string) => unknown]>([
  ["at once", parseJson],
  ["by hand", (text) => new JsonReader(text).read()],
  ["in turns", jsonInTurns],
])(
  "[V10] JSON text that is read %s takes steps in proportion to its length",
  async (_, read) => {
    expect(await findGrowthFaults(some(jsonShapes), read, 9_000)).toEqual({});
  },
  LONG,
);

test.each<[string, (bytes: Uint8Array) => unknown]>([
  ["at once", decodeCbor],
  ["in turns", cborInTurns],
])(
  "[V10] CBOR that is read %s takes steps in proportion to its size",
  async (_, read) => {
    expect(await findGrowthFaults(some(cborShapes), read, SIZE)).toEqual({});
  },
  LONG,
);

function cborInTurns(bytes: Uint8Array): Value {
  const reader = new ByteReader(bytes, "cbor.malformed");
  return drain(readCborIncremental(reader, decodeLimits(bytes.length, 0)));
}

const peerInTurns = (bytes: Uint8Array): unknown => drain(decodePeerMessageIncremental(bytes));

test.each<[string, (bytes: Uint8Array) => unknown]>([
  ["a peer", decodePeerMessage],
  ["a server", decodeServerMessage],
  ["a link", decodeLinkMessage],
])(
  "[S1] a message of %s takes steps in proportion to its size",
  async (_, read) => {
    expect(await findGrowthFaults(some(messageShapes), read, SIZE)).toEqual({});
  },
  LONG,
);

/** Those that are read in turns from the smallest size on. */
const LONG_SHAPES = new Set([
  "emptyTexts",
  "textChunks",
  "keys",
  "operations",
  "upload objects",
  "batch keys",
]);
const longShapes = Object.fromEntries(
  Object.entries(messageShapes).filter(([name]) => LONG_SHAPES.has(name)),
);

test.each<[string, (bytes: Uint8Array) => unknown]>([
  ["a peer", peerInTurns],
  ["a link", (bytes) => drain(decodeLinkMessageIncremental(bytes))],
])(
  "[S1] a message of %s that is read in slices takes steps in proportion to its size",
  async (_, read) => {
    expect(await findGrowthFaults(some(longShapes), read, 8 * SIZE)).toEqual({});
  },
  LONG,
);

test.each<[string, (value: Value) => unknown]>([
  ["checked", (value) => checkValue(value, "x")],
  ["written as JSON", stringifyJson],
  ["written as CBOR", encodeCbor],
  ["written in order", canonicalBytes],
  ["a key", (value) => valueOfOrderedKey(orderedKey(value))],
  ["an id", (value) => idOfKey(documentId(value).key)],
])(
  "[V10] a value that is %s takes steps in proportion to its size",
  async (_, work) => {
    expect(await findGrowthFaults(some(valueShapes), work, 1_000)).toEqual({});
  },
  LONG,
);

test("[V10] base64 encoding, and the search for a similar name, take steps in proportion to their size", async () => {
  const bytes = { zeros: (size: number) => new Uint8Array(size) };
  expect(await findGrowthFaults(bytes, encodeBase64, SIZE)).toEqual({});
  const known = ["collection", "commands", "statement"];
  const names = { letters: (size: number) => "c".repeat(size) };
  expect(await findGrowthFaults(names, (name) => nearest(name, known), SIZE)).toEqual({});
});
