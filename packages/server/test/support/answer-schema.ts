/**
 * Answers of the data API, held to the OpenAPI document: their status is one that it names, their
 * headers are there, and their body has the fields of its schema and no others.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect } from "vitest";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { SchemaChecker } from "./json-schema.ts";

/** An answer as a client received it. */
export interface ReceivedAnswer {
  /** The operationId in the document. */
  readonly operation: string;
  readonly status: number;
  readonly headers: Headers;
  /** Decoded; undefined for binary content and where there is none. */
  readonly body?: Value | undefined;
}

interface DocumentedHeader {
  readonly required?: boolean;
  readonly schema: ValueObject;
}

interface Response {
  readonly headers: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema: ValueObject }>>;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly headers: Readonly<Record<string, DocumentedHeader>> };
}

const value = openApiDocument({ version: "0.0.0" });
const document = value as unknown as OpenApi;
const checker = new SchemaChecker(value, { isClosed: true });

const operations = new Map(
  Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .map((operation) => [operation.operationId, operation]),
);

const documentedHeaders = new Map(
  Object.entries(document.components.headers).map(([name, header]) => {
    return [`#/components/headers/${name}`, header];
  }),
);

/** Allows nothing. */
const UNKNOWN_HEADER: DocumentedHeader = { schema: { not: {} } };

export function expectValidAnswer(answer: ReceivedAnswer): void {
  expect(answerFaults(answer), `the answer ${answer.status} of ${answer.operation}`).toEqual([]);
}

/** What is wrong with an answer, a sentence for each fault. */
export function answerFaults({ operation, status, headers, body }: ReceivedAnswer): string[] {
  const responses = operations.get(operation)?.responses;
  if (responses === undefined) return [`there is no operation ${operation}`];
  // Other methods have no place in the document: they fail like the operation does.
  const response = responses[status === 405 ? 500 : status];
  if (response === undefined) return [`${status} is not documented`];
  const type = headers.get("content-type") ?? undefined;
  return [...headerFaults(response, headers), ...bodyFaults(response, type, body)];
}

function headerFaults({ headers: documented }: Response, headers: Headers): string[] {
  return Object.entries(documented).flatMap(([name, { $ref }]) => {
    const { required, schema } = documentedHeaders.get($ref) ?? UNKNOWN_HEADER;
    const given = headers.get(name);
    if (given === null) return required === true ? [`the header ${name} is missing`] : [];
    const isNumber = schema["type"] === "integer";
    return checker
      .faults(schema, isNumber ? Number(given) : given)
      .map((fault) => `header ${name}: ${fault}`);
  });
}

function bodyFaults(
  { content }: Response,
  type: string | undefined,
  body: Value | undefined,
): string[] {
  if (content === undefined) return body === undefined ? [] : ["there is a body"];
  const media = type === undefined ? undefined : content[type];
  if (media === undefined) return [`the content type ${type} is not documented`];
  if (media.schema["format"] === "binary") return [];
  return body === undefined ? ["there is no body"] : checker.faults(media.schema, body);
}
