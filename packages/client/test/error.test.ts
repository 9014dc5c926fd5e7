/**
 * Errors: what is read from the answers of a server.
 */

import { expect, test } from "vitest";
import { type BigPeerError, errorOfAnswer } from "../src/error.ts";

function errorFor(body: unknown, headers: Record<string, string> = {}, status = 400): BigPeerError {
  return errorOfAnswer(new Response("", { status, headers }), body);
}

test.each([
  [
    { message: "expected text, found the number 1 at collection (value.invalid)" },
    ["value.invalid", "expected text, found the number 1 at collection", "collection"],
  ],
  [
    { message: 'expected "meet at noon, or not" at limit; did you mean 1? (value.invalid)' },
    ["value.invalid", 'expected "meet at noon, or not" at limit; did you mean 1?', "limit"],
  ],
  [
    { message: "expected an integer at the header x-service-txn-id (value.invalid)" },
    [
      "value.invalid",
      "expected an integer at the header x-service-txn-id",
      "the header x-service-txn-id",
    ],
  ],
  [
    {
      error: { description: "expected FROM at line 2, column 3, near `a at b; c` (query.syntax)" },
    },
    ["query.syntax", "expected FROM at line 2, column 3, near `a at b; c`", "line 2, column 3"],
  ],
  [
    { message: "damaged data on its disk (store.corrupt); its log has more about request r1" },
    ["store.corrupt", "damaged data on its disk; its log has more about request r1", undefined],
  ],
  [
    { title: "AppNotFound", detail: 'there is no app named "x"' },
    ["AppNotFound", 'there is no app named "x"', undefined],
  ],
  [{ message: "no (at all)" }, ["http.400", "no (at all)", undefined]],
  [undefined, ["http.400", "the server answered 400", undefined]],
  ["text", ["http.400", "the server answered 400", undefined]],
])("%j", (body, expected) => {
  const { code, message, at } = errorFor(body);
  expect([code, message, at]).toEqual(expected);
});

test("a place in a statement is a line and a column", () => {
  const error = errorFor({
    message: "expected FROM at line 2, column 13 (the end) (query.syntax)",
  });
  expect([error.place, error.at]).toEqual([{ line: 2, column: 13 }, "line 2, column 13"]);
});

test.each([
  ["7", 7000],
  ["0", 0],
  [new Date(Date.now() - 60_000).toUTCString(), 0],
  ["soon", undefined],
])("Retry-After: %s", (text, ms) => {
  expect(errorFor({}, { "retry-after": text }, 503).retryAfterMs).toBe(ms);
});

test("Retry-After may be a date", () => {
  const date = new Date(Date.now() + 30_000).toUTCString();
  expect(errorFor({}, { "retry-after": date }, 503).retryAfterMs).toBeGreaterThan(25_000);
});
