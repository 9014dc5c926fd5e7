/**
 * Web pages that call over HTTP: which may see their answers.
 */

import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";

const api = await openDataApi();
const listed = await openDataApi({ corsOrigins: ["https://app.example.com"] });

const BODY = { statement: "SELECT * FROM cars" };

test.each(["http://localhost:5173", "http://127.0.0.1:8080", "https://[::1]"])(
  "[H35] a page of this machine (%s) can read the answers by default, errors included",
  async (origin) => {
    for (const authorization of [undefined, `Bearer ${api.quickstart.apiKey}`]) {
      const headers = { origin, authorization };
      const { status, headers: reported } = await api.call("execute", BODY, { headers });
      expect(status).toBe(authorization === undefined ? 401 : 200);
      expect(reported.get("access-control-allow-origin")).toBe(origin);
      expect(reported.get("access-control-expose-headers")).toContain("X-Request-Id");
    }
  },
);

test("[H35] a page from another origin cannot, and gets an answer nevertheless", async () => {
  for (const origin of ["https://evil.example", "http://localhost.evil.example", "null"]) {
    const { status, headers } = await api.call("execute", BODY, { headers: { origin } });
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe(null);
  }
});

test("[H35] the setting names the pages that may call", async () => {
  for (const [origin, allowed] of [
    ["https://app.example.com", "https://app.example.com"],
    ["http://localhost:5173", null],
  ] as const) {
    const { headers } = await listed.call("execute", BODY, { headers: { origin } });
    expect(headers.get("access-control-allow-origin")).toBe(allowed);
  }
});

test("[H35] a page may send a preflight, without a credential", async () => {
  const response = await fetch(`${api.server.url}/api/v4/store/execute`, {
    method: "OPTIONS",
    headers: {
      origin: "http://localhost:5173",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, x-service-txn-id",
    },
  });
  expect(response.status).toBe(204);
  expect(response.headers.get("access-control-allow-methods")).toBe("POST");
  const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase() ?? "";
  for (const name of ["authorization", "content-type", "x-service-txn-id", "idempotency-key"]) {
    expect(allowed.split(", ")).toContain(name);
  }
});
