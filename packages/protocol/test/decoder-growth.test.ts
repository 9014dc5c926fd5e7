/**
 * Every decoder of this package takes steps in proportion to its input, whatever that is: it is given
 * inputs of many shapes, each in three sizes, and the steps are counted.
 */
import { expect, test } from "vitest";
import { ByteReader } from "../src/bytes.ts";
import { canonicalBytes, decodeCbor, encodeCbor } from "../src/cbor.ts";
import { readCborInTurns } from "../src/cbor-turns.ts";
import { documentId, idOfKey } from "../src/document-id.ts";
import { encodeBase64, parseJson, parseJsonInTurns, stringifyJson } from "../src/json.ts";
import { JsonReader } from "../src/json-reader.ts";
import { nearest } from "../src/near-name.ts";
import { orderedKey, valueOfOrderedKey } from "../src/ordered-key.ts";
import { turnLimits } from "../src/sync/container-count.ts";
import {
  decodeLinkMessage,
  decodeLinkMessageInTurns,
  decodePeerMessage,
  decodePeerMessageInTurns,
  decodeServerMessage,
} from "../src/sync/message-codec.ts";
import { checkValue, type Value } from "../src/value.ts";
import { findGrowthFault } from "./support/growth.ts";
import { cborShapes, jsonShapes, messageShapes, valueShapes } from "./support/hostile-input.ts";

const SIZE = 5_000;

/** What went wrong, by shape. */
async function faultsOf<Input>(
  shapes: Readonly<Record<string, (size: number) => Input>>,
  run: (input: Input) => unknown,
  size = SIZE,
): Promise<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const [name, make] of Object.entries(shapes)) {
    const fault = await findGrowthFault({ make, run, size });
    if (fault !== undefined) faults[name] = fault;
  }
  return faults;
}

function drain<T>(turns: Generator<void, T>): T {
  for (;;) {
    const { done, value } = turns.next();
    if (done === true) return value;
  }
}

const LONG = 60_000;

const jsonInTurns = (text: string): Value =>
  drain(parseJsonInTurns(text, { around: 1, isValue: true }));

test.each<[string, (text: string) => unknown]>([
  ["at once", parseJson],
  ["by hand", (text) => new JsonReader(text).read()],
  ["in turns", jsonInTurns],
])(
  "[V10] JSON text that is read %s takes steps in proportion to its length",
  async (_, read) => {
    expect(await faultsOf(jsonShapes, read, 9_000)).toEqual({});
  },
  LONG,
);

test.each<[string, (bytes: Uint8Array) => unknown]>([
  ["at once", decodeCbor],
  ["in turns", cborInTurns],
])(
  "[V10] CBOR that is read %s takes steps in proportion to its size",
  async (_, read) => {
    expect(await faultsOf(cborShapes, read)).toEqual({});
  },
  LONG,
);

function cborInTurns(bytes: Uint8Array): Value {
  const reader = new ByteReader(bytes, "cbor.malformed");
  return drain(readCborInTurns(reader, turnLimits(bytes.length, 0)));
}

const peerInTurns = (bytes: Uint8Array): unknown => drain(decodePeerMessageInTurns(bytes));

test.each<[string, number, (bytes: Uint8Array) => unknown]>([
  ["a peer", SIZE, decodePeerMessage],
  ["a peer, in turns,", 5 * SIZE, peerInTurns],
  ["a server", SIZE, decodeServerMessage],
  ["a link", SIZE, decodeLinkMessage],
  ["a link, in turns,", 5 * SIZE, (bytes) => drain(decodeLinkMessageInTurns(bytes))],
])(
  "[S1] a message of %s takes steps in proportion to its size, from %d bytes on",
  async (_, size, read) => {
    expect(await faultsOf(messageShapes, read, size)).toEqual({});
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
    expect(await faultsOf(valueShapes, work, 1_000)).toEqual({});
  },
  LONG,
);

test("[V10] base64, and a name that is nearly another, take steps in proportion to their size", async () => {
  const bytes = { zeros: (size: number) => new Uint8Array(size) };
  expect(await faultsOf(bytes, encodeBase64)).toEqual({});
  const known = ["collection", "commands", "statement"];
  const names = { letters: (size: number) => "c".repeat(size) };
  expect(await faultsOf(names, (name) => nearest(name, known))).toEqual({});
});
