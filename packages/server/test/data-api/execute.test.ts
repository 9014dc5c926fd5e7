/**
 * What execute makes of a request body, of a result, and of what goes wrong.
 */

import { FULL_PERMISSIONS, type StatementResult, StatementRunner } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { PeerError, parseJson, type Value } from "@bigpeer/protocol";
import { beforeAll, expect, test } from "vitest";
import { Authentication } from "../../src/auth/authentication.ts";
import { DataGate } from "../../src/data-api/data-gate.ts";
import { EXECUTE, failedResponse, queryResponse } from "../../src/data-api/execute.ts";
import { type OperatedApp, operationEndpoint, type Result } from "../../src/data-api/operation.ts";
import { checkQueryRequest } from "../../src/data-api/schemas.ts";
import { Router } from "../../src/http/router.ts";
import { ApiKeys } from "../../src/registry/api-keys.ts";
import { DEFAULT_APP_SETTINGS } from "../../src/registry/app.ts";
import { RegistryStore } from "../../src/registry/registry-store.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
import { textOf } from "../support/sent-content.ts";

const APP_ID = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";

const EMPTY: StatementResult = {
  queryType: "select",
  items: [],
  mutatedDocumentIds: [],
  warnings: [],
  totalWarningsCount: 0,
  transactionId: 0,
};

let keys: ApiKeys;
let app: OperatedApp;
let authorization: string;

beforeAll(async () => {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  const statements = new StatementRunner({ store, platform: nodePlatform, appId: APP_ID });
  app = { id: APP_ID, name: "default", store, statements, settings: DEFAULT_APP_SETTINGS };
  keys = new ApiKeys(new RegistryStore(store), nodePlatform);
  const text = keys.draw();
  await keys.add(text, { appId: APP_ID, permissions: FULL_PERMISSIONS });
  authorization = `Bearer ${text}`;
});

/** Status, headers and text of what execute answers when a statement ends as `run` says. */
async function ask(run: () => Result | Promise<Result>, body: string) {
  const use = { app, release: () => {} };
  const apps = { tryUse: () => use, use: async () => use };
  const known = { id: APP_ID, authProviders: {}, sessionKeys: [] };
  const registry = { keys, apps: { get: () => known } };
  const auth = new Authentication({ platform: nodePlatform, log: () => {}, webhookTimeoutMs: 1 });
  const gate = new DataGate({ source: () => ({ registry, apps }), auth });
  const remote = { run: () => Promise.reject(new Error("nobody is asked")) };
  const host = { gate, transactionWaitMs: 0, publicUrl: undefined, remote };
  const dataEndpoints = [operationEndpoint(host, { ...EXECUTE, run })];
  const router = new Router({ endpoints: [], dataEndpoints, log: () => {} });
  const headers = { authorization, "content-type": "application/json" };
  const target = "/api/v4/store/execute";
  const answer = await router.answer(handMadeRequest({ target, headers, body }));
  return { ...answer, text: textOf(answer.content) };
}

test.each<[string, Value, string]>([
  ["no object", [], "expected an object, found an array at the body"],
  ["null", null, "expected an object, found null at the body"],
  ["binary", new Uint8Array(1), "expected an object, found binary at the body"],
  ["no statement", {}, "missing required field: expected text at statement"],
  ["a number as statement", { statement: 1 }, "expected text, found the number 1 at statement"],
  ["an object as statement", { statement: {} }, "expected text, found an object at statement"],
  [
    "half a character",
    { statement: "\ud800" },
    "expected well-formed text, found a lone surrogate at statement",
  ],
  [
    "no value inside the arguments",
    { statement: "", args: { a: [{ b: "\udc00" }] } },
    "expected well-formed text, found a lone surrogate at args.a[0].b",
  ],
])("[H6] a body with %s is refused with the place", (_, body, message) => {
  expect(() => checkQueryRequest(body)).toThrow(
    expect.objectContaining({ code: "value.invalid", message }),
  );
});

test("[H6] fields inside a field named __proto__ are not fields of the body", () => {
  const body = parseJson('{"__proto__":{"statement":"SELECT 1"}}');
  expect(() => checkQueryRequest(body)).toThrow(
    "missing required field: expected text at statement",
  );
});

test("[H6] arguments that are nested too deeply are refused without recursion", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const { status, text } = await ask(
    () => ({ body: queryResponse(EMPTY) }),
    `{"statement":"","args":{"a":${deep}}}`,
  );
  expect(status).toBe(400);
  expect(text).toContain("expected at most 64 levels of nesting");
});

test("[H7] a success has every field of the interface and an empty error", () => {
  const result: StatementResult = {
    queryType: "mutation",
    items: [{ _id: "a" }],
    mutatedDocumentIds: ["a", { b: 1 }],
    warnings: [{ description: "one", _id: "a" }, { description: "two" }],
    totalWarningsCount: 12,
    transactionId: 7,
  };
  expect(queryResponse(result)).toEqual({ ...result, error: {} });
});

test("[H8] a failure has the same fields, empty, without a transaction", () => {
  expect(failedResponse("a sentence")).toEqual({
    queryType: "unknown",
    items: [],
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
    error: { description: "a sentence" },
  });
});

test("[H11] 64-bit numbers, binary, NaN and unusual names are written without loss", async () => {
  const odd = JSON.parse('{"__proto__":1}') as Value;
  const items = [
    2n ** 64n - 1n,
    -(2n ** 63n),
    new Uint8Array([251, 255]),
    Number.NaN,
    -0,
    1.5,
    odd,
  ];
  const { text } = await ask(
    () => ({ body: queryResponse({ ...EMPTY, items }) }),
    '{"statement":""}',
  );
  expect(text).toContain(
    '"items":[18446744073709551615,-9223372036854775808,"+/8=",null,-0,1.5,{"__proto__":1}]',
  );
});

const IS_CODED = /^(it|the server .*) \([a-z_.]+\)$/;
const IS_HIDDEN = /^an unexpected error of the server; its log has more about request request-1$/;
const IS_DAMAGE =
  /^the server found .* \(store\.corrupt\); its log has more about request request-1$/;

test.each<[ConstructorParameters<typeof PeerError>[0], number, string | undefined]>([
  ["query.syntax", 400, undefined],
  ["query.semantic", 400, undefined],
  ["query.evaluation", 400, undefined],
  ["query.arguments", 400, undefined],
  ["query.parameter", 400, undefined],
  ["query.store", 400, undefined],
  ["query.too_large", 400, undefined],
  ["query.timeout", 408, undefined],
  ["store.busy", 503, "1"],
  ["store.closed", 503, "1"],
  ["store.full", 503, "30"],
  ["store.write_failed", 500, undefined],
  ["store.corrupt", 500, undefined],
])("[H8] a statement that ends with %s is %s, as a QueryResponse", async (code, status, retry) => {
  const answer = await ask(() => Promise.reject(new PeerError(code, "it")), '{"statement":""}');
  expect(answer.status).toBe(status);
  const hidden = code === "store.corrupt" ? IS_DAMAGE : IS_HIDDEN;
  const description = status === 500 ? hidden : IS_CODED;
  expect(answer.headers["retry-after"]).toBe(retry);
  const { error, ...rest } = JSON.parse(answer.text);
  expect(rest).toEqual({
    queryType: "unknown",
    items: [],
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
  });
  expect(error).toEqual({ description: expect.stringMatching(description) });
});
