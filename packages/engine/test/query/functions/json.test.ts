/**
 * serialize_json and deserialize_json.
 */

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { equalData } from "../../../src/query/value/compare.ts";
import { type Datum, Float, MISSING, type PresentDatum } from "../../../src/query/value/datum.ts";
import { anyPresentDatum } from "../../support/any-datum.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";

describe("serialize_json", () => {
  test("writes null, but MISSING stays MISSING", () => {
    expect(call("serialize_json", null)).toBe("null");
    expect(call("serialize_json", MISSING)).toBe(MISSING);
  });

  test("distinguishes integers from floats, and keeps every digit", () => {
    for (const [datum, text] of [
      [1, "1"],
      [new Float(1), "1.0"],
      [new Float(-0), "-0.0"],
      [1.5, "1.5"],
      [new Float(1e15), "1000000000000000.0"],
      [1e20, "1e+20"],
      [1e300, "1e+300"],
      [2n ** 63n - 1n, "9223372036854775807"],
      [Number.NaN, "null"],
      [Number.POSITIVE_INFINITY, "null"],
    ] as const) {
      expect(call("serialize_json", datum)).toBe(text);
    }
  });

  test("sorts keys, escapes text, and writes binary as its bytes", () => {
    expect(call("serialize_json", { b: 1, a: [2, { d: true, c: null }] })).toBe(
      '{"a":[2,{"c":null,"d":true}],"b":1}',
    );
    expect(call("serialize_json", {})).toBe("{}");
    expect(call("serialize_json", [])).toBe("[]");
    expect(call("serialize_json", 'é"\n')).toBe('"é\\"\\n"');
    expect(call("serialize_json", new Uint8Array([0, 1, 2]))).toBe("[0,1,2]");
  });

  test("stops before a value that contains a part many times fills the memory", () => {
    let datum: PresentDatum = "x".repeat(100);
    for (let i = 0; i < 40; i++) datum = [datum, datum];
    const run = testRun({ bytesMax: 1_000_000 });
    expect(() => callFunction("serialize_json", [datum], run)).toThrow("1000000 bytes");
    const other = testRun({ bytesMax: Number.POSITIVE_INFINITY, msPerLook: 1, timeMsMax: 20 });
    expect(() => callFunction("serialize_json", [datum], other)).toThrow("longer than 20 ms");
  });

  test("fails for text that the host cannot hold", () => {
    const part = "x".repeat(2 ** 25);
    const run = testRun({ bytesMax: Number.POSITIVE_INFINITY });
    const outcome = callFunction("serialize_json", [[part, part, part, part]], run);
    expect(reasonOf(outcome)).toContain("expected text of at most");
  });
});

describe("deserialize_json", () => {
  test("reads a number with a point or an exponent as a float", () => {
    for (const [text, datum] of [
      ["1", 1],
      ["1.0", new Float(1)],
      ["-1e2", new Float(-100)],
      ["1.5", 1.5],
      ["9223372036854775808", 2n ** 63n],
      ["18446744073709551616", 2 ** 64],
      [" [ 1 ] ", [1]],
      ['[1.0,{"a":2.50,"1e5":"1.0 \\" 2.0"}]', [new Float(1), { a: 2.5, "1e5": '1.0 " 2.0' }]],
      ["[1.5,9007199254740993]", [1.5, 9_007_199_254_740_993n]],
      ['{"a":1,"a":2}', { a: 2 }],
      ["null", null],
    ] as const) {
      expect(call("deserialize_json", text)).toStrictEqual(datum);
    }
  });

  test("fails for text that is not JSON, and for JSON that is no value", () => {
    for (const text of [
      "",
      "nope",
      "{a:1}",
      "[1,]",
      "1e400",
      "[1.0,1e999]",
      '"\\ud800"',
      '["\\ud8001.5"]',
      `${"[".repeat(65)}${"]".repeat(65)}`,
      "[".repeat(100_000),
    ]) {
      expect(reasonOf(call("deserialize_json", text))).toBe("expected JSON text");
    }
    expect(reasonOf(call("deserialize_json", 1))).toBe("expected JSON text, found an integer");
    expect(call("deserialize_json", null)).toBeNull();
  });

  test("accepts a float at level 64", () => {
    const text = `${"[".repeat(64)}1.0,9007199254740993${"]".repeat(64)}`;
    expect(reasonOf(call("deserialize_json", text))).toBeUndefined();
  });

  test("reads a field named __proto__", () => {
    const read = call("deserialize_json", '{"__proto__":1.5}') as object;
    expect(Object.entries(read)).toEqual([["__proto__", 1.5]]);
  });

  test("counts the memory of large text", () => {
    const run = testRun({ bytesMax: 70_000 });
    const text = `[${"[],".repeat(3000)}[]]`;
    expect(() => callFunction("deserialize_json", [text], run)).toThrow("70000 bytes");
  });
});

test("accepts text beyond the basic plane next to a float", () => {
  expect(call("deserialize_json", '["\u{10000}", 2.0]')).toEqual(["\u{10000}", new Float(2)]);
});

test("gives the same error for long text as for short text, null included", () => {
  const parts = '[null,true,false,-0,1.0,18446744073709551616,"\\"\\\\",{"a":null}]';
  const [long] = [call("deserialize_json", `[${`${parts},`.repeat(50)}${parts}]`)] as [Datum[]];
  expect(long).toEqual(Array.from({ length: 51 }, () => call("deserialize_json", parts)));
});

test("parsing a serialized value returns the same value, floats as floats", () => {
  fc.assert(
    fc.property(anyPresentDatum, (datum) => {
      const text = call("serialize_json", datum) as string;
      const read = call("deserialize_json", text) as Datum;
      expect(equalData(read, asJson(datum))).toBe(true);
      expect(call("serialize_json", read)).toBe(text);
    }),
    { numRuns: runs(1000) },
  );
});

test("long text is parsed like short text", () => {
  fc.assert(
    fc.property(anyPresentDatum, fc.constantFrom("", " ", "\n\t "), (datum, space) => {
      const text = call("serialize_json", datum) as string;
      const padding = space.repeat(2000);
      const read = call("deserialize_json", `[${padding}${text}${padding},"${"x".repeat(2000)}"]`);
      const [first] = read as [Datum];
      expect(equalData(first, call("deserialize_json", text) as Datum)).toBe(true);
      expect(call("serialize_json", first)).toBe(text);
    }),
  );
  const long = " ".repeat(2000);
  for (const [text, datum] of [
    ["-0", -0],
    ["9223372036854775808", 2n ** 63n],
    ["18446744073709551616", 2 ** 64],
    ['"\\\\\\""', '\\"'],
    ['{"a":1,"a":2}', { a: 2 }],
  ] as const) {
    expect(call("deserialize_json", text)).toStrictEqual(datum);
    expect(call("deserialize_json", long + text)).toStrictEqual(datum);
  }
  for (const text of [
    "",
    "nope",
    "[1,]",
    "[1 2]",
    "1e400",
    '"\\ud800"',
    '"\\',
    '{"a"}',
    '"\n"',
    "[".repeat(65),
  ]) {
    expect(reasonOf(call("deserialize_json", long + text))).toBe("expected JSON text");
  }
});

/** What JSON makes of it: no NaN, no infinities, no binary. */
function asJson(datum: PresentDatum): PresentDatum {
  if (typeof datum === "number") return Number.isFinite(datum) ? datum : null;
  if (datum instanceof Uint8Array) return [...datum];
  if (Array.isArray(datum)) return (datum as readonly PresentDatum[]).map(asJson);
  if (typeof datum !== "object" || datum === null || datum instanceof Float) return datum;
  return Object.fromEntries(Object.entries(datum).map(([key, field]) => [key, asJson(field)]));
}
