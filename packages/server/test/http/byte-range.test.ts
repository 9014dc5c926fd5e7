import * as fc from "fast-check";
import { expect, test } from "vitest";
import { byteRange } from "../../src/http/byte-range.ts";

test.each([
  ["bytes=0-0", { kind: "part", start: 0, end: 0 }],
  ["bytes=2-5", { kind: "part", start: 2, end: 5 }],
  ["Bytes= 2-5 ", { kind: "part", start: 2, end: 5 }],
  ["bytes=9-", { kind: "part", start: 9, end: 9 }],
  ["bytes=4-99999999999999999999", { kind: "part", start: 4, end: 9 }],
  ["bytes=-3", { kind: "part", start: 7, end: 9 }],
  ["bytes=-30", { kind: "part", start: 0, end: 9 }],
])("[H37] of ten bytes %s selects a part", (header, range) => {
  expect(byteRange(header, 10)).toEqual(range);
});

test.each(["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"])(
  "[H37] of ten bytes %s selects nothing",
  (header) => {
    expect(byteRange(header, 10)).toEqual({ kind: "unsatisfiable" });
  },
);

test.each([
  undefined,
  "",
  "bytes=-",
  "bytes=5-2",
  "bytes=0-1,4-5",
  "bytes=a-b",
  "lines=0-1",
  "0-1",
])("[H37] %j is not a single byte range, and the whole content is returned", (header) => {
  expect(byteRange(header, 10)).toEqual({ kind: "whole" });
});

test.each(["bytes=0-", "bytes=0-0", "bytes=-1"])("of empty content %s is the whole", (header) => {
  expect(byteRange(header, 0)).toEqual({ kind: "whole" });
});

test("a part is always within the content and not empty", () => {
  const number = fc.oneof(fc.nat(20).map(String), fc.constant(""), fc.constant("9".repeat(30)));
  fc.assert(
    fc.property(number, number, fc.nat(20), (first, last, size) => {
      const range = byteRange(`bytes=${first}-${last}`, size);
      if (range.kind !== "part") return;
      expect(range.start).toBeGreaterThanOrEqual(0);
      expect(range.end).toBeGreaterThanOrEqual(range.start);
      expect(range.end).toBeLessThan(size);
    }),
  );
});
