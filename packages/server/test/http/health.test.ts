/**
 * Health as a load balancer asks for it.
 */

import { expect, test } from "vitest";
import { type Health, healthEndpoints } from "../../src/http/health.ts";
import { Router } from "../../src/http/router.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
import { jsonOf } from "../support/sent-content.ts";

async function ask(health: Health, target: string, method = "GET"): Promise<unknown> {
  const router = new Router({
    endpoints: healthEndpoints(() => health),
    dataEndpoints: [],
    log: () => {},
  });
  const { status, content } = await router.answer(handMadeRequest({ method, target }));
  return { status, body: jsonOf(content) };
}

test("live is 200 in every state, ready only when the server is", async () => {
  for (const health of ["starting", "ready", "closing"] as const) {
    for (const path of ["/livez", "/health/live"]) {
      expect(await ask(health, path)).toEqual({ status: 200, body: { status: "live" } });
    }
    for (const path of ["/readyz", "/health/ready"]) {
      expect(await ask(health, path)).toEqual({
        status: health === "ready" ? 200 : 503,
        body: { status: health },
      });
    }
  }
});

test("a query does not change the path", async () => {
  expect(await ask("ready", "/health/ready?verbose=1")).toEqual({
    status: 200,
    body: { status: "ready" },
  });
});

test.each(["/", "/health", "//health/ready", "/a?/health/live"])(
  "%s is 404 with a message",
  async (target) => {
    const message = `there is nothing at ${target.split("?")[0]}`;
    expect(await ask("ready", target)).toEqual({ status: 404, body: { message } });
  },
);

test.each(["/health/ready/", "/health/readyx"])(
  "%s is 404 with a suggested path",
  async (target) => {
    const message = `there is nothing at ${target}; did you mean /health/ready?`;
    expect(await ask("ready", target)).toEqual({ status: 404, body: { message } });
  },
);

test.each(["POST", "PUT", "DELETE", "OPTIONS"])(
  "%s on health is 405 with the allowed methods",
  async (method) => {
    expect(await ask("ready", "/health/live", method)).toEqual({
      status: 405,
      body: { message: `expected GET or HEAD on /health/live, found ${method}` },
    });
  },
);
