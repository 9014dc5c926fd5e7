/**
 * Responses of the OpenAPI document: builds response objects with descriptions, headers and content
 * for each status.
 */

import {
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { OperationExample } from "./operation-texts.ts";

/** Default description of each error status. */
const MEANINGS: { readonly [status: string]: string } = {
  400: "The request is malformed, or names what is not there. The text says what and where.",
  401: "There is no valid credential, or it lacks the permission for the operation or a collection.",
  404: "There is nothing of this name.",
  408: "It took too long: the body to arrive, or the statement to run.",
  413: "The body is too large.",
  415: "The body has a content type, or a content encoding, that is not accepted.",
  416: "The part that was asked for lies outside the content.",
  429: "Too many requests with a wrong credential came from this address.",
  500: "An unexpected error of the server. Nothing was applied; trying again may help.",
  503: "The server cannot do it now; it is starting, closing, full or busy.",
};

const REQUEST_ID = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
const RETRY_AFTER = { "Retry-After": { $ref: "#/components/headers/RetryAfter" } };
const AUTHENTICATE = { "WWW-Authenticate": { $ref: "#/components/headers/Authenticate" } };

const FAILURE_HEADERS: { readonly [status: string]: ValueObject } = {
  401: AUTHENTICATE,
  416: { "Content-Range": { $ref: "#/components/headers/ContentRange" } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

export interface BodyForms {
  readonly types: readonly string[];
  readonly schema: ValueObject;
  readonly examples?: ValueObject;
}

/** Content with one schema in several media types. Examples are text, so only JSON has them. */
export function valueContent({ types, schema, examples }: BodyForms): ValueObject {
  const content: MutableObject = {};
  for (const type of types) {
    const isShown = type === "application/json" && examples !== undefined;
    setField(content, type, isShown ? { schema, examples } : { schema });
  }
  return content;
}

export function examplesOf(
  examples: readonly OperationExample[],
  part: "request" | "response",
): ValueObject {
  const byName: MutableObject = {};
  for (const example of examples) {
    setField(byName, example.name, { summary: example.summary, value: example[part] });
  }
  return byName;
}

/** Without `content` there is no body. */
export function responseOf(
  description: string,
  content: ValueObject | undefined,
  headers: ValueObject = {},
): ValueObject {
  return {
    description,
    headers: { ...REQUEST_ID, ...headers },
    ...(content !== undefined && { content }),
  };
}

export interface Failures {
  readonly statuses: readonly number[];
  /** Additional statuses, with their meaning. */
  readonly others?: { readonly [status: string]: string };
  /** Undefined when an error has no body. */
  readonly content: ValueObject | undefined;
  readonly example?: Value;
}

/** By status, in rising order. */
export function failureResponses({
  statuses,
  others = {},
  content,
  example,
}: Failures): ValueObject {
  const responses: MutableObject = {};
  const all = [...statuses.map(String), ...Object.keys(others)];
  for (const status of all.toSorted()) {
    const isShown = status === "400" && example !== undefined && content !== undefined;
    const shown = isShown ? withExample(content, example) : content;
    const description = others[status] ?? MEANINGS[status] ?? "";
    setField(responses, status, responseOf(description, shown, FAILURE_HEADERS[status]));
  }
  return responses;
}

function withExample(content: ValueObject, value: Value): ValueObject {
  const json = content["application/json"];
  if (!isObject(json)) return content;
  const examples = { failure: { summary: "What is wrong, and where", value } };
  return { ...content, "application/json": { ...json, examples } };
}
