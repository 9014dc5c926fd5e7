/**
 * CBOR: lossless, shortest, canonical, and deaf to hostile bytes.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteReader } from "../src/bytes.ts";
import { canonicalBytes, decodeCbor, encodeCbor, readCbor } from "../src/cbor.ts";
import { PeerError } from "../src/error.ts";
import {
  checkValue,
  compareBytes,
  compareValues,
  DEPTH_MAX,
  isArray,
  type Value,
} from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import {
  bytesOfHex,
  hexOf,
  isIdentical,
  nested,
  numbers,
  objectOf,
  values,
} from "./support/values.ts";

const RUNS = { numRuns: runs(3000) };

function decodeHex(hex: string): Value {
  return decodeCbor(bytesOfHex(hex));
}

test("[V5] a CBOR round trip loses nothing", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(isIdentical(decodeCbor(encodeCbor(value)), value)).toBe(true);
      expect(isIdentical(decodeCbor(canonicalBytes(value)), value)).toBe(true);
    }),
    RUNS,
  );
});

/** RFC 8949, appendix A: what is a value, in its shortest form. */
const SHORTEST: readonly (readonly [Value, string])[] = [
  [0, "00"],
  [1, "01"],
  [10, "0a"],
  [23, "17"],
  [24, "1818"],
  [25, "1819"],
  [100, "1864"],
  [1000, "1903e8"],
  [1_000_000, "1a000f4240"],
  [1_000_000_000_000, "1b000000e8d4a51000"],
  [18_446_744_073_709_551_615n, "1bffffffffffffffff"],
  [-1, "20"],
  [-10, "29"],
  [-100, "3863"],
  [-1000, "3903e7"],
  [-(2n ** 63n), "3b7fffffffffffffff"],
  [-0, "f98000"],
  [1.1, "fb3ff199999999999a"],
  [1.5, "f93e00"],
  [3.4028234663852886e38, "fa7f7fffff"],
  [1.0e300, "fb7e37e43c8800759c"],
  [5.960464477539063e-8, "f90001"],
  [0.00006103515625, "f90400"],
  [-4.1, "fbc010666666666666"],
  [Number.POSITIVE_INFINITY, "f97c00"],
  [Number.NaN, "f97e00"],
  [Number.NEGATIVE_INFINITY, "f9fc00"],
  [false, "f4"],
  [true, "f5"],
  [null, "f6"],
  [new Uint8Array([]), "40"],
  [new Uint8Array([1, 2, 3, 4]), "4401020304"],
  ["", "60"],
  ["a", "6161"],
  ["IETF", "6449455446"],
  ['"\\', "62225c"],
  ["\u00fc", "62c3bc"],
  ["\u6c34", "63e6b0b4"],
  ["\ud800\udd51", "64f0908591"],
  [[], "80"],
  [[1, 2, 3], "83010203"],
  [[1, [2, 3], [4, 5]], "8301820203820405"],
  [
    Array.from({ length: 25 }, (_, i) => i + 1),
    "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
  ],
  [{}, "a0"],
  [{ a: 1, b: [2, 3] }, "a26161016162820203"],
  [["a", { b: "c" }], "826161a161626163"],
  [{ a: "A", b: "B", c: "C", d: "D", e: "E" }, "a56161614161626142616361436164614461656145"],
];

test("[V6] the vectors of RFC 8949 are encoded and decoded", () => {
  for (const [value, hex] of SHORTEST) {
    expect(hexOf(encodeCbor(value))).toBe(hex);
    expect(hexOf(canonicalBytes(value))).toBe(hex);
    expect(isIdentical(decodeHex(hex), value)).toBe(true);
  }
});

test("[V5] the vectors of RFC 8949 in longer forms are decoded as the same values", () => {
  const cases: [string, Value][] = [
    ["f90000", 0],
    ["f93c00", 1],
    ["f97bff", 65_504],
    ["fa47c35000", 100_000],
    ["f9c400", -4],
    ["fa7f800000", Number.POSITIVE_INFINITY],
    ["fa7fc00000", Number.NaN],
    ["faff800000", Number.NEGATIVE_INFINITY],
    ["fb7ff0000000000000", Number.POSITIVE_INFINITY],
    ["fb7ff8000000000000", Number.NaN],
    ["fbfff0000000000000", Number.NEGATIVE_INFINITY],
    ["f7", null],
    ["c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"],
    ["c11a514b67b0", 1_363_896_240],
    ["c1fb41d452d9ec200000", 1_363_896_240.5],
    ["d74401020304", new Uint8Array([1, 2, 3, 4])],
    ["d818456449455446", bytesOfHex("6449455446")],
    ["d82076687474703a2f2f7777772e6578616d706c652e636f6d", "http://www.example.com"],
    ["5f42010243030405ff", new Uint8Array([1, 2, 3, 4, 5])],
    ["7f657374726561646d696e67ff", "streaming"],
    ["9fff", []],
    ["9f018202039f0405ffff", [1, [2, 3], [4, 5]]],
    ["9f01820203820405ff", [1, [2, 3], [4, 5]]],
    ["83018202039f0405ff", [1, [2, 3], [4, 5]]],
    ["83019f0203ff820405", [1, [2, 3], [4, 5]]],
    ["bf61610161629f0203ffff", { a: 1, b: [2, 3] }],
    ["826161bf61626163ff", ["a", { b: "c" }]],
    ["bf6346756ef563416d7421ff", { Fun: true, Amt: -2 }],
    ["1b0000000000000001", 1],
    ["c2420100", 256],
    ["c249000000000000000001", 1],
    ["db00200000000000000a", 10],
  ];
  for (const [hex, value] of cases) {
    expect(isIdentical(decodeHex(hex), value), hex).toBe(true);
  }
});

test("[V5] well-formed CBOR that is not a value is refused with the place", () => {
  const cases: [string, string][] = [
    ["c249010000000000000000", "byte 11"],
    ["3bffffffffffffffff", "byte 9"],
    ["c349010000000000000000", "byte 11"],
    ["f0", "byte 1"],
    ["f8ff", "byte 1"],
    ["a201020304", "byte 2"],
    ["a2616101616102", "byte 6"],
    ["c26161", "byte 3"],
    ["3b8000000000000000", "byte 9"],
  ];
  for (const [hex, at] of cases) {
    const error = failureOf(() => decodeHex(hex));
    expect([hex, error.code, error.at]).toEqual([hex, "cbor.malformed", at]);
  }
});

test("[V5] bytes that are not well-formed are refused", () => {
  const cases = [
    ["", "18", "19 01", "1a 010203", "1b 01020304050607", "f9 00"],
    ["fa 000000", "fb 00000000000000", "41", "62 61", "81", "82 01", "a1", "a1 6161", "c1"],
    [
      "1c",
      "1d",
      "1e",
      "1f",
      "3c",
      "3f",
      "5c",
      "7d",
      "9e",
      "bc",
      "dc",
      "df",
      "f8",
      "fc",
      "fd",
      "fe",
      "ff",
    ],
    [
      "9f",
      "9f 01",
      "bf",
      "bf 6161",
      "bf 6161 ff",
      "bf 6161 01",
      "5f",
      "7f 61",
      "81 ff",
      "a1 ff 00",
    ],
    ["5f 6161 ff", "7f 4161 ff", "5f 5f 4100 ff ff", "7f 7f 6161 ff ff", "00 00", "f6 f6"],
    ["61 ff", "62 c328", "63 eda080", "64 f4908080", "7f 61c3 61a9 ff", "61 80"],
  ].flat();
  for (const hex of cases) expect(failureOf(() => decodeHex(hex)).code).toBe("cbor.malformed");
});

test("[V5] a field with CBOR's undefined is omitted, elsewhere undefined is null", () => {
  expect(decodeHex("a26161f7616201")).toEqual({ b: 1 });
  expect(decodeHex("82f701")).toEqual([null, 1]);
  expect(decodeHex("f7")).toBeNull();
});

test("[V5] binary is decoded as its own bytes, not as a window on the input buffer", () => {
  const source = Buffer.from("82 43010203 43040506".replaceAll(" ", ""), "hex");
  const [first, second] = decodeCbor(source) as Uint8Array[];
  source.fill(0);
  expect([...(first ?? []), ...(second ?? [])]).toEqual([1, 2, 3, 4, 5, 6]);
});

test("[V2] a float with integral value inside 64 bits is read as the integer", () => {
  expect(decodeHex("fb43e0000000000000")).toBe(2n ** 63n);
  expect(decodeHex("fa5f000000")).toBe(2n ** 63n);
  expect(decodeHex("fbc3e0000000000000")).toBe(-(2n ** 63n));
  expect(decodeHex("fb43f0000000000000")).toBe(2 ** 64);
});

function halfOf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const sign = bits >= 0x8000 ? -1 : 1;
  if (exponent === 31) return (bits & 1023) === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  const significand = (bits & 1023) + (exponent === 0 ? 0 : 1024);
  return sign * significand * 2 ** (Math.max(exponent, 1) - 25);
}

test("[V6] every half-precision float is read exactly and written back in two bytes", () => {
  const wrong: string[] = [];
  for (let bits = 0; bits < 0x10000; bits++) {
    const hex = `f9${bits.toString(16).padStart(4, "0")}`;
    const value = decodeHex(hex) as number;
    const written = encodeCbor(value);
    if (!Object.is(value, halfOf(bits))) wrong.push(`${hex} is read as ${value}`);
    if (Number.isInteger(value) && !Object.is(value, -0)) {
      if (written.length > 3) wrong.push(`${hex} is written in ${written.length} bytes`);
    } else if (hexOf(written) !== (Number.isNaN(value) ? "f97e00" : hex)) {
      wrong.push(`${hex} is written as ${hexOf(written)}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("[V6] a number is written in the shortest form that holds it", () => {
  fc.assert(
    fc.property(numbers, (number) => {
      expect(encodeCbor(number).length).toBe(shortestSize(number));
    }),
    RUNS,
  );
  expect(hexOf(encodeCbor(100_000.5))).toBe("fa47c35040");
  expect(hexOf(encodeCbor(65_519.5))).toBe("fa477fef80");
  expect(hexOf(encodeCbor(2 ** -25))).toBe("fa33000000");
  expect(hexOf(encodeCbor(1.5 * 2 ** -24))).toBe("fa33c00000");
});

function shortestSize(number: number | bigint): number {
  const isInteger = typeof number === "bigint" || Number.isSafeInteger(number);
  if (isInteger && !Object.is(number, -0)) {
    const argument = number < 0 ? -1n - BigInt(number) : BigInt(number);
    const limits = [24n, 2n ** 8n, 2n ** 16n, 2n ** 32n, 2n ** 64n];
    return [1, 2, 3, 5, 9][limits.findIndex((limit) => argument < limit)] ?? 0;
  }
  for (const [head, size] of [
    [0xf9, 2],
    [0xfa, 4],
  ] as const) {
    if (couldBe(number as number, head, size)) return 1 + size;
  }
  return 9;
}

/** Whether a shorter float holds the number, by trying: the nearest one, and its neighbours. */
function couldBe(number: number, head: number, size: number): boolean {
  if (!Number.isFinite(number)) return true;
  if (size === 4) return Object.is(Math.fround(number), number);
  const scaled = Math.abs(number) * 2 ** 24;
  if (scaled >= 2 ** 40 || !Number.isInteger(scaled)) return false;
  let significand = scaled;
  while (significand >= 2048 && significand % 2 === 0) significand /= 2;
  return head === 0xf9 && significand < 2048;
}

test("[V6] canonical bytes are equal exactly if values are, except for -0, which is kept", () => {
  const pairs = fc.oneof(
    fc.tuple(values, values),
    values.map((value) => [value, reversed(value)] as const),
    fc.tuple(numbers, numbers),
    numbers.map((number) => [number, Number(number)] as const),
  );
  let equal = 0;
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      const isSame = compareBytes(canonicalBytes(a), canonicalBytes(b)) === 0;
      if (isSame) equal++;
      const hasZero = hasNegativeZero(a) !== hasNegativeZero(b);
      if (!hasZero || isSame) expect(isSame).toBe(compareValues(a, b) === 0);
    }),
    RUNS,
  );
  expect(equal).toBeGreaterThan(runs(3000) / 30);
  expect(compareValues(0, -0)).toBe(0);
  expect(hexOf(canonicalBytes(0))).not.toBe(hexOf(canonicalBytes(-0)));
});

function hasNegativeZero(value: Value): boolean {
  if (Object.is(value, -0)) return true;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
  return Object.values(value).some((part: Value) => hasNegativeZero(part));
}

/** The same value with the keys of every object in the opposite order. */
function reversed(value: Value): Value {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (isArray(value)) return value.map(reversed);
  const entries = Object.entries(value).toReversed();
  return objectOf(entries.map(([name, part]) => [name, reversed(part)]));
}

test("[V6] 7 and 7n, 2^60 and its bigint, and keys in any order have the same canonical bytes", () => {
  expect(canonicalBytes(7n)).toEqual(canonicalBytes(7));
  expect(canonicalBytes(-7n)).toEqual(canonicalBytes(-7));
  expect(canonicalBytes(2 ** 60)).toEqual(canonicalBytes(2n ** 60n));
  expect(canonicalBytes(-(2 ** 63))).toEqual(canonicalBytes(-(2n ** 63n)));
  expect(canonicalBytes({ b: 1, a: 2 })).toEqual(canonicalBytes({ a: 2, b: 1 }));
  expect(hexOf(canonicalBytes({ "\u{10000}": 1, "\uffff": 2, b: 3, aa: 4 }))).toBe(
    "a4 626161 04 6162 03 63efbfbf 02 64f0908080 01".replaceAll(" ", ""),
  );
});

test("[V7] 64 levels of nesting are read, 65 are refused, also when the innermost is empty", () => {
  expect(decodeCbor(encodeCbor(nested(DEPTH_MAX, 1)))).toEqual(nested(DEPTH_MAX, 1));
  for (const value of [nested(DEPTH_MAX + 1, 1), nested(DEPTH_MAX, []), nested(DEPTH_MAX, {})]) {
    expect(failureOf(() => decodeCbor(encodeCbor(value))).message).toContain("64 levels");
  }
  expect(failureOf(() => decodeCbor(new Uint8Array(500_000).fill(0x81)))).toBeInstanceOf(PeerError);
  expect(failureOf(() => decodeCbor(new Uint8Array(500_000).fill(0xc1)))).toBeInstanceOf(PeerError);
});

/** Bytes that look like CBOR for a while. */
const hostileBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          0x9f,
          0xbf,
          0x5f,
          0x7f,
          0xff,
          0x81,
          0x82,
          0xa1,
          0x61,
          0x41,
          0xc2,
          0xc3,
          0xd8,
        ),
        fc.constantFrom(
          0xf4,
          0xf6,
          0xf7,
          0xf8,
          0xf9,
          0xfa,
          0xfb,
          0x18,
          0x19,
          0x1b,
          0x3b,
          0x5b,
          0x9b,
        ),
        fc.nat(255),
      ),
      { maxLength: 40 },
    )
    .map((bytes) => new Uint8Array(bytes)),
  fc.tuple(values, fc.nat(), fc.nat(255)).map(([value, place, byte]) => {
    const bytes = encodeCbor(value);
    bytes[place % bytes.length] = byte;
    return bytes;
  }),
  fc.tuple(values, fc.nat()).map(([value, size]) => {
    const bytes = encodeCbor(value);
    return bytes.subarray(0, size % bytes.length);
  }),
);

/** So many that the part of them that is valid differs little from run to run. */
const HOSTILE_RUNS = Math.max(runs(10_000), 3_000);

test("[V5] hostile bytes are refused with a PeerError, or decoded as a valid value", () => {
  let read = 0;
  let refused = 0;
  fc.assert(
    fc.property(hostileBytes, (bytes) => {
      let value: Value;
      try {
        value = decodeCbor(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(PeerError);
        expect((error as PeerError).code).toBe("cbor.malformed");
        expect((error as PeerError).at).toMatch(/^byte \d+$/);
        refused++;
        return;
      }
      read++;
      expect(checkValue(value, "x")).toBe(value);
      expect(isIdentical(decodeCbor(encodeCbor(value)), value)).toBe(true);
    }),
    { numRuns: HOSTILE_RUNS },
  );
  expect(Math.min(read, refused)).toBeGreaterThan(HOSTILE_RUNS / 10);
});

test("[V5] a false length is found before anything is allocated", () => {
  const lies = ["5a7fffffff", "7a7fffffff", "9a7fffffff", "ba7fffffff", "5b001fffffffffffff"];
  lies.push("9b001fffffffffffff", "bb001fffffffffffff", "5bffffffffffffffff", "9bffffffffffffffff");
  lies.push("5f5a7fffffff", "7f7a7fffffff", "c25a7fffffff", "a17a7fffffff", "819a7fffffff");
  for (const hex of lies) expect(failureOf(() => decodeHex(hex)).code).toBe("cbor.malformed");
  // A thousand times two gigabytes: an allocation would not go unnoticed.
  for (let i = 0; i < 1000; i++) {
    for (const hex of lies) failureOf(() => decodeHex(hex));
  }
});

test("a reader is positioned after the value that was read from it", () => {
  const reader = new ByteReader(bytesOfHex("8201026161f6"), "cbor.malformed");
  expect([readCbor(reader), readCbor(reader), readCbor(reader)]).toEqual([[1, 2], "a", null]);
  expect(reader.left).toBe(0);
});
