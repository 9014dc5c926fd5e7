import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import {
  anyValue,
  findDifference,
  objectOf,
  oddValues,
} from "../../../engine/test/contract/any-value.ts";
import { runs } from "../../../protocol/test/support/test-size.ts";
import type { LentBytes } from "../../src/lmdb/encoded-write.ts";
import { ShapeTable } from "../../src/lmdb/shape-table.ts";
import { ValueEncoder } from "../../src/lmdb/stored-value.ts";
import { ValueDecoder } from "../../src/lmdb/value-decoder.ts";

function newCodec(shapes: string[][] = []): {
  table: ShapeTable;
  encode: (value: Value, owner?: string) => Uint8Array;
  decode: (bytes: Uint8Array) => Value;
} {
  const table = new ShapeTable();
  table.load(shapes);
  const encoder = new ValueEncoder(table);
  const decoder = new ValueDecoder(() => table.shapes);
  return {
    table,
    encode: (value, owner = "owner") => {
      encoder.release();
      return bytesOf(encoder.encode(value, owner));
    },
    decode: (bytes) => decoder.decode(bytes, bytes.length),
  };
}

function bytesOf({ chunk, start, size }: LentBytes): Uint8Array {
  return chunk.subarray(start, start + size);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

// What is in these bytes is on the disks of users.
test.each<[string, Value, string]>([
  ["null", null, "c0"],
  ["false", false, "c2"],
  ["true", true, "c3"],
  ["0", 0, "00"],
  ["63", 63, "3f"],
  ["64", 64, "cc40"],
  ["255", 255, "ccff"],
  ["256", 256, "cd0100"],
  ["65,536", 65_536, "ce00010000"],
  ["2^32", 2 ** 32, "cb41f0000000000000"],
  ["-1", -1, "ff"],
  ["-33", -33, "d0df"],
  ["-129", -129, "d1ff7f"],
  ["-32,769", -32_769, "d2ffff7fff"],
  ["-0", -0, "cb8000000000000000"],
  ["1.5", 1.5, "cb3ff8000000000000"],
  ["NaN", Number.NaN, "cb7ff8000000000000"],
  ["-2^63", -(2n ** 63n), "d38000000000000000"],
  ["2^63", 2n ** 63n, "cf8000000000000000"],
  ["text", "car", "a3636172"],
  ["text of 32", "a".repeat(32), `d920${"61".repeat(32)}`],
  ["text beyond ASCII", "né", "a36ec3a9"],
  ["text with a mark", "\ufeffa", "c7054364efbbbf61"],
  ["binary", new Uint8Array([1, 2]), "c70374010102"],
  ["an array", [1, [2]], "92019102"],
  ["an empty object", {}, "80"],
  ["a map", { b: 1, a: 2 }, "82a16201a16102"],
  ["a record", { make: "x", year: 1 }, "40a17801"],
  ["a record of two bytes", { shape: 33 }, "610021"],
  ["a record of a high number", { shape: 100, x: 1 }, "6402cc6401"],
  ["__proto__", objectOf([["__proto__", 1]]), "c70c43a1695f5f70726f746f5f5f01"],
])("the stored form of %s does not change", (_, value, expected) => {
  const shapes = Array.from({ length: 101 }, (_unused, i) => [`filler ${i}`]);
  shapes[0] = ["make", "year"];
  shapes[33] = ["shape"];
  shapes[100] = ["shape", "x"];
  const { encode, decode } = newCodec(shapes);
  expect(hex(encode(value))).toBe(expected);
  expect(findDifference(decode(Buffer.from(expected, "hex")), value)).toBeUndefined();
});

test("every value is read back exactly, as a map and as a record", () => {
  const { encode, decode } = newCodec();
  fc.assert(
    fc.property(anyValue(), (value) => {
      for (let owner = 0; owner < 8; owner++) {
        expect(findDifference(decode(encode(value, `${owner}`)), value)).toBeUndefined();
      }
    }),
    { numRuns: runs(300) },
  );
});

test("unusual values are read back exactly, alone and nested", () => {
  const { encode, decode } = newCodec();
  for (const value of oddValues()) {
    for (const whole of [value, [value, value], { a: value, b: [value], c: "end" }]) {
      expect(findDifference(decode(encode(whole)), whole)).toBeUndefined();
    }
  }
});

test("many records with all numbers of shapes, and long texts next to them, are read back exactly", () => {
  const { table, encode, decode } = newCodec(
    Array.from({ length: 4096 }, (_, i) => [`a${i}`, `b${i}`]),
  );
  for (let i = 0; i < table.shapes.length; i += 7) {
    const text = "text ".repeat(40);
    const value = [text, { [`a${i}`]: `${text}${i}`, [`b${i}`]: "short" }, text];
    expect(findDifference(decode(encode(value)), value)).toBeUndefined();
  }
  expect(table.shapes).toHaveLength(4096);
});

test("a binary is read back as a plain Uint8Array with its own memory", () => {
  const { encode, decode } = newCodec();
  for (const bytes of [new Uint8Array([1, 2, 3]), Buffer.from([1, 2, 3]), new Uint8Array(70_000)]) {
    const encoded = encode(bytes);
    const decoded = decode(encoded) as Uint8Array;
    expect(decoded.constructor).toBe(Uint8Array);
    expect(decoded.buffer.byteLength).toBe(bytes.length);
    encoded.fill(0xff);
    expect(findDifference(decoded, new Uint8Array(bytes))).toBeUndefined();
  }
});

test("encoded bytes stay unchanged until they are released, however much follows", () => {
  const table = new ShapeTable();
  const encoder = new ValueEncoder(table);
  const decoder = new ValueDecoder(() => table.shapes);
  const values = Array.from({ length: 200 }, (_, i) => [i, "x".repeat(i * 100), i]);
  const encoded = values.map((value, i) => encoder.encode(value, `${i}`));
  for (const [i, bytes] of encoded.map(bytesOf).entries()) {
    expect(findDifference(decoder.decode(bytes, bytes.length), values[i])).toBeUndefined();
  }
  encoder.release();
  const first = encoder.encode("again", "0");
  expect([first.start, first.chunk.byteOffset]).toEqual([0, 0]);
});

test("damaged bytes give an error, not a value", () => {
  const { encode, decode } = newCodec([["a", "b"]]);
  const bytes = encode({ a: "some text", b: [1, 2, 3] });
  for (let size = 1; size < bytes.length; size++) {
    expect(() => decode(bytes.slice(0, size))).toThrow(Error);
  }
  expect(() => decode(Buffer.from("7f05", "hex"))).toThrow(Error);
  expect(decode(bytes)).toEqual({ a: "some text", b: [1, 2, 3] });
});

test("[K32] a large value is not copied as it grows, and is copied a megabyte at a time when complete", () => {
  const value: Value = Array.from({ length: 4000 }, (_, i) => ({ i, text: "x".repeat(5000) }));
  const plain = new ValueEncoder(new ShapeTable(), 5);
  const expected = bytesOf(plain.encode(value, "owner")).slice();
  const encoder = new ValueEncoder(new ShapeTable(), 5);
  const first = encoder.encode("first", "other");
  const copy = vi.spyOn(Buffer.prototype, "copy");
  let most = 0;
  let record: LentBytes | undefined;
  try {
    const steps = encoder.encodeInSteps(value, "owner");
    for (;;) {
      const { done, value: result } = steps.next();
      const copied = copy.mock.results.reduce((sum, { value: size }) => sum + Number(size), 0);
      most = Math.max(most, copied);
      copy.mockClear();
      if (done !== true) continue;
      record = result;
      break;
    }
  } finally {
    copy.mockRestore();
  }
  expect(most).toBeLessThanOrEqual(1024 * 1024);
  expect(Buffer.compare(bytesOf(record).subarray(5), expected.subarray(5))).toBe(0);
  const next = encoder.encode("next", "another");
  expect(hex(bytesOf(first).subarray(5))).toBe(hex(Buffer.from("\xa5first", "latin1")));
  expect(hex(bytesOf(next).subarray(5))).toBe(hex(Buffer.from("\xa4next", "latin1")));
});
