/**
 * The memory that is charged for a decoded value is at least what it takes: measured on the heap, for
 * every shape.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { ByteReader } from "../src/bytes.ts";
import { readCborIncremental } from "../src/cbor-incremental.ts";
import { decodedSize } from "../src/decoded-size.ts";
import { JsonReader } from "../src/json-reader.ts";
import type { Value } from "../src/value.ts";
import { cborShapes, jsonShapes } from "./support/hostile-input.ts";
import { oneOf, sized } from "./support/test-size.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapSize(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

type Turns = Generator<void, Value>;

function drain(turns: Turns): Value | undefined {
  try {
    for (;;) {
      const { done, value } = turns.next();
      if (done === true) return value;
    }
  } catch {
    return undefined;
  }
}

const SIZE = sized(30_000, 200_000);

/** What the counting itself, and code that is compiled meanwhile, may take. */
const SLACK = 600_000;

function expectCharged(turnsOf: (charge: (bytes: number) => void) => Turns): void {
  let charged = 0;
  const before = heapSize();
  const value = drain(
    turnsOf((bytes) => {
      charged += bytes;
    }),
  );
  const taken = value === undefined ? 0 : heapSize() - before;
  expect(taken).toBeLessThan(charged * 1.1 + SLACK);
  // What is charged is what the value says of itself, or more.
  expect(value === undefined ? 0 : decodedSize(value)).toBeLessThan(2 * charged + SLACK);
}

test.each(oneOf(3, Object.keys(jsonShapes)))("[V10] JSON: the memory of %s is charged", (name) => {
  const text = jsonShapes[name]?.(SIZE) ?? "";
  expectCharged((charge) => new JsonReader(text, { charge }).readIncremental());
});

test.each(oneOf(3, Object.keys(cborShapes)))("[V10] CBOR: the memory of %s is charged", (name) => {
  const bytes = cborShapes[name]?.(SIZE) ?? new Uint8Array();
  const many = 10 ** 9;
  const limits = { around: 0, things: many, listLength: many, fields: many };
  expectCharged((charge) => {
    return readCborIncremental(new ByteReader(bytes, "cbor.malformed"), { ...limits, charge });
  });
});
