/**
 * The router: which endpoint a path means, and what becomes of paths, methods and errors that are
 * none of ours.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { createAnswer } from "../../src/http/answer.ts";
import { Refusal } from "../../src/http/refusal.ts";
import { type Endpoint, messageBody, Router } from "../../src/http/router.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

/** An endpoint that answers with the place where it was asked. */
const ECHO: Endpoint = {
  path: "/store/echo",
  methods: ["POST"],
  failureBody: (message) => ({ wrong: message }),
  answer: (_, { appId }) => createAnswer(200, { appId: appId ?? "of the credential" }),
};

const PLAIN: Endpoint = {
  path: "/plain",
  methods: ["GET", "HEAD"],
  failureBody: messageBody,
  answer: () => createAnswer(200, { plain: true }),
};

interface Told {
  readonly status: number;
  readonly headers: object;
  readonly body: unknown;
  readonly lines: readonly string[];
}

async function ask(method: string, target: string, endpoint: Endpoint = ECHO): Promise<Told> {
  const lines: string[] = [];
  const log = (level: string, message: string): void => void lines.push(`${level} ${message}`);
  const router = new Router({ endpoints: [PLAIN], dataEndpoints: [endpoint], log });
  const { status, headers, bytes } = await router.answer(handMadeRequest({ method, target }));
  return { status, headers, body: JSON.parse(Buffer.from(bytes).toString()), lines };
}

function failing(error: unknown): Endpoint {
  return {
    ...ECHO,
    answer: () => {
      throw error;
    },
  };
}

test.each([
  ["/api/v4/store/echo", "of the credential"],
  ["/api/v5/store/echo", "of the credential"],
  ["/6bb92a35-e1bf/api/v4/store/echo", "6bb92a35-e1bf"],
  ["/6bb92a35-e1bf/api/v5/store/echo", "6bb92a35-e1bf"],
  ["/api/api/v4/store/echo", "api"],
  ["/api/v4/store/echo?pretty=1", "of the credential"],
  ["http://example.com:8080/api/v4/store/echo", "of the credential"],
])("[H1] %s is the endpoint of the data API, for the app %s", async (target, appId) => {
  expect(await ask("POST", target)).toMatchObject({ status: 200, body: { appId } });
});

test.each([
  "/",
  "/store/echo",
  "/api/v3/store/echo",
  "/api/v4",
  "/api/v4/store",
  "/api/v4/store/echoes",
  "/a/b/api/v4/store/echo",
  "//api/v4/store/echo",
  "/API/v4/store/echo",
  "/api/v4/plain",
  "/x?/api/v4/store/echo",
])("[H12] %s is 404 with a message", async (target) => {
  const message = `there is nothing at ${target.split("?")[0]}`;
  expect(await ask("POST", target)).toMatchObject({ status: 404, body: { message } });
});

test.each(["/api/v4/store/echo/", "/api/v5/store/echo/more", "/app/api/v4/store/echo/x/y"])(
  "[H12] %s is 404 in the form of the endpoint that it lies under",
  async (target) => {
    const wrong = `there is nothing at ${target}`;
    expect(await ask("POST", target)).toMatchObject({ status: 404, body: { wrong } });
  },
);

test("[H12] a method that is not served is 405 in the form of the endpoint, with those that are", async () => {
  expect(await ask("GET", "/api/v4/store/echo")).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
    body: { wrong: "expected POST on /store/echo, found GET" },
  });
  expect(await ask("PUT", "/plain")).toMatchObject({
    status: 405,
    headers: { allow: "GET, HEAD" },
    body: { message: "expected GET or HEAD on /plain, found PUT" },
  });
});

test("a long path is repeated only in part", async () => {
  const { body } = await ask("POST", `/${"x".repeat(10_000)}`);
  expect(JSON.stringify(body).length).toBeLessThan(300);
});

test("a refusal becomes its status and headers, and is not worth a line in the log", async () => {
  const refusal = new Refusal(418, "no coffee here", { "x-pot": "tea" });
  expect(await ask("POST", "/api/v4/store/echo", failing(refusal))).toEqual({
    status: 418,
    headers: { "content-type": "application/json", "x-pot": "tea" },
    body: { wrong: "no coffee here" },
    lines: [],
  });
});

test.each([
  new TypeError("x is not a function"),
  new PeerError("store.write_failed", "expected to write /srv/secret/data.mdb"),
  "not even an error",
])(
  "[H13] an unexpected error is 500 without what it says, which is in the log: %s",
  async (error) => {
    const told = await ask("POST", "/api/v4/store/echo", failing(error));
    expect(told).toMatchObject({
      status: 500,
      body: {
        wrong: "an unexpected error of the server; its log has more about request request-1",
      },
    });
    expect(told.lines).toHaveLength(1);
    const text = error instanceof Error ? error.message : error;
    expect(told.lines[0]).toContain(text);
    expect(told.lines[0]).toContain("error request request-1 failed");
  },
);

test("[H13] an answer that cannot be written as text is an unexpected error", async () => {
  const circle: { [key: string]: never } = {};
  Object.assign(circle, { circle });
  const endpoint: Endpoint = { ...ECHO, answer: () => createAnswer(200, circle) };
  const { status, lines } = await ask("POST", "/api/v4/store/echo", endpoint);
  expect({ status, count: lines.length }).toEqual({ status: 500, count: 1 });
});
