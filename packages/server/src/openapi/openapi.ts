/**
 * OpenAPI document of the data API, for client generators and the docs page. Its schemas are those
 * that check the requests, and its paths those of the operations.
 */

import { type MutableObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";
import { LOGIN_SCHEMAS } from "../auth/login-schemas.ts";
import { type AnyOperation, OPERATIONS } from "../data-api/data-endpoints.ts";
import { DEVICE_SCHEMAS } from "../data-api/device-schemas.ts";
import { SCHEMAS } from "../data-api/schemas.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../limits/limits.ts";
import { ATTACHMENT_PATHS } from "./attachment-paths.ts";
import { CHANGE_PATHS } from "./change-paths.ts";
import { componentSchemas, schemaReference } from "./component-schemas.ts";
import { DEVICE_PATHS } from "./device-paths.ts";
import { EXPORT_PATHS } from "./export-path.ts";
import { loginPaths } from "./login-path.ts";
import { OPERATION_TEXTS, type OperationText } from "./operation-texts.ts";
import { COMMON_HEADERS, CONTENT_HEADERS } from "./response-headers.ts";
import { examplesOf, failureResponses, responseOf, valueContent } from "./responses.ts";

const INTERFACE_VERSION = "4.0.0";

export interface OpenApiOptions {
  /** URL of the server for clients, when it differs from that of the document. */
  readonly serverUrl?: string | undefined;
  /** Version of the program. */
  readonly version: string;
}

export function openApiDocument({ serverUrl = "", version }: OpenApiOptions): ValueObject {
  const paths: MutableObject = {};
  for (const operation of OPERATIONS) {
    setField(paths, operation.path, { post: operationItem(operation) });
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Big Peer data API",
      summary: "Documents of offline-first applications: read, write, query.",
      description: DESCRIPTION,
      // Version of the API, as in its paths; not of the program.
      version: INTERFACE_VERSION,
      "x-server-version": version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: serversAt(serverUrl),
    security: [{ bearer: [] }],
    tags: TAGS,
    paths: {
      ...paths,
      ...CHANGE_PATHS,
      ...EXPORT_PATHS,
      ...DEVICE_PATHS,
      ...ATTACHMENT_PATHS,
      ...loginPaths(serverUrl),
    },
    components: {
      schemas: componentSchemas([...SCHEMAS, ...DEVICE_SCHEMAS, ...LOGIN_SCHEMAS]),
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: CREDENTIAL },
      },
    },
  };
}

const DESCRIPTION =
  "Bodies are JSON or CBOR, by `Content-Type`; answers are JSON unless `Accept` asks for CBOR. " +
  "Integers can have 64 bits.";

const CREDENTIAL =
  "An API key of the app; or a JWT: a session that the login of the app gave, or a token of an " +
  "issuer that the app trusts.";

const TAGS: Value = [
  { name: "store", description: "Documents, in collections." },
  { name: "sync", description: "Connected peers, and statements on them." },
  { name: "attachments", description: "Files that documents refer to." },
  { name: "auth", description: "Sessions for users of an app." },
];

function serversAt(serverUrl: string): Value {
  return [
    { url: `${serverUrl}/api/v4`, description: "The app of the credential." },
    { url: `${serverUrl}/api/v5`, description: "The same; statements are never strict." },
    {
      url: `${serverUrl}/{appId}/api/{version}`,
      description: "The app is named; the credential must be one of it.",
      variables: {
        appId: {
          default: "00000000-0000-0000-0000-000000000000",
          description: "The id of the app.",
        },
        version: { default: "v4", enum: ["v4", "v5"] },
      },
    },
  ];
}

const PARAMETERS: ValueObject = {
  TransactionId: {
    name: "X-SERVICE-TXN-ID",
    in: "header",
    description:
      "The operation proceeds only when the server has reached this transaction. It may wait a " +
      "short time for it. `X-DITTO-TXN-ID` and `X-HYDRA-TXN-ID` mean the same; of several the " +
      "largest counts.",
    schema: { type: "integer", format: "int64" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Names this request. Sent again with the same key it is not done again; it gets the answer " +
      "of the first time.",
    schema: { type: "string", minLength: 1, maxLength: IDEMPOTENCY_KEY_LENGTH_MAX },
  },
};

const HEADERS: ValueObject = {
  ...COMMON_HEADERS,
  IdempotencyReplayed: {
    description: "There when the answer is that of an earlier request with the same key.",
    schema: { type: "string", const: "true" },
  },
  ...CONTENT_HEADERS,
};

function operationItem(operation: AnyOperation): ValueObject {
  const { name, isJsonOnly = false } = operation;
  const text = OPERATION_TEXTS[name] as OperationText;
  const types = isJsonOnly ? ["application/json"] : ["application/json", "application/cbor"];
  const parameters = parametersOf(operation, text);
  const headers = text.isIdempotent
    ? { "Idempotency-Replayed": { $ref: "#/components/headers/IdempotencyReplayed" } }
    : {};
  return {
    operationId: name,
    tags: [text.tag],
    summary: text.summary,
    description: text.description,
    ...(parameters.length > 0 && { parameters }),
    requestBody: {
      required: true,
      content: valueContent({
        types: ["application/json", "application/cbor"],
        schema: schemaReference(text.request),
        examples: examplesOf(text.examples, "request"),
      }),
    },
    responses: {
      200: responseOf(
        "What was asked for.",
        valueContent({
          types,
          schema: schemaReference(text.response),
          examples: examplesOf(text.examples, "response"),
        }),
        headers,
      ),
      ...failureResponses({
        statuses: [400, 401, 408, 413, 415, 429, 500, 503],
        others: text.statuses,
        content: valueContent({ types, schema: schemaReference(text.failure) }),
        example: text.failureExample,
      }),
    },
  };
}

function parametersOf({ unreachedStatus }: AnyOperation, { isIdempotent }: OperationText): Value[] {
  const parameters: Value[] = [];
  if (unreachedStatus !== undefined) {
    parameters.push({ $ref: "#/components/parameters/TransactionId" });
  }
  if (isIdempotent) parameters.push({ $ref: "#/components/parameters/IdempotencyKey" });
  return parameters;
}
