/**
 * OpenAPI document of the management API. Its schemas are those that check the requests, and its
 * paths those of the resources.
 *
 * Everyone may read it, so it does not have the configured names of this Big Peer (M5).
 */

import {
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { ANSWER_SCHEMAS } from "../management/answer-schemas.ts";
import { PAGE_SIZE_MAX } from "../management/page.ts";
import { REQUEST_SCHEMAS } from "../management/schemas.ts";
import { CONTENT_TYPE } from "../observability/exposition.ts";
import { componentSchemas, schemaReference } from "./component-schemas.ts";
import { APP_TEXTS } from "./management-app-texts.ts";
import { CONSOLE_TEXTS } from "./management-console-texts.ts";
import { managementDataPaths } from "./management-data-paths.ts";
import { DELIVERY_TEXTS } from "./management-delivery-texts.ts";
import { OPERATIONS_TEXTS } from "./management-operation-texts.ts";
import { SERVER_TEXTS } from "./management-server-texts.ts";
import type { ManagementText } from "./management-text.ts";
import { COMMON_HEADERS, CONTENT_HEADERS } from "./response-headers.ts";
import { failureResponses, responseOf, valueContent } from "./responses.ts";

export interface ManagementDocumentOptions {
  /** Version of the program. */
  readonly version: string;
}

/** The paths have no version, so this one counts the changes of the document. */
const INTERFACE_VERSION = "1.0.0";

const JSON_TYPES = ["application/json"];

export function managementDocument({ version }: ManagementDocumentOptions): ValueObject {
  return {
    openapi: "3.1.0",
    info: {
      title: "Big Peer management API",
      summary:
        "Apps, API keys, auth providers, replications, webhooks, sinks and settings of a Big Peer.",
      description: DESCRIPTION,
      version: INTERFACE_VERSION,
      "x-server-version": version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: SERVERS,
    security: [{ adminToken: [] }, {}],
    tags: TAGS,
    paths: {
      ...pathsOf(ALL_TEXTS),
      "/metrics": { get: METRICS },
      ...managementDataPaths(pathParameter("app")),
    },
    components: {
      schemas: componentSchemas([...REQUEST_SCHEMAS, ...ANSWER_SCHEMAS]),
      headers: { ...COMMON_HEADERS, ...CONTENT_HEADERS },
      securitySchemes: {
        adminToken: { type: "http", scheme: "bearer", description: CREDENTIAL },
      },
    },
  };
}

const ALL_TEXTS: readonly ManagementText[] = [
  ...APP_TEXTS,
  ...SERVER_TEXTS,
  ...DELIVERY_TEXTS,
  ...CONSOLE_TEXTS,
  ...OPERATIONS_TEXTS,
];

const DESCRIPTION =
  "Bodies and answers are JSON. A failure has a `title` for programs and a `detail` for people, " +
  "and has changed nothing.";

const CREDENTIAL =
  "The admin token of the server. A server without one answers callers on the same machine only.";

const SERVERS: Value = [
  {
    url: "/namespace/{namespace}/bigPeer/{bigPeer}",
    description: "The Big Peer, by the settings `namespace` and `name`.",
    variables: {
      namespace: { default: "default", description: "The setting `namespace`." },
      bigPeer: { default: "big-peer", description: "The setting `name`." },
    },
  },
];

/** Of paths without a Big Peer. */
const OUTSIDE: Value = [{ url: "/", description: "The listener itself." }];

const TAGS: Value = [
  { name: "apps", description: "Apps, also deleted ones." },
  { name: "apiKeys", description: "API keys of an app." },
  { name: "settings", description: "Settings and sessions of an app." },
  { name: "providers", description: "Where the users of an app come from." },
  { name: "replications", description: "Links of an app to other Big Peers." },
  { name: "webhooks", description: "HTTP endpoints that get the changes of an app." },
  { name: "sinks", description: "Streams of NATS JetStream that get the changes of an app." },
  { name: "server", description: "Audit logs and the cluster." },
  { name: "console", description: "Browsers that are signed in to the console." },
  {
    name: "data",
    description:
      "The data of an app, as the console shows it. Always needs a session of the console or the " +
      "admin token.",
  },
];

const PARAMETERS: { readonly [name: string]: string } = {
  app: "The name of the app.",
  app_id: "The id of the deleted app.",
  key: "The name of the API key.",
  provider: "The name of the auth provider.",
  replication: "The name of the replication.",
  webhook: "The name of the webhook.",
  sink: "The name of the sink.",
  letter: "The id of the dead letter.",
  session: "The id of the session.",
  backup: "The name of the backup.",
};

function pathsOf(texts: readonly ManagementText[]): ValueObject {
  const paths: MutableObject = {};
  for (const text of texts) {
    const others = paths[text.path];
    const item = { [text.method.toLowerCase()]: operationOf(text) };
    setField(paths, text.path, isObject(others) ? { ...others, ...item } : item);
  }
  return paths;
}

function operationOf(text: ManagementText): ValueObject {
  const { operationId, tag, summary, description, request, response, example, isOutside } = text;
  const parameters = parametersOf(text);
  const examples = exampleNamed(summary, example);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(isOutside === true && { servers: OUTSIDE }),
    ...(parameters.length > 0 && { parameters }),
    ...(request !== undefined && { requestBody: bodyOf(text, request) }),
    responses: {
      200: responseOf(
        "What was asked for.",
        valueContent({ types: JSON_TYPES, schema: schemaReference(response), examples }),
      ),
      ...failuresOf(text),
    },
  };
}

function bodyOf({ summary, requestExample, isBodyOptional }: ManagementText, title: string): Value {
  const examples = exampleNamed(summary, requestExample ?? null);
  const content = valueContent({ types: JSON_TYPES, schema: schemaReference(title), examples });
  return { required: isBodyOptional !== true, content };
}

function failuresOf({ request, conflict }: ManagementText): ValueObject {
  const ofBody = request === undefined ? [] : [408, 413, 415];
  return problemResponses([404, 429, 500, 503, ...ofBody], conflict);
}

function problemResponses(statuses: readonly number[], conflict?: string): ValueObject {
  return failureResponses({
    statuses,
    others: {
      400: "The request is invalid. The detail says what was expected, and where.",
      401: "The admin token is missing or wrong.",
      403: "A web page or another machine seems to call.",
      ...(conflict !== undefined && { 409: conflict }),
    },
    content: valueContent({ types: JSON_TYPES, schema: schemaReference("Problem") }),
    example: {
      title: "InvalidRequest",
      detail: "expected no other fields than name, appId, authProviders at colour",
    },
  });
}

/** As `/metrics` of the data port. */
const METRICS: ValueObject = {
  operationId: "get_metrics",
  tags: ["server"],
  summary: "Read the metrics for Prometheus",
  responses: {
    200: responseOf("The metrics as text.", {
      [CONTENT_TYPE]: { schema: { type: "string" } },
    }),
    ...problemResponses([404, 429, 500, 503]),
  },
};

function parametersOf({ path, query = [], isList }: ManagementText): Value[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => pathParameter(name));
  if (isList !== true) {
    return [...inPath, ...query.map((one) => ({ ...one, in: "query", required: false }))];
  }
  const page = { type: "integer", minimum: 1 };
  return [
    ...inPath,
    { name: "page", in: "query", description: "From 1.", schema: page },
    {
      name: "size",
      in: "query",
      description: "Entries of a page. By default a list is one page, if `page` is absent too.",
      schema: { ...page, maximum: PAGE_SIZE_MAX },
    },
  ];
}

function pathParameter(name: string): Value {
  const description = PARAMETERS[name] ?? "";
  return { name, in: "path", required: true, description, schema: { type: "string" } };
}

function exampleNamed(summary: string, value: Value): ValueObject {
  return { example: { summary, value } };
}
