import { expect, test } from "vitest";
import { canonicalBytes, encodeCbor } from "../src/cbor.ts";
import { canonicalBytesIncremental, encodeCborIncremental } from "../src/cbor-writing.ts";
import type { Value } from "../src/value.ts";
import { isFullSize } from "./support/test-size.ts";

const VALUES: readonly Value[] = [
  null,
  true,
  -0,
  2 ** 53,
  2n ** 63n,
  Number.NaN,
  "text \u{1f600}",
  new Uint8Array([1, 2]),
  [],
  {},
  { b: [1, [2, { z: null, a: "x" }]], a: new Uint8Array(3), ["__proto__"]: 1 },
  Array.from({ length: 5000 }, (_, i) => ({ id: i, b: `${i}`, a: [i, -i] })),
];

function run(turns: Generator<void, Uint8Array, void>): { bytes: Uint8Array; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = turns.next();
    if (done === true) return { bytes: value, pauses };
  }
}

test.runIf(isFullSize)("encoding in slices gives the same bytes", () => {
  for (const value of VALUES) {
    expect(run(encodeCborIncremental(value)).bytes).toEqual(encodeCbor(value));
    expect(run(canonicalBytesIncremental(value)).bytes).toEqual(canonicalBytes(value));
  }
});

test("the encoder offers a pause after about a thousand items, and after 64 KB", () => {
  const numbers = Array.from({ length: 100_000 }, (_, i) => i % 20);
  expect(run(encodeCborIncremental(numbers)).pauses).toBeGreaterThan(90);
  const texts = Array.from({ length: 100 }, () => "x".repeat(65_536));
  expect(run(canonicalBytesIncremental(texts)).pauses).toBeGreaterThan(90);
  expect(run(encodeCborIncremental({ a: [1, 2, 3] })).pauses).toBe(0);
});
