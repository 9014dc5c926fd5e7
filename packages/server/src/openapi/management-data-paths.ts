/**
 * Management data paths: the operations on the data of an app in the OpenAPI document of the
 * management API. Their texts are those of the data API.
 */

import {
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { failedResponse } from "../data-api/execute.ts";
import { CONSOLE_DATA } from "../management/console-data.ts";
import { ATTACHMENT_PATHS } from "./attachment-paths.ts";
import { CHANGE_PATHS } from "./change-paths.ts";
import { schemaReference } from "./component-schemas.ts";
import { DEVICE_PATHS } from "./device-paths.ts";
import { EXPORT_PATHS } from "./export-path.ts";
import { OPERATION_TEXTS, type OperationText } from "./operation-texts.ts";
import { examplesOf, failureResponses, responseOf, valueContent } from "./responses.ts";

const TYPES = ["application/json", "application/cbor"];

const OTHER_PATHS: ValueObject = {
  ...CHANGE_PATHS,
  ...EXPORT_PATHS,
  ...DEVICE_PATHS,
  ...ATTACHMENT_PATHS,
};

/** Names of the operations of the data API, by path. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ["/store/findbyid", "findbyid"],
  ["/sync/remote_execute", "remote_execute"],
]);

const EXECUTE_DESCRIPTION =
  "Any statement, with full permission. With `as` it runs with the permissions of another caller, " +
  "and only if it reads. Needs a session of the console or the admin token, also on this machine.";

const SEE_AS: Value = {
  statement: "SELECT * FROM cars",
  as: { key: "till" },
};

const MEANINGS = {
  401: "There is no session of the console, and no admin token.",
  403: "Another page seems to call, or `as` lacks the permission.",
  404: "There is no such app, or nothing of this name.",
};

const PROBLEM = valueContent({
  types: ["application/json"],
  schema: schemaReference("Problem"),
});

const PROBLEM_EXAMPLE = {
  title: "InvalidRequest",
  detail: "expected the parameter collection in the address, found none",
};

/** By path, as the document has them. */
export function managementDataPaths(app: Value): ValueObject {
  const paths: MutableObject = {};
  for (const { path, method } of CONSOLE_DATA) {
    const operation = operationAt(path, method);
    const parameters = isArray(operation["parameters"]) ? operation["parameters"] : [];
    const placed = { ...operation, tags: ["data"], parameters: [app, ...parameters] };
    const at = `/app/{app}${path}`;
    const others = paths[at];
    const item = { [method.toLowerCase()]: placed };
    setField(paths, at, isObject(others) ? { ...others, ...item } : item);
  }
  return paths;
}

function operationAt(path: string, method: string): ValueObject {
  if (path === "/store/execute") return executeOperation();
  const name = TEXTS.get(path);
  if (name !== undefined) return textOperation(name, OPERATION_TEXTS[name] as OperationText);
  const item = OTHER_PATHS[path];
  const operation = isObject(item) ? item[method.toLowerCase()] : undefined;
  const { operationId, responses, ...rest } = operation as ValueObject;
  const done = isObject(responses) ? Object.entries(responses) : [];
  const kept = done.filter(([status]) => Number(status) < 400 || status === "410");
  return {
    ...rest,
    operationId: `app_${operationId as string}`,
    responses: {
      ...Object.fromEntries(kept),
      ...failures([400, 408, 413, 415, 416, 429, 500, 503]),
    },
  };
}

function executeOperation(): ValueObject {
  const text = OPERATION_TEXTS["execute"] as OperationText;
  const seen = { name: "seeAs", summary: "As the API key `till` sees it", request: SEE_AS };
  const examples = [...text.examples, { ...seen, response: failedResponse("…") }];
  const content = valueContent({
    types: ["application/json"],
    schema: schemaReference("QueryResponse"),
  });
  return {
    operationId: "app_execute",
    summary: text.summary,
    description: EXECUTE_DESCRIPTION,
    requestBody: bodyOf("ConsoleQueryRequest", examplesOf(examples, "request")),
    responses: {
      200: responseOf("The result.", {
        "application/json": {
          schema: schemaReference("QueryResponse"),
          examples: examplesOf(text.examples, "response"),
        },
      }),
      ...failureResponses({
        statuses: [400, 408, 413, 415, 429, 500, 503],
        others: MEANINGS,
        content,
        example: failedResponse("expected text at statement (value.invalid)"),
      }),
    },
  };
}

function textOperation(name: string, text: OperationText): ValueObject {
  const { summary, description, request, response, examples } = text;
  return {
    operationId: `app_${name}`,
    summary,
    description,
    requestBody: bodyOf(request, examplesOf(examples, "request")),
    responses: {
      200: responseOf(
        "What was asked for.",
        valueContent({
          types: TYPES,
          schema: schemaReference(response),
          examples: examplesOf(examples, "response"),
        }),
      ),
      ...failures([400, 408, 413, 415, 429, 500, 503]),
    },
  };
}

function bodyOf(title: string, examples: ValueObject): ValueObject {
  const content = valueContent({ types: TYPES, schema: schemaReference(title), examples });
  return { required: true, content };
}

function failures(statuses: readonly number[]): ValueObject {
  return failureResponses({
    statuses,
    others: MEANINGS,
    content: PROBLEM,
    example: PROBLEM_EXAMPLE,
  });
}
