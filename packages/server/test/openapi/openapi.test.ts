/**
 * The OpenAPI document: that it is one, that it is about this server, and that its examples are
 * what it says they are.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { loginEndpoint } from "../../src/auth/login.ts";
import { LOGIN_SCHEMAS } from "../../src/auth/login-schemas.ts";
import { ChangeStreams } from "../../src/data-api/change-streams.ts";
import { dataEndpoints } from "../../src/data-api/data-endpoints.ts";
import { deviceEndpoints } from "../../src/data-api/device-endpoints.ts";
import { DEVICE_SCHEMAS } from "../../src/data-api/device-schemas.ts";
import { exportEndpoint } from "../../src/data-api/export.ts";
import {
  checkCountRequest,
  checkFindByIdRequest,
  checkFindRequest,
  checkQueryRequest,
  checkRemoteExecuteRequest,
  checkWriteRequest,
  SCHEMAS,
} from "../../src/data-api/schemas.ts";
import { ChangeStreamTotals } from "../../src/limits/change-stream-totals.ts";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { OPERATION_TEXTS } from "../../src/openapi/operation-texts.ts";
import { SchemaChecker } from "../support/json-schema.ts";
import { fieldsIn, OpenApiDocument, objectsIn } from "../support/openapi-document.ts";

const document = openApiDocument({ version: "1.2.3" });

const reader = new OpenApiDocument(document);
const { objects, operations, examples: media } = reader;
const at = reader.at.bind(reader);
const objectAt = reader.objectAt.bind(reader);
const fieldsOf = reader.fieldsOf.bind(reader);

describe("the document is valid OpenAPI", () => {
  test("it has the versions of the format, of the interface and of the program", () => {
    expect(document["openapi"]).toBe("3.1.0");
    expect(document["info"]).toEqual(
      expect.objectContaining({ version: "4.0.0", "x-server-version": "1.2.3" }),
    );
    const known = ["openapi", "info", "servers", "security", "tags", "paths", "components"];
    expect(Object.keys(document)).toEqual(known);
  });

  test("every reference resolves", () => {
    const references = objects.flatMap(([, { $ref }]) => (typeof $ref === "string" ? [$ref] : []));
    expect(references.length).toBeGreaterThan(50);
    expect(reader.danglingReferences()).toEqual([]);
  });

  test("a reference has no other keys", () => {
    const extended = objects.filter(
      ([, object]) => Object.hasOwn(object, "$ref") && Object.keys(object).length > 1,
    );
    expect(extended).toEqual([]);
  });

  test("every component is used", () => {
    expect(reader.unusedComponents(["schemas", "parameters", "headers"])).toEqual([]);
    expect(fieldsOf("#/components/securitySchemes")).toEqual(["bearer"]);
    expect(document["security"]).toEqual([{ bearer: [] }]);
  });

  test.each(operations)("$name has a name, a description, a tag and answers", ({ operation }) => {
    const tags = (document["tags"] as ValueObject[]).map(({ name }) => name);
    expect(operation).toEqual(
      expect.objectContaining({
        operationId: expect.stringMatching(/^[a-z_]+$/),
        summary: expect.stringMatching(/./),
        tags: [expect.toBeOneOf(tags)],
      }),
    );
    const responses = Object.entries(operation["responses"] as ValueObject);
    expect(responses.length).toBeGreaterThan(3);
    for (const [status, response] of responses) {
      expect(status).toMatch(/^[2-5]\d\d$/);
      const { description, headers } = response as ValueObject;
      expect(description, status).toMatch(/\.$/);
      expect(fieldsIn(headers), status).toContain("X-Request-Id");
    }
  });

  test("operation names are unique", () => {
    const names = operations.map(({ operation }) => operation["operationId"]);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(operations)("$name names the parameters of its path", ({ path, operation }) => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = (operation["parameters"] ?? []) as ValueObject[];
    const required = parameters.filter((parameter) => parameter["in"] === "path");
    expect(required.map(({ name }) => name)).toEqual(inPath);
    expect(required.every((parameter) => parameter["required"] === true)).toBe(true);
  });

  test("servers have a value for each variable in their address", () => {
    for (const { url, variables = {} } of document["servers"] as ValueObject[]) {
      const names = [...(url as string).matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(fieldsIn(variables)).toEqual(names);
    }
  });
});

describe("schemas", () => {
  test("each is valid for a validator in strict mode", () => {
    const checker = new SchemaChecker(document, { isClosed: false });
    expect(() => {
      for (const schema of reader.schemas()) checker.faults(schema, null);
    }).not.toThrow();
  });

  test("titles of schemas are unique", () => {
    const texts = new Map<string, Set<string>>();
    const all = [...SCHEMAS, ...DEVICE_SCHEMAS, ...LOGIN_SCHEMAS];
    for (const [, schema] of objectsIn(all as unknown as Value)) {
      const { title } = schema;
      if (typeof title !== "string") continue;
      texts.set(title, (texts.get(title) ?? new Set()).add(JSON.stringify(schema)));
    }
    expect([...texts].filter(([, { size }]) => size > 1)).toEqual([]);
    expect(new Set(texts.keys())).toEqual(new Set(fieldsOf("#/components/schemas")));
  });

  test("a nested schema is a reference, also where null is allowed", () => {
    expect(at("#/components/schemas/FindRequest/properties/sort")).toEqual({
      anyOf: [
        { type: "array", items: { $ref: "#/components/schemas/Sort" }, maxItems: 64 },
        { type: "null" },
      ],
    });
    expect(at("#/components/schemas/FindRequest/properties/serializedAs")).toEqual({
      anyOf: [{ $ref: "#/components/schemas/SerializedAs" }, { type: "null" }],
    });
    expect(at("#/components/schemas/UpsertWriteCommand/properties/valueTypeOverrides")).toEqual({
      anyOf: [
        {
          type: "object",
          additionalProperties: { $ref: "#/components/schemas/TypeOverride" },
          maxProperties: 5000,
        },
        { type: "null" },
      ],
    });
    expect(at("#/components/schemas/SerializedAs")).toEqual({
      title: "SerializedAs",
      type: "string",
      enum: ["latestValues", "latestValuesAndTypes"],
      default: "latestValues",
    });
  });

  test.each(["WriteCommand", "WriteCommandResult"])(
    "the method of a %s is its discriminator",
    (name) => {
      const referenceTo = (method: string): string =>
        `#/components/schemas/${method}${name === "WriteCommand" ? "WriteCommand" : name}`;
      const mapping = {
        update: referenceTo("Update"),
        upsert: referenceTo("Upsert"),
        remove: referenceTo("Remove"),
      };
      expect(at(`#/components/schemas/${name}`)).toEqual({
        title: name,
        anyOf: Object.values(mapping).map(($ref) => ({ $ref })),
        discriminator: { propertyName: "method", mapping },
      });
    },
  );
});

describe("the document describes this server", () => {
  test("its operations are those of the data API, the export, the devices, the attachments, and the login", () => {
    const gate = undefined as never;
    const remote = undefined as never;
    const host = { gate, transactionWaitMs: 0, publicUrl: undefined, remote };
    const endpoints = [
      ...dataEndpoints(host),
      ...new ChangeStreams({
        gate,
        transactionWaitMs: 0,
        elapsed: () => 0,
        totals: new ChangeStreamTotals(),
        onRefused: () => undefined,
        onFault: () => undefined,
      }).endpoints,
      exportEndpoint({ gate, folder: "" }),
      ...deviceEndpoints({ gate, syncOf: () => undefined }),
    ];
    const served = endpoints.flatMap(({ name, path, methods }) =>
      methods.map((method) => `${method.toLowerCase()} ${path} ${name}`),
    );
    const documented = operations.map(
      ({ name, operation }) => `${name} ${operation["operationId"] as string}`,
    );
    const isAttachment = (line: string): boolean => line.includes("/attachments/");
    const login = loginEndpoint({ registry: () => undefined, auth: undefined as never });
    expect(documented.filter((line) => !isAttachment(line))).toEqual([
      ...served.filter((line) => !isAttachment(line)),
      `post ${login.path} ${login.name}`,
    ]);
    expect(documented.filter(isAttachment)).toEqual([
      "post /attachments/upload upload_attachment",
      "post /attachments/{id}/upload begin_upload",
      "patch /attachments/{id}/upload continue_upload",
      "get /attachments/{id} download_attachment",
      "head /attachments/{id} head_attachment",
    ]);
  });

  const rpc = ["200", "400", "401", "408", "413", "415", "429", "500", "503"];
  const head = ["200", "304", "401", "404", "429", "500", "503"];
  test.each([
    ["count", rpc],
    ["find", rpc],
    ["findbyid", rpc],
    ["remote_execute", rpc],
    ["write", [...rpc, "403", "422"]],
    ["execute", [...rpc, "404", "422"]],
    ["upload_attachment", rpc],
    ["begin_upload", [...rpc, "422"]],
    ["continue_upload", [...rpc, "409", "422"]],
    ["download_attachment", [...head, "206", "416"]],
    ["head_attachment", head],
    ["login", [...rpc, "411"]],
  ])("%s has the statuses of the interface and of HTTP", (name, statuses) => {
    const found = operations.find(({ operation }) => operation["operationId"] === name);
    expect(fieldsIn(found?.operation["responses"]).toSorted()).toEqual(statuses.toSorted());
  });

  /** Of those that answer in JSON alone. */
  const OWN_FAILURES: { readonly [name: string]: string } = {
    "post /store/execute": "QueryResponse",
    "post /{appId}/auth/login": "LoginError",
  };

  test("the login needs no credential, and is at the root of the server", () => {
    const { security, servers } = objectAt("#/paths/~1{appId}~1auth~1login/post");
    expect(security).toEqual([]);
    const description = "The app is in the path.";
    expect(servers).toEqual([{ url: "/", description }]);
    const serverUrl = "https://example.com/peer";
    const elsewhere = openApiDocument({ version: "1.2.3", serverUrl });
    expect(JSON.stringify(elsewhere)).toContain(
      JSON.stringify({ servers: [{ url: serverUrl, description }] }).slice(1, -1),
    );
  });

  test.each(operations)("$name has its own error body", ({ name, operation }) => {
    const own = OWN_FAILURES[name];
    for (const [status, response] of Object.entries(operation["responses"] as ValueObject)) {
      if (Number(status) < 400 || name.startsWith("head")) continue;
      const { content } = response as { readonly content: Record<string, ValueObject> };
      const types =
        own === undefined ? ["application/json", "application/cbor"] : ["application/json"];
      expect(Object.keys(content), status).toEqual(types);
      const general = status === "409" ? "WrongUploadOffset" : "RpcError";
      const $ref = `#/components/schemas/${own ?? general}`;
      for (const type of types) expect(content[type]?.["schema"], status).toEqual({ $ref });
    }
  });

  test("the transaction header is on all operations except remote_execute", () => {
    const parameter = { $ref: "#/components/parameters/TransactionId" };
    const names = operations
      .filter(({ operation }) => JSON.stringify(operation).includes(JSON.stringify(parameter)))
      .map(({ operation }) => operation["operationId"]);
    expect(names).toEqual(["execute", "count", "find", "findbyid", "write"]);
    expect(at("#/components/parameters/TransactionId/name")).toBe("X-SERVICE-TXN-ID");
    const description = at("#/components/parameters/TransactionId/description");
    expect(description).toContain("`X-DITTO-TXN-ID` and `X-HYDRA-TXN-ID`");
  });

  test("the idempotency key is on write and execute", () => {
    const names = operations
      .filter(({ operation }) => JSON.stringify(operation).includes("/IdempotencyKey"))
      .map(({ operation }) => operation["operationId"]);
    expect(names).toEqual(["execute", "write"]);
  });

  test("servers are at the address of the document, or at the public address", () => {
    const urls = (value: ValueObject): unknown[] =>
      (value["servers"] as ValueObject[]).map(({ url }) => url);
    const forms = ["/api/v4", "/api/v5", "/{appId}/api/{version}"];
    expect(urls(document)).toEqual(forms);
    const serverUrl = "https://example.com/peer";
    const elsewhere = openApiDocument({ version: "1.2.3", serverUrl });
    expect(urls(elsewhere)).toEqual(forms.map((form) => serverUrl + form));
  });
});

describe("examples", () => {
  test("every operation has examples, in its request and its answers", () => {
    for (const { at: place, name, operation } of operations.filter(
      ({ path }) => !path.startsWith("/attachments/"),
    )) {
      const request = operation["requestBody"] === undefined ? [] : ["requestBody"];
      const parts = [...request, "responses/200", "responses/400"];
      const isShown = (part: string): boolean =>
        media.some(({ path }) => path.startsWith(`${place}/${part}/`));
      const missing = parts.filter((part) => !isShown(part));
      expect(missing, name).toEqual([]);
    }
  });

  const checker = new SchemaChecker(document, { isClosed: true });
  test.each(media)("$path is valid", ({ schema, value }) => {
    expect(checker.faults(schema, value)).toEqual([]);
  });

  test.each([
    ["execute", checkQueryRequest],
    ["count", checkCountRequest],
    ["find", checkFindRequest],
    ["findbyid", checkFindByIdRequest],
    ["write", checkWriteRequest],
    ["remote_execute", checkRemoteExecuteRequest],
  ])("the requests of %s pass the validation of the server", (name, check) => {
    const requests = OPERATION_TEXTS[name]?.examples.map(({ request }) => request) ?? [];
    expect(requests.length).toBeGreaterThan(0);
    for (const request of requests) expect(check(request)).toEqual(request);
  });
});
