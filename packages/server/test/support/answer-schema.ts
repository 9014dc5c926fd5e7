/**
 * Answers of an API, held to its OpenAPI document: their status is one that it names, their headers
 * are there, and their body has the fields of its schema and no others.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect } from "vitest";
import { managementDocument } from "../../src/openapi/management-document.ts";
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

/** Allows nothing. */
const UNKNOWN_HEADER: DocumentedHeader = { schema: { not: {} } };

/** Holds answers to one document. */
export class AnswerSchema {
  readonly #document: OpenApi;
  readonly #checker: SchemaChecker;
  readonly #operations: ReadonlyMap<string, DocumentedOperation>;

  constructor(document: ValueObject) {
    this.#document = document as unknown as OpenApi;
    this.#checker = new SchemaChecker(document, { isClosed: true });
    const all = Object.values(this.#document.paths).flatMap((path) => Object.values(path));
    this.#operations = new Map(all.map((operation) => [operation.operationId, operation]));
  }

  /** The operation of a method and a path as the document writes it, without a query. */
  operationAt(method: string, path: string): string | undefined {
    const wanted = path.split("/");
    const found = Object.keys(this.#document.paths)
      .filter((template) => isLike(template.split("/"), wanted))
      // A path without parameters is more exact: /audit/remote and not /audit/{name}.
      .toSorted((a, b) => a.split("{").length - b.split("{").length)
      .map((template) => this.#document.paths[template]?.[method.toLowerCase()]);
    return found[0]?.operationId;
  }

  /** What is wrong with an answer, a sentence for each fault. */
  faults({ operation, status, headers, body }: ReceivedAnswer): string[] {
    const responses = this.#operations.get(operation)?.responses;
    if (responses === undefined) return [`there is no operation ${operation}`];
    // Other methods have no place in the document: they fail like the operation does.
    const response = responses[status === 405 ? 500 : status];
    if (response === undefined) return [`${status} is not documented`];
    const type = headers.get("content-type") ?? undefined;
    return [...this.#headerFaults(response, headers), ...this.#bodyFaults(response, type, body)];
  }

  #headerFaults({ headers: documented }: Response, headers: Headers): string[] {
    return Object.entries(documented).flatMap(([name, { $ref }]) => {
      const known = this.#document.components.headers[$ref.replace("#/components/headers/", "")];
      const { required, schema } = known ?? UNKNOWN_HEADER;
      const given = headers.get(name);
      if (given === null) return required === true ? [`the header ${name} is missing`] : [];
      const isNumber = schema["type"] === "integer";
      return this.#checker
        .faults(schema, isNumber ? Number(given) : given)
        .map((fault) => `header ${name}: ${fault}`);
    });
  }

  #bodyFaults({ content }: Response, type: string | undefined, body: Value | undefined): string[] {
    if (content === undefined) return body === undefined ? [] : ["there is a body"];
    const media = type === undefined ? undefined : content[type];
    if (media === undefined) return [`the content type ${type} is not documented`];
    if (media.schema["format"] === "binary") return [];
    return body === undefined ? ["there is no body"] : this.#checker.faults(media.schema, body);
  }
}

function isLike(template: readonly string[], path: readonly string[]): boolean {
  if (template.length !== path.length) return false;
  return template.every((part, i) => part.startsWith("{") || part === path[i]);
}

const dataApi = new AnswerSchema(openApiDocument({ version: "0.0.0" }));
const managementApi = new AnswerSchema(managementDocument({ version: "0.0.0" }));

export function expectValidAnswer(answer: ReceivedAnswer): void {
  expectValid(dataApi, answer);
}

function expectValid(schema: AnswerSchema, answer: ReceivedAnswer): void {
  const { operation, status } = answer;
  expect(schema.faults(answer), `the answer ${status} of ${operation}`).toEqual([]);
}

/** What is wrong with an answer of the data API. */
export function answerFaults(answer: ReceivedAnswer): string[] {
  return dataApi.faults(answer);
}

/** An answer of the management API, with the request that it answers. */
export interface ManagementAnswer extends Omit<ReceivedAnswer, "operation"> {
  readonly method: string;
  /** The whole path, with its query. */
  readonly path: string;
}

/** Holds an answer to the document; a path that the document does not have must be refused. */
export function expectValidManagementAnswer(answer: ManagementAnswer): void {
  const { method, path, ...received } = answer;
  if (method === "HEAD") return;
  const local = /^\/namespace\/[^/]+\/bigPeer\/[^/]+(\/[^?]*)/.exec(path)?.[1];
  const operation = local && managementApi.operationAt(method, local);
  if (operation !== undefined) expectValid(managementApi, { operation, ...received });
  else if (local !== undefined) expect([404, 405], `${method} ${path}`).toContain(answer.status);
}

/** What is wrong with an answer of an operation of the management API. */
export function managementAnswerFaults(answer: ReceivedAnswer): string[] {
  return managementApi.faults(answer);
}
