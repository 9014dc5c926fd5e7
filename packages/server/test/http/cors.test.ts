/**
 * Which pages may call, and what their browsers are told.
 */

import { expect, test } from "vitest";
import { Cors, isPreflight } from "../../src/http/cors.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const EXPOSED =
  "X-Request-Id, Retry-After, ETag, Content-Range, Accept-Ranges, Idempotency-Replayed, Content-Disposition";

test.each([
  "http://localhost",
  "http://localhost:5173",
  "https://localhost:8443",
  "http://app.localhost:3000",
  "http://127.0.0.1:8080",
  "http://127.1.2.3",
  "https://[::1]:8080",
])("%s is a page of this machine", (origin) => {
  expect(new Cors("loopback").extend({ vary: "accept" }, origin)).toEqual({
    vary: "accept, origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
  });
});

test.each([
  undefined,
  "null",
  "",
  "https://example.com",
  "http://localhost.example.com",
  "http://notlocalhost",
  "http://127.0.0.1.example.com",
  "http://10.0.0.1",
  "http://[::2]",
  "file://localhost",
  "http://localhost/path",
  "http://user@localhost",
  "localhost:5173",
])("%s is not, and gets no CORS headers", (origin) => {
  const cors = new Cors("loopback");
  expect(cors.extend({ etag: "x" }, origin)).toEqual({ etag: "x", vary: "origin" });
  expect(cors.preflight(["POST"], origin).headers).toEqual({});
});

test("shared headers are extended for each page separately", () => {
  const cors = new Cors("loopback");
  const shared = { etag: "x" };
  const page = "http://localhost";
  for (let round = 0; round < 2; round++) {
    expect(cors.extend(shared, undefined)).toEqual({ etag: "x", vary: "origin" });
    expect(cors.extend({ etag: "y" }, undefined)).toEqual({ etag: "y", vary: "origin" });
    expect(cors.extend(shared, page)["access-control-allow-origin"]).toBe(page);
  }
  expect(shared).toEqual({ etag: "x" });
});

test("exactly the pages of a list may call", () => {
  const cors = new Cors(["https://app.example.com", "http://localhost:5173"]);
  const allowed = (origin: string): string | undefined =>
    cors.extend({}, origin)["access-control-allow-origin"];
  expect(allowed("https://app.example.com")).toBe("https://app.example.com");
  expect(allowed("http://localhost:5173")).toBe("http://localhost:5173");
  expect(allowed("http://localhost:5174")).toBeUndefined();
  expect(allowed("http://app.example.com")).toBeUndefined();
});

test("with * every page may call, and answers do not vary", () => {
  const headers = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": EXPOSED,
  };
  for (const origin of ["https://example.com", "null", undefined]) {
    expect(new Cors("*").extend({}, origin)).toEqual(headers);
  }
});

test("with an empty list answers have no CORS headers", () => {
  expect(new Cors([]).extend({ etag: "x" }, "http://localhost")).toEqual({ etag: "x" });
  expect(new Cors([]).preflight(["POST"], "http://localhost").headers).toEqual({});
});

test("a preflight of an allowed page returns methods, headers and a maximum age", () => {
  const answer = new Cors("loopback").preflight(["GET", "HEAD"], "http://localhost");
  expect(answer).toEqual({
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers":
        "Authorization, Content-Type, Accept, X-SERVICE-TXN-ID, X-DITTO-TXN-ID, X-HYDRA-TXN-ID, Idempotency-Key, Range, If-None-Match, If-Range, Upload-Offset, Upload-Length",
      "access-control-max-age": "600",
    },
    body: { kind: "bytes", bytes: new Uint8Array() },
  });
});

test("a preflight is OPTIONS with a requested method", () => {
  const headers = { "access-control-request-method": "POST" };
  expect(isPreflight(handMadeRequest({ method: "OPTIONS", headers }))).toBe(true);
  expect(isPreflight(handMadeRequest({ method: "OPTIONS" }))).toBe(false);
  expect(isPreflight(handMadeRequest({ method: "POST", headers }))).toBe(false);
});

test("[H35] pages at the public URL may call as well, but not if no page may", () => {
  const publicUrl = "https://sync.example.com/base";
  const own = "https://sync.example.com";
  expect(new Cors("loopback", publicUrl).allows(own)).toBe(true);
  expect(new Cors(["https://app.example.com"], publicUrl).allows(own)).toBe(true);
  expect(new Cors("loopback", publicUrl).allows("http://sync.example.com")).toBe(false);
  expect(new Cors("loopback", publicUrl).allows("http://localhost:5173")).toBe(true);
  expect(new Cors([], publicUrl).allows(own)).toBe(false);
});
