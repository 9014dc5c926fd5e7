/**
 * Which form and which coding a client gets, by what it says that it accepts.
 */

import { expect, test } from "vitest";
import { acceptsHtml, chooseCoding, chooseForm } from "../../src/http/negotiation.ts";

test.each([
  "application/cbor",
  "Application/CBOR",
  "application/cbor, text/html",
  "application/cbor;q=0.1",
  "application/cbor, application/json;q=0.9",
  "application/json;q=0.5 , application/cbor; q=0.9",
  "application/cbor, */*;q=0.8",
  "application/*;q=0.2, application/cbor;q=0.3",
  "application/json;q=0, */*",
  "application/json;q=0, application/*",
  "application/cbor;profile=x;q=0.5, application/json;q=0.2",
])("%s is answered with CBOR", (accept) => {
  expect(chooseForm(accept)).toBe("cbor");
  // The second time it is remembered.
  expect(chooseForm(accept)).toBe("cbor");
});

test.each([
  undefined,
  "",
  ",",
  "*/*",
  "application/*",
  "application/json",
  "application/cbor, application/json",
  "application/cbor, */*",
  "application/cbor;q=0.5, application/json;q=0.9",
  "application/cbor;q=0",
  "application/cbor;q=0, */*",
  "application/cbor;q=high",
  "application/cbor;q=2",
  "text/html",
  "text/html, application/xhtml+xml, */*;q=0.8",
  "application/json;q=0.2, application/json;charset=utf-8, application/cbor;q=0.5",
])("%s is answered with JSON", (accept) => {
  expect(chooseForm(accept)).toBe("json");
});

test.each([
  [undefined, true],
  ["*/*", true],
  ["text/html,application/xhtml+xml,*/*;q=0.8", true],
  ["text/html, application/json", true],
  ["application/json", false],
  ["application/json, */*", true],
  ["application/json, */*;q=0.5", false],
  ["application/cbor", false],
  ["text/html;q=0, */*", false],
  ["", false],
])("whether Accept %s takes HTML is %s", (header, takes) => {
  expect(acceptsHtml(header)).toBe(takes);
});

test.each([
  ["br", "br"],
  ["gzip, deflate, br", "br"],
  ["GZIP;q=1.0, BR;q=1.0", "br"],
  ["*", "br"],
  ["*;q=0.5", "br"],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["gzip, br;q=0.9", "gzip"],
  ["br;q=0, *", "gzip"],
  ["br;q=0, gzip;q=0.1", "gzip"],
  ["identity;q=0, gzip", "gzip"],
  ["gzip, identity", "gzip"],
  [undefined, "identity"],
  ["", "identity"],
  ["deflate, zstd", "identity"],
  ["identity", "identity"],
  ["*;q=0", "identity"],
  ["br;q=0, gzip;q=0", "identity"],
  ["gzip;q=0.5, identity", "identity"],
  ["identity;q=0", "identity"],
])("Accept-Encoding %s is %s", (header, coding) => {
  expect(chooseCoding(header)).toBe(coding);
});

test("each header is parsed independently, however many and however long they are", () => {
  for (let i = 0; i < 1000; i++) {
    expect(chooseForm(`application/cbor, text/x-${i}`)).toBe("cbor");
    expect(chooseForm(`application/json, text/x-${i}`)).toBe("json");
  }
  expect(chooseForm(`${"text/html, ".repeat(1000)}application/cbor`)).toBe("cbor");
});
