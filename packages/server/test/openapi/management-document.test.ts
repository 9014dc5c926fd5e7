/**
 * The OpenAPI document of the management API: that it is one, that it is about this server, and that
 * its examples are what it says they are. The management listener serves it, with a page.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { checkFindByIdRequest, checkRemoteExecuteRequest } from "../../src/data-api/schemas.ts";
import { ANSWER_SCHEMAS } from "../../src/management/answer-schemas.ts";
import { CONSOLE_DATA } from "../../src/management/console-data.ts";
import { RESOURCES } from "../../src/management/management-server.ts";
import {
  checkAppChange,
  checkConsoleQuery,
  checkKeyChange,
  checkNewApp,
  checkNewKey,
  checkNewProvider,
  checkNewReplication,
  checkNewSink,
  checkNewWebhook,
  checkPermissionTrial,
  checkProviderChange,
  checkProviderTest,
  checkReplicationChange,
  checkReplicationSecret,
  checkResume,
  checkRotation,
  checkSettings,
  checkSettingsChange,
  checkSignIn,
  checkSinkChange,
  checkWebhookChange,
  REQUEST_SCHEMAS,
} from "../../src/management/schemas.ts";
import { managementDocument } from "../../src/openapi/management-document.ts";
import type { Check } from "../../src/validation/schema.ts";
import { managementAnswerFaults } from "../support/answer-schema.ts";
import { SchemaChecker } from "../support/json-schema.ts";
import { openManagement } from "../support/management-api.ts";
import { fieldsIn, OpenApiDocument, objectsIn } from "../support/openapi-document.ts";

const document = managementDocument({ version: "1.2.3" });
const reader = new OpenApiDocument(document);
const { operations, objects, examples } = reader;
const TOKEN = "a-token-of-the-administrator";

describe("the document is valid OpenAPI", () => {
  test("every reference resolves, and every component is used", () => {
    expect(document["openapi"]).toBe("3.1.0");
    expect(reader.danglingReferences()).toEqual([]);
    expect(reader.unusedComponents(["schemas", "headers"])).toEqual([]);
    const extended = objects.filter(
      ([, object]) => Object.hasOwn(object, "$ref") && Object.keys(object).length > 1,
    );
    expect(extended).toEqual([]);
  });

  test("each schema is valid for a validator in strict mode", () => {
    const checker = new SchemaChecker(document, { isClosed: false });
    expect(() => {
      for (const schema of reader.schemas()) checker.faults(schema, null);
    }).not.toThrow();
  });

  test.each(operations)("$name has a name, a summary, a tag and answers", ({ operation }) => {
    const tags = (document["tags"] as ValueObject[]).map(({ name }) => name);
    expect(operation).toEqual(
      expect.objectContaining({
        operationId: expect.stringMatching(/^[a-z_]+$/),
        summary: expect.stringMatching(/./),
        tags: [expect.toBeOneOf(tags)],
      }),
    );
    const responses = Object.entries(operation["responses"] as ValueObject);
    expect(responses.map(([status]) => status)).toEqual(
      expect.arrayContaining(["200", "400", "401", "403", "404", "429", "500", "503"]),
    );
    for (const [status, response] of responses) {
      const { description, headers } = response as ValueObject;
      expect(description, status).toMatch(/\.$/);
      expect(fieldsIn(headers), status).toContain("X-Request-Id");
    }
  });

  test.each(operations)("$name names the parameters of its path", ({ path, operation }) => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = (operation["parameters"] ?? []) as ValueObject[];
    const required = parameters.filter((parameter) => parameter["in"] === "path");
    expect(required.map(({ name }) => name)).toEqual(inPath);
    expect(required.every(({ description }) => description !== "")).toBe(true);
  });

  test("names of operations and titles of schemas are unique", () => {
    const names = operations.map(({ operation }) => operation["operationId"]);
    expect(new Set(names).size).toBe(names.length);
    const texts = new Map<string, Set<string>>();
    const all = [...REQUEST_SCHEMAS, ...ANSWER_SCHEMAS];
    for (const [, schema] of objectsIn(all as unknown as Value)) {
      const { title } = schema;
      if (typeof title !== "string") continue;
      texts.set(title, (texts.get(title) ?? new Set()).add(JSON.stringify(schema)));
    }
    expect([...texts].filter(([, { size }]) => size > 1)).toEqual([]);
    expect(new Set(texts.keys())).toEqual(new Set(reader.fieldsOf("#/components/schemas")));
  });
});

describe("the document describes this server", () => {
  test("its operations are the methods of all resources", () => {
    const served = RESOURCES.flatMap(({ path, methods }) =>
      Object.keys(methods).map((method) => `${method.toLowerCase()} ${path}`),
    );
    const onData = CONSOLE_DATA.map(({ path, method }) => {
      return `${method.toLowerCase()} /app/{app}${path}`;
    });
    const names = operations.map(({ name }) => name);
    expect(names.toSorted()).toEqual(["get /metrics", ...served, ...onData].toSorted());
  });

  test("it is the same for every server: it does not have the configured names", async () => {
    const api = await openManagement({ namespace: "harbours", name: "lighthouse" });
    const text = await (await fetch(`${api.server.url}/openapi.json`)).text();
    expect(text).not.toMatch(/harbours|lighthouse/);
    expect(document["servers"]).toEqual([
      expect.objectContaining({ url: "/namespace/{namespace}/bigPeer/{bigPeer}" }),
    ]);
  });

  test("[M39] the listener serves the document and a page without a credential", async () => {
    const { server } = await openManagement({ adminToken: TOKEN });
    const response = await fetch(`${server.url}/openapi.json`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(managementDocument({ version: "0.0.0" }));
    const page = await fetch(`${server.url}/docs/api`);
    // Without a build the files of the page are not there.
    expect([200, 503]).toContain(page.status);
    if (page.status === 200) expect(await page.text()).toContain("Big Peer management API");
    const refused = await fetch(`${server.url}/openapi.json`, { method: "POST" });
    expect([refused.status, await refused.json()]).toEqual([
      405,
      { title: "MethodNotAllowed", detail: expect.stringContaining("GET or HEAD") },
    ]);
    const unknown = await fetch(`${server.url}/docs/api/secret/file`);
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      expect.objectContaining({ title: "NotFound" }),
    ]);
  });
});

describe("examples", () => {
  test("every operation has examples, in its request and its answers", () => {
    for (const { at: place, name } of operations) {
      const parts = ["requestBody", "responses/200", "responses/400"].filter((part) => {
        const media = fieldsIn(reader.at(`${place}/${part}/content`));
        // An example is text, so contents of attachments have none.
        return media.some((type) => type === "application/json" || type.endsWith("ndjson"));
      });
      const isShown = (part: string): boolean =>
        examples.some(({ path }) => path.startsWith(`${place}/${part}/`));
      expect(
        parts.filter((part) => !isShown(part)),
        name,
      ).toEqual([]);
    }
  });

  const checker = new SchemaChecker(document, { isClosed: true });
  test.each(examples)("$path is valid", ({ schema, value }) => {
    expect(checker.faults(schema, value)).toEqual([]);
  });

  const CHECKS: { readonly [title: string]: Check<unknown> } = {
    NewApp: checkNewApp,
    AppChange: checkAppChange,
    NewApiKey: checkNewKey,
    ApiKeyChange: checkKeyChange,
    ApiKeyRotation: checkRotation,
    NewReplication: checkNewReplication,
    ReplicationChange: checkReplicationChange,
    ReplicationSecret: checkReplicationSecret,
    NewProvider: checkNewProvider,
    ProviderChange: checkProviderChange,
    Settings: checkSettings,
    SettingsChange: checkSettingsChange,
    NewWebhook: checkNewWebhook,
    WebhookChange: checkWebhookChange,
    NewSink: checkNewSink,
    SinkChange: checkSinkChange,
    Resume: checkResume,
    SignIn: checkSignIn,
    ConsoleQueryRequest: checkConsoleQuery,
    PermissionTrial: checkPermissionTrial,
    ProviderTest: checkProviderTest,
    FindByIdRequest: checkFindByIdRequest,
    RemoteExecuteRequest: checkRemoteExecuteRequest,
  };

  test("the requests pass the validation of the server", () => {
    const requests = examples.filter(({ path }) => path.includes("/requestBody/"));
    expect(requests.length).toBeGreaterThan(12);
    for (const { path, schema, value } of requests) {
      const title = (schema["$ref"] as string).split("/").at(-1) ?? "";
      expect(CHECKS[title]?.(value), path).toEqual(value);
    }
  });
});

test("an answer with another field, a status or a header that is not documented is found", () => {
  const headers = new Headers({ "content-type": "application/json", "x-request-id": "r1" });
  const operation = "get_settings";
  const body = { strictV4: true, unknownCollectionsAreEmpty: false };
  expect(managementAnswerFaults({ operation, status: 200, headers, body })).toEqual([]);
  const more = { ...body, other: 1 };
  expect(managementAnswerFaults({ operation, status: 200, headers, body: more })).toHaveLength(1);
  expect(managementAnswerFaults({ operation, status: 202, headers, body })).toEqual([
    "202 is not documented",
  ]);
  const problem = { title: "Other", detail: "x" };
  expect(managementAnswerFaults({ operation, status: 404, headers, body: problem })).toHaveLength(
    1,
  );
});
