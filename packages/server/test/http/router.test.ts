/**
 * The router: which endpoint a path means, and what becomes of paths, methods and errors that are
 * none of ours.
 */

import { decodeCbor, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { createAnswer } from "../../src/http/answer.ts";
import { Cors } from "../../src/http/cors.ts";
import { Refusal } from "../../src/http/refusal.ts";
import { type Endpoint, messageBody, Router } from "../../src/http/router.ts";
import { ANSWER_SIZE_MAX } from "../../src/limits/limits.ts";
import type { Log } from "../../src/observability/log.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
import { bytesOf, jsonOf } from "../support/sent-content.ts";

/** An endpoint that answers with the place where it was asked. */
const ECHO: Endpoint = {
  name: "echo",
  path: "/store/echo",
  methods: ["POST"],
  failureBody: (message) => ({ wrong: message }),
  answer: (_, { appId, version = "none" }) =>
    createAnswer(200, { appId: appId ?? "of the credential", version }),
};

const PLAIN: Endpoint = {
  name: "plain",
  path: "/plain",
  methods: ["GET", "HEAD"],
  failureBody: messageBody,
  answer: () => createAnswer(200, { plain: true }),
};

interface SentRanges {
  readonly status: number;
  readonly headers: object;
  readonly body: unknown;
  readonly lines: readonly string[];
}

async function ask(method: string, target: string, endpoint: Endpoint = ECHO): Promise<SentRanges> {
  const lines: string[] = [];
  const log: Log = (level, message, { requestId } = {}) =>
    void lines.push(`${level} ${String(requestId)} ${message}`);
  const router = new Router({ endpoints: [PLAIN], dataEndpoints: [endpoint], log });
  const { status, headers, content } = await router.answer(handMadeRequest({ method, target }));
  return { status, headers, body: jsonOf(content), lines };
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
  ["/api/v4/store/echo", "of the credential", "v4"],
  ["/api/v5/store/echo", "of the credential", "v5"],
  ["/6bb92a35-e1bf/api/v4/store/echo", "6bb92a35-e1bf", "v4"],
  ["/6bb92a35-e1bf/api/v5/store/echo", "6bb92a35-e1bf", "v5"],
  ["/api/api/v4/store/echo", "api", "v4"],
  ["/api/v4/store/echo?pretty=1", "of the credential", "v4"],
  ["http://example.com:8080/api/v4/store/echo", "of the credential", "v4"],
])(
  "[H1] %s is the endpoint of the data API, for the app %s, in %s",
  async (target, appId, version) => {
    expect(await ask("POST", target)).toMatchObject({ status: 200, body: { appId, version } });
  },
);

/** An endpoint for every path with one more part, which it answers with, like the query. */
const OPEN: Endpoint = {
  ...ECHO,
  name: "open",
  path: "/open/{part}",
  answer: (_, { parameters, query }) => createAnswer(200, { ...parameters, query }),
};

test("an endpoint gets the decoded path parameter, and the query as it was sent", async () => {
  expect(await ask("POST", "/api/v4/open/a%20b%2Fc?x=%201", OPEN)).toMatchObject({
    status: 200,
    body: { part: "a b/c", query: "x=%201" },
  });
  for (const target of ["/api/v4/open/", "/api/v4/open/a/b", "/api/v4/open/%zz"]) {
    expect(await ask("POST", target, OPEN)).toMatchObject({
      status: 404,
      body: { wrong: `there is nothing at ${target}` },
    });
  }
  expect(await ask("POST", "/api/v4/open", OPEN)).toMatchObject({
    status: 404,
    body: { message: "there is nothing at /api/v4/open" },
  });
});

test("a repeated target has the same meaning, whatever was requested in between", async () => {
  const router = new Router({ endpoints: [PLAIN], dataEndpoints: [ECHO, OPEN], log: () => {} });
  const reported = async (target: string): Promise<unknown> => {
    const { status, content } = await router.answer(handMadeRequest({ target }));
    return { status, body: jsonOf(content) };
  };
  const inBetween = Array.from({ length: 300 }, (_, i) => `/app-${i}/api/v4/store/echo?${i}`);
  for (const round of ["first", "second"]) {
    const plain = { appId: "of the credential", version: "v4" };
    expect(await reported("/api/v4/store/echo"), round).toEqual({ status: 200, body: plain });
    for (const part of ["a", "b"]) {
      const body = { part, query: `${part}=1` };
      expect(await reported(`/api/v4/open/${part}?${part}=1`)).toEqual({ status: 200, body });
    }
    for (const [i, target] of inBetween.entries()) {
      const body = { appId: `app-${i}`, version: "v4" };
      expect(await reported(target)).toEqual({ status: 200, body });
    }
    const nothing = "there is nothing at /api/v4/store/none";
    expect(await reported("/api/v4/store/none")).toEqual({
      status: 404,
      body: { message: nothing },
    });
  }
});

test("a failure has the format of its endpoint, or of the router if there is none, with its refusal", async () => {
  const failureBody = (message: string, { status }: Refusal) => ({ status, reported: message });
  const endpoints = [{ ...PLAIN, failureBody }];
  const router = new Router({ endpoints, dataEndpoints: [], failureBody, log: () => {} });
  const reported = async (method: string, target: string): Promise<unknown> =>
    jsonOf((await router.answer(handMadeRequest({ method, target }))).content);
  expect(await reported("GET", "/nowhere")).toEqual({
    status: 404,
    reported: "there is nothing at /nowhere",
  });
  expect(await reported("PUT", "/plain")).toEqual({
    status: 405,
    reported: "expected GET or HEAD on /plain, found PUT",
  });
});

test("an answer names its endpoint, also when it is a refusal", async () => {
  const router = new Router({ endpoints: [PLAIN], dataEndpoints: [ECHO], log: () => {} });
  const endpointOf = async (method: string, target: string): Promise<Endpoint | undefined> =>
    (await router.answer(handMadeRequest({ method, target }))).endpoint;
  expect(await endpointOf("POST", "/api/v4/store/echo")).toBe(ECHO);
  expect(await endpointOf("GET", "/api/v4/store/echo")).toBe(ECHO);
  expect(await endpointOf("GET", "/plain")).toBe(PLAIN);
  expect(await endpointOf("GET", "/elsewhere")).toBeUndefined();
});

test.each([
  "/",
  "/api/v3/store/echo",
  "/api/v4",
  "/api/v4/store",
  "/a/b/api/v4/store/echo",
  "//api/v4/store/echo",
  "/API/v4/store/echo",
  "/api/v4/plain",
  "/x?/api/v4/store/echo",
])("[H12] %s is 404 with a message", async (target) => {
  const message = `there is nothing at ${target.split("?")[0]}`;
  expect(await ask("POST", target)).toMatchObject({ status: 404, body: { message } });
});

test.each([
  ["/store/echo", "/api/v4/store/echo"],
  ["/api/v4/store/echoes", "/api/v4/store/echo"],
  ["/app/api/v5/stroe/echo", "/app/api/v5/store/echo"],
  ["/plian", "/plain"],
])("[H12] %s is 404 with a suggested path", async (target, meant) => {
  const message = `there is nothing at ${target}; did you mean ${meant}?`;
  expect(await ask("POST", target)).toMatchObject({ status: 404, body: { message } });
});

test("[H12] a trailing slash is 404 in the format of its endpoint, with the path without it", async () => {
  const wrong = "there is nothing at /api/v4/store/echo/; did you mean /api/v4/store/echo?";
  expect(await ask("POST", "/api/v4/store/echo/")).toMatchObject({ status: 404, body: { wrong } });
});

test.each(["/api/v5/store/echo/more", "/app/api/v4/store/echo/x/y"])(
  "[H12] %s is 404 in the format of the endpoint above it",
  async (target) => {
    const wrong = `there is nothing at ${target}`;
    expect(await ask("POST", target)).toMatchObject({ status: 404, body: { wrong } });
  },
);

test("[H12] an unsupported method is 405 in the format of the endpoint, with the supported ones", async () => {
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

test("a long path is quoted only in part", async () => {
  const { body } = await ask("POST", `/${"x".repeat(10_000)}`);
  expect(JSON.stringify(body).length).toBeLessThan(300);
});

test("a refusal becomes its status and headers, and is not logged", async () => {
  const refusal = new Refusal(418, "no coffee here", { "x-pot": "tea" });
  expect(await ask("POST", "/api/v4/store/echo", failing(refusal))).toEqual({
    status: 418,
    headers: {
      "content-type": "application/json",
      vary: "accept, accept-encoding",
      "x-pot": "tea",
    },
    body: { wrong: "no coffee here" },
    lines: [],
  });
});

test.each([
  new TypeError("x is not a function"),
  new PeerError("store.write_failed", "expected to write /srv/secret/data.mdb"),
  "not even an error",
])(
  "[H13] an unexpected error is 500 without its message, which is in the log: %s",
  async (error) => {
    const reported = await ask("POST", "/api/v4/store/echo", failing(error));
    expect(reported).toMatchObject({
      status: 500,
      body: {
        wrong: "an unexpected error of the server; its log has more about request request-1",
      },
    });
    expect(reported.lines).toHaveLength(1);
    const text = error instanceof Error ? error.message : error;
    expect(reported.lines[0]).toContain(text);
    expect(reported.lines[0]).toContain("error request-1 failed to answer a request: ");
  },
);

test("[H13] damaged data is 500 with its code, and the log says what is damaged", async () => {
  const cause = new Error("expected the record that was written, at d:01");
  const error = new PeerError("store.corrupt", "failed to read a stored record", { cause });
  const reported = await ask("POST", "/api/v4/store/echo", failing(error));
  expect(reported).toMatchObject({
    status: 500,
    body: {
      wrong:
        "the server found damaged data on its disk (store.corrupt); " +
        "its log has more about request request-1",
    },
  });
  expect(reported.lines).toEqual([expect.stringContaining("written, at d:01")]);
});

test("[H13] an answer that cannot be serialized is an unexpected error", async () => {
  const circle: { [key: string]: never } = {};
  Object.assign(circle, { circle });
  const endpoint: Endpoint = { ...ECHO, answer: () => createAnswer(200, circle) };
  const { status, lines } = await ask("POST", "/api/v4/store/echo", endpoint);
  expect({ status, count: lines.length }).toEqual({ status: 500, count: 1 });
});

test("[H13] a failure that cannot be serialized is replaced by an unexpected error", async () => {
  const circle: { [key: string]: never } = {};
  Object.assign(circle, { circle });
  const endpoint: Endpoint = {
    ...failing(new Refusal(418, "no coffee here")),
    failureBody: (message, { status }) => (status === 418 ? circle : { wrong: message }),
  };
  const { status, body, lines } = await ask("POST", "/api/v4/store/echo", endpoint);
  const wrong = "an unexpected error of the server; its log has more about request request-1";
  expect({ status, body }).toEqual({ status: 500, body: { wrong } });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("error request-1 failed to answer a request: ");
});

test("answers and refusals are CBOR for a client that prefers it, unless the endpoint is JSON only", async () => {
  const endpoints = [PLAIN, { ...PLAIN, path: "/json", isJsonOnly: true }];
  const router = new Router({ endpoints, dataEndpoints: [], log: () => {} });
  const bytesFrom = async (method: string, target: string): Promise<Uint8Array> => {
    const headers = { accept: "application/cbor" };
    return bytesOf((await router.answer(handMadeRequest({ method, target, headers }))).content);
  };
  expect(decodeCbor(await bytesFrom("GET", "/plain"))).toEqual({ plain: true });
  expect(decodeCbor(await bytesFrom("GET", "/nowhere"))).toEqual({
    message: "there is nothing at /nowhere",
  });
  expect(Buffer.from(await bytesFrom("GET", "/json")).toString()).toBe('{"plain":true}\n');
  expect(Buffer.from(await bytesFrom("PUT", "/json")).toString()).toBe(
    '{"message":"expected GET or HEAD on /json, found PUT"}\n',
  );
});

test("an answer beyond the size limit is 400, in the format of the endpoint", async () => {
  const text = "x".repeat(ANSWER_SIZE_MAX);
  const endpoint: Endpoint = { ...ECHO, answer: () => createAnswer(200, { text }) };
  expect(await ask("POST", "/api/v4/store/echo", endpoint)).toMatchObject({
    status: 400,
    body: {
      wrong: `the answer is larger than ${ANSWER_SIZE_MAX} bytes; ask for fewer rows with LIMIT (query.too_large)`,
    },
  });
});

const PREFLIGHT = { origin: "http://localhost:5173", "access-control-request-method": "POST" };

test("a preflight is answered before the endpoint is called, on existing paths", async () => {
  const cors = new Cors("loopback");
  const endpoint = failing(new Error("asked"));
  const router = new Router({ endpoints: [], dataEndpoints: [endpoint], cors, log: () => {} });
  const send = async (target: string, headers: object): Promise<object> => {
    const request = handMadeRequest({ method: "OPTIONS", target, headers: { ...headers } });
    const { status, headers: sent } = await router.answer(request);
    return { status, origin: sent["access-control-allow-origin"], allow: sent["allow"] };
  };
  const { origin } = PREFLIGHT;
  const target = "/api/v4/store/echo";
  expect(await send(target, PREFLIGHT)).toEqual({ status: 204, origin, allow: undefined });
  expect(await send("/nowhere", PREFLIGHT)).toEqual({ status: 404, origin, allow: undefined });
  // Without the question it is a method like others.
  expect(await send(target, { origin })).toEqual({ status: 405, origin, allow: "POST" });
});

test("without CORS answers have no CORS headers", async () => {
  const router = new Router({ endpoints: [PLAIN], dataEndpoints: [], log: () => {} });
  const request = handMadeRequest({ method: "OPTIONS", target: "/plain", headers: PREFLIGHT });
  expect((await router.answer(request)).headers).toEqual({});
});
