/**
 * JSON: nothing that JSON can say is lost, errors name line and column, and the reader agrees with
 * the host's.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PeerError } from "../src/error.ts";
import { encodeBase64, parseJson, stringifyJson } from "../src/json.ts";
import { checkValue, isArray, type Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import { isIdentical, nested, objectOf, values } from "./support/values.ts";

const RUNS = { numRuns: runs(2000) };

/** As a number it makes our reader work, not the host's. */
const DIGITS = "1234567890123456";

test("[V4] a JSON round trip loses nothing that JSON can express", () => {
  fc.assert(
    fc.property(values, (value) => {
      const back = checkValue(parseJson(stringifyJson(value)), "x");
      expect(isIdentical(back, asJsonSays(value))).toBe(true);
    }),
    RUNS,
  );
});

/** Binary as base64 text, NaN and infinities as null. */
function asJsonSays(value: Value): Value {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map(asJsonSays);
  const copy = Object.create(null) as Record<string, Value>;
  for (const [name, part] of Object.entries(value)) copy[name] = asJsonSays(part);
  return copy;
}

test("[V4] 64-bit integers, -0 and a field named `__proto__` survive both ways", () => {
  for (const text of [
    "9007199254740993",
    "-9007199254740993",
    "18446744073709551615",
    "-9223372036854775808",
    "-0",
    "[-0,0]",
    '{"__proto__":{"a":1}}',
    '{"a":{"__proto__":18446744073709551615}}',
    '{"toJSON":1}',
    '{"constructor":{"prototype":-0}}',
  ]) {
    expect(stringifyJson(parseJson(text))).toBe(text);
  }
  expect(parseJson("18446744073709551615")).toBe(2n ** 64n - 1n);
  expect(parseJson("9007199254740991")).toBe(Number.MAX_SAFE_INTEGER);
  expect(Object.getPrototypeOf(parseJson(`{"__proto__":${DIGITS}0}`))).toBe(Object.prototype);
});

test("[V4] an integer outside 64 bits is read as a float", () => {
  expect(parseJson("18446744073709551616")).toBe(2 ** 64);
  expect(parseJson("-9223372036854775809")).toBe(-(2 ** 63));
  expect(parseJson(`1${"0".repeat(400)}`)).toBe(Number.POSITIVE_INFINITY);
  expect(parseJson(`-1${"0".repeat(30)}`)).toBe(-1e30);
});

test("[V4] digits in a string or in a fraction do not affect parsing", () => {
  expect(parseJson(`["${DIGITS}",0.${DIGITS}5,${DIGITS}e2,-0.0]`)).toEqual([
    DIGITS,
    0.12345678901234565,
    123456789012345600,
    -0,
  ]);
});

test("[V4] an integer of 16 digits or more is exact anywhere in the text", () => {
  for (let before = 0; before < 40; before++) {
    for (const digits of ["9007199254740993", "12345678901234567891"]) {
      const pad = "x1".repeat(before).slice(0, before);
      const value = { [pad]: BigInt(digits), after: 15 };
      expect(parseJson(`{"${pad}":${digits},"after":15}`)).toEqual(value);
      const behind = `[0.${DIGITS}${pad.replaceAll("x", "2")},${digits}]`;
      expect(parseJson(behind)).toEqual([JSON.parse(behind)[0], BigInt(digits)]);
    }
    // One digit less, and those before and behind it are no part of the number.
    const short = `[${"1,".repeat(before)}900719925474099.1]`;
    expect(parseJson(short)).toEqual(JSON.parse(short));
  }
});

test("[V10] consecutive blanks and the characters of a key are limited, because they are read at once", () => {
  const many = 512 * 1024;
  expect(parseJson(`[${" ".repeat(many - 1)}1]`)).toEqual([1]);
  expect(() => parseJson(`[${" ".repeat(many)}1]`)).toThrow(
    "expected fewer than 524288 blanks in a row",
  );
  expect(() => parseJson(`1${"\n".repeat(many)}`)).toThrow(
    "expected fewer than 524288 blanks in a row",
  );
  expect(parseJson(`{"${"k".repeat(many - 1)}":1}`)).toEqual({ ["k".repeat(many - 1)]: 1 });
  expect(() => parseJson(`{"${"k".repeat(many)}":1}`)).toThrow(
    "expected a key of fewer than 524288 characters",
  );
});

test("[V4] binary is written as base64 text, NaN and infinities as null", () => {
  expect(stringifyJson(new Uint8Array([1, 2, 3, 4]))).toBe('"AQIDBA=="');
  expect(stringifyJson([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0])).toBe(
    "[null,null,null,-0]",
  );
  expect(stringifyJson({ a: Number.NaN })).toBe('{"a":null}');
});

test("base64 is the standard encoding", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
    }),
    RUNS,
  );
});

/** JSON text with a few characters changed: sometimes still JSON, mostly not. */
const almostJson: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      fc.json({ maxDepth: 3 }),
      fc.json({ maxDepth: 2, stringUnit: "binary" }),
      fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value, undefined, 2)),
      fc.string({
        unit: fc.constantFrom(
          ...'[]{}:,"\\ \t\n\r01.-+eEtruefalsnu/bu0aF\u0001\u00a0\ufeff'.split(""),
        ),
        maxLength: 12,
      }),
    ),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(1),
        fc.constantFrom(
          ...'[]{}:,"\\ \n\r\t01.-+eEtfnu/\u0000\u001f\u007f\u2028\ud800'.split(""),
          "",
        ),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([text, edits]) => {
    let edited = text;
    for (const [place, removed, added] of edits) {
      const at = place % (edited.length + 1);
      edited = edited.slice(0, at) + added + edited.slice(at + removed);
    }
    return edited;
  });

test("[V4] our parser accepts and refuses the same texts as the host's, with the same result", () => {
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(almostJson, (text) => {
      for (const candidate of [text, `[${DIGITS},${text}]`, `{"a":${DIGITS},"b":${text}\n}`]) {
        let expected: unknown;
        try {
          expected = JSON.parse(candidate);
        } catch {
          const error = failureOf(() => parseJson(candidate));
          expect(error.code).toBe("json.syntax");
          expectPlaceInside(error, candidate);
          refused++;
          continue;
        }
        accepted++;
        expect(isIdentical(rounded(parseJson(candidate)), expected as Value)).toBe(true);
      }
    }),
    { numRuns: runs(5000) },
  );
  expect(Math.min(accepted, refused)).toBeGreaterThan(runs(5000) / 5);
});

/** The host rounds long integers. */
function rounded(value: Value): Value {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (isArray(value)) return value.map(rounded);
  return objectOf(Object.entries(value).map(([name, part]) => [name, rounded(part)]));
}

function expectPlaceInside(error: PeerError, text: string): void {
  const [line = 0, column = 0] = (error.at?.match(/\d+/g) ?? []).map(Number);
  const lines = text.split("\n");
  expect(error.at).toBe(`line ${line}, column ${column}`);
  expect(line).toBeGreaterThanOrEqual(1);
  expect(line).toBeLessThanOrEqual(lines.length);
  expect(column).toBeGreaterThanOrEqual(1);
  expect(column).toBeLessThanOrEqual((lines[line - 1] ?? "").length + 1);
}

test("an error has line and column, and what was expected there", () => {
  const cases: [string, string][] = [
    ["", "expected a value, found the end of the text at line 1, column 1"],
    ["{", "expected a key in double quotes, found the end of the text at line 1, column 2"],
    ['{"a" 1}', 'expected ":", found "1" at line 1, column 6'],
    ['{\n  "a": 1,\n  b: 2\n}', 'expected a key in double quotes, found "b" at line 3, column 3'],
    ['{"a": 1,}', 'expected a key in double quotes, found "}" at line 1, column 9'],
    ["[1, 2", 'expected "," or "]", found the end of the text at line 1, column 6'],
    ["[1,]", 'expected a value, found "]" at line 1, column 4'],
    ["[1 2]", 'expected "," or "]", found "2" at line 1, column 4'],
    ['{"a":1 "b"}', 'expected "," or "}", found "\\"" at line 1, column 8'],
    ["nul", 'expected a value, found "n" at line 1, column 1'],
    ["1 2", 'expected the end, found "2" at line 1, column 3'],
    ["01", 'expected the end, found "1" at line 1, column 2'],
    ["-", 'expected a value, found "-" at line 1, column 1'],
    ['"abc', "expected the end of the string, found the end of the text at line 1, column 5"],
    ['"a\nb"', 'expected the end of the string, found "\\n" at line 1, column 3'],
    ['"\\x"', 'expected an escape, found "x" at line 1, column 3'],
    ['"\\u12g4"', 'expected four hexadecimal digits, found "1" at line 1, column 4'],
  ];
  for (const [text, message] of cases)
    expect(failureOf(() => parseJson(text)).message).toBe(message);
});

test("both parsers read escapes alike", () => {
  const text = '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\u0000"';
  expect(parseJson(text)).toBe('"\\/\b\f\n\r\t\u00e9\u{1f600}\0');
  expect(parseJson(`[${text},${DIGITS}]`)).toEqual([JSON.parse(text), Number(DIGITS)]);
});

test("the last of two equal keys wins, as in the host", () => {
  expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
  expect(stringifyJson(parseJson(`{"__proto__":1,"__proto__":${DIGITS}}`))).toBe(
    `{"__proto__":${DIGITS}}`,
  );
});

test("[V7] more than 64 levels are refused by the parser or by the check after it", () => {
  const read = (text: string): Value => checkValue(parseJson(text), "x");
  for (const inner of ["1", DIGITS]) {
    const deepest = "[".repeat(64) + inner + "]".repeat(64);
    expect(read(deepest)).toEqual(nested(64, Number(inner)));
    expect(failureOf(() => read(`[${deepest}]`)).message).toContain("64 levels");
  }
  const tooDeep = "[".repeat(200_000) + "]".repeat(200_000);
  expect(failureOf(() => read(tooDeep)).message).toContain("64 levels");
  expect(failureOf(() => read(`[${DIGITS},${tooDeep}]`)).code).toBe("json.syntax");
  expect(failureOf(() => read("[".repeat(200_000)))).toBeInstanceOf(PeerError);
});

test("[V7] a lone surrogate passes the parser and is found by the check", () => {
  expect(failureOf(() => checkValue(parseJson('["\\ud800"]'), "x")).at).toBe("x[0]");
  expect(failureOf(() => checkValue(parseJson(`["\\ud800",${DIGITS}]`), "x")).at).toBe("x[0]");
});

test("[V4] digits in text are left to the host, and change nothing", () => {
  for (const text of [`"${DIGITS}"`, `{"_id":"${DIGITS}99","n":${DIGITS}99}`, '"4d3e1234567"']) {
    expect(stringifyJson(parseJson(text))).toBe(text);
  }
});
