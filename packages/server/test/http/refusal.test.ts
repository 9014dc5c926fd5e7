/**
 * Which status an error gets.
 */

import { ERROR_CODES, type ErrorCode, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { Refusal, refusalOf } from "../../src/http/refusal.ts";

function statusOf(code: ErrorCode): number | undefined {
  return refusalOf(new PeerError(code, "a sentence"))?.status;
}

test("[H8] an invalid statement or body is 400", () => {
  const others: readonly ErrorCode[] = ["query.timeout", "query.busy"];
  for (const code of ERROR_CODES.filter((one) => one.startsWith("query."))) {
    if (!others.includes(code)) expect(statusOf(code), code).toBe(400);
  }
  for (const code of ["json.syntax", "cbor.malformed", "value.invalid", "id.invalid"] as const) {
    expect(statusOf(code), code).toBe(400);
  }
});

test("[H8] a request that takes too long is 408", () => {
  expect(statusOf("query.timeout")).toBe(408);
  expect(statusOf("store.snapshot_expired")).toBe(408);
});

test.each([
  ["query.busy", "1", "a sentence (query.busy)"],
  ["store.busy", "1", "a sentence (store.busy)"],
  ["store.closed", "1", "the server is closing (store.closed)"],
  ["store.full", "30", "the server has no room left on its disk (store.full)"],
  ["clock.ahead", "60", "a sentence (clock.ahead)"],
  ["cluster.elsewhere", "1", "a sentence (cluster.elsewhere)"],
  ["cluster.unanswered", "5", "a sentence (cluster.unanswered)"],
] as const)("[H8] %s is 503 with the time to retry: in %s s", (code, seconds, message) => {
  const refusal = refusalOf(new PeerError(code, "a sentence"));
  expect(refusal?.status).toBe(503);
  expect(refusal?.headers).toEqual({ "retry-after": seconds });
  expect(refusal?.message).toBe(message);
});

test("[H13] a full disk is reported without the name of the file", () => {
  const refusal = refusalOf(new PeerError("store.full", "expected room at /srv/data/data.mdb"));
  expect(refusal?.message).toBe("the server has no room left on its disk (store.full)");
});

test.each([
  ["attachment.invalid", 400],
  ["attachment.too_large", 413],
  ["idempotency.conflict", 422],
  ["idempotency.too_large", 400],
] as const)("%s is %s", (code, status) => {
  expect(statusOf(code)).toBe(status);
});

test.each(["store.write_failed", "store.corrupt", "config.invalid"] as const)(
  "%s is not shown to the caller",
  (code) => {
    expect(refusalOf(new PeerError(code, "a sentence"))).toBeUndefined();
  },
);

test("an error of another class is not shown to the caller", () => {
  expect(refusalOf(new TypeError("x is not a function"))).toBeUndefined();
  expect(refusalOf("text")).toBeUndefined();
});

test("a refusal is passed on unchanged", () => {
  const refusal = new Refusal(405, "a sentence");
  expect(refusalOf(refusal)).toBe(refusal);
});

test("[H8] an error in a statement has line, column, the text there, and what was expected", () => {
  const place = { line: 2, column: 8, near: "FRMO cars" };
  const syntax = new PeerError("query.syntax", "expected FROM, found FRMO", {
    place,
    expected: "FROM",
  });
  expect(refusalOf(syntax)?.message).toBe(
    "expected FROM, found FRMO at line 2, column 8, near `FRMO cars` (query.syntax)",
  );
  const semantic = new PeerError("query.semantic", "no such function", {
    place,
    expected: "one of abs, ceil",
  });
  expect(refusalOf(semantic)?.message).toBe(
    "no such function at line 2, column 8, near `FRMO cars`; expected one of abs, ceil (query.semantic)",
  );
});
