/**
 * Request bodies: which forms are read, and what they mean.
 */

import { encodeCbor, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { decoderOf } from "../../src/http/request-format.ts";

function decode(type: string, body: string | Uint8Array): Value {
  const bytes = new Uint8Array(Buffer.from(body));
  const turns = decoderOf({ "content-type": type })(bytes, () => {});
  for (;;) {
    const { done, value } = turns.next();
    if (done === true) return value;
  }
}

test.each([
  "application/json",
  "Application/JSON",
  "application/json;charset=utf-8",
  'application/json; charset="UTF-8"',
  "application/json ; charset=utf8 ; profile=x",
])("[H4] %s is read as JSON", (type) => {
  expect(decode(type, '{"a":[1,"ä"]}')).toEqual({ a: [1, "ä"] });
});

test("[H4] application/cbor is read as CBOR, with binary", () => {
  const value = { a: [1, "ä", new Uint8Array([1, 2])] };
  expect(decode("application/cbor", encodeCbor(value))).toEqual(value);
});

test.each([
  "",
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/jsonp",
  "application/json; charset=latin1",
  "json",
])("[H4] the content type %j is 415 with the supported ones", (type) => {
  const message = `expected the content type application/json (in UTF-8) or application/cbor, found ${type || "none"}`;
  expect(() => decode(type, "{}")).toThrow(expect.objectContaining({ status: 415, message }));
});

test("[H4] no content type is 415 as well", () => {
  expect(() => decoderOf({})).toThrow(expect.objectContaining({ status: 415 }));
});

test("[H4] a compressed body is 415", () => {
  const headers = { "content-type": "application/json" };
  expect(() => decoderOf({ ...headers, "content-encoding": "gzip" })).toThrow(
    expect.objectContaining({
      status: 415,
      message: "expected a body without content encoding, found gzip",
    }),
  );
  expect(decoderOf({ ...headers, "content-encoding": "identity" })).toBeTypeOf("function");
});

test("[H11] 64-bit integers are read exactly", () => {
  expect(decode("application/json", "[9223372036854775807, -9223372036854775808]")).toEqual([
    9223372036854775807n,
    -9223372036854775808n,
  ]);
});

test("[H6] text that is not JSON is refused with line and column", () => {
  expect(() => decode("application/json", '{\n "a": }')).toThrow(
    'expected a value, found "}" at line 2, column 7',
  );
  expect(() => decode("application/json", "")).toThrow(/^expected a value, found the end/);
});

test("[H6] bytes that are not UTF-8 or not CBOR are refused", () => {
  expect(() => decode("application/json", new Uint8Array([0x22, 0xff, 0x22]))).toThrow(
    expect.objectContaining({ code: "json.syntax", message: "expected text in UTF-8" }),
  );
  expect(() => decode("application/cbor", new Uint8Array([0xff]))).toThrow(
    expect.objectContaining({ code: "cbor.malformed" }),
  );
});

test("[V4] a number that no float holds is found wherever it stands, and text like one is no number", () => {
  for (const number of ["1e400", "-1e400", "12.5E+999", "1e0400"]) {
    for (const text of [number, `[${number}]`, `{"a":\t${number}}`, `["1e1",${number}]`]) {
      expect(() => decode("application/json", text)).toThrow(
        "expected a number that a float can hold",
      );
    }
  }
  const ids = { "9e123": "4d3e12341234", text: "at:1e999x,2e998" };
  expect(decode("application/json", JSON.stringify(ids))).toEqual(ids);
});

test("[H6] [H11] a long body is refused for the same reasons, with the place", () => {
  const pad = `"${"x".repeat(40_000)}"`;
  const cases: [string, string][] = [
    [`{"a":[${pad},1e400]}`, "expected a number that a float can hold at a[1]"],
    [
      `{"a":{"b":"\\ud800","c":${pad}}}`,
      "expected well-formed text, found a lone surrogate at a.b",
    ],
    [`{"a":${pad},\n}`, 'expected a key in double quotes, found "}" at line 2, column 1'],
    [`${"[".repeat(66)}${pad}`, "expected at most 64 levels of nesting at line 1, column 66"],
  ];
  for (const [body, message] of cases)
    expect(() => decode("application/json", body)).toThrow(message);
  const text = "ä\u{1f600}".repeat(80_000);
  expect(decode("application/json", JSON.stringify({ text, large: 1e18 }))).toEqual({
    text,
    large: 10n ** 18n,
  });
  const broken = Buffer.concat([Buffer.from(pad.repeat(8)), new Uint8Array([0xff])]);
  expect(() => decode("application/json", broken)).toThrow("expected text in UTF-8");
});
