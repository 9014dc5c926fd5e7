/**
 * OpenAPI endpoints: serve the OpenAPI documents without a credential, each on the listener of its
 * API. A document describes how to call the server and reveals nothing of its data.
 */

import { stringifyJson, type ValueObject } from "@bigpeer/protocol";
import { FixedContent } from "../http/fixed-content.ts";
import { type Endpoint, type FailureBody, messageBody } from "../http/router.ts";
import { problemBody } from "../management/problem.ts";
import { managementDocument } from "./management-document.ts";
import { type OpenApiOptions, openApiDocument } from "./openapi.ts";

const PATH = "/openapi.json";

export interface OpenApiEndpoints {
  /** `/openapi.json`. */
  readonly endpoints: readonly Endpoint[];
  /** `/swagger.json`, where older clients look for it. */
  readonly dataEndpoints: readonly Endpoint[];
}

export function openApiEndpoints(options: OpenApiOptions): OpenApiEndpoints {
  const endpoint = documentEndpoint(() => openApiDocument(options), messageBody);
  return { endpoints: [endpoint], dataEndpoints: [{ ...endpoint, path: "/swagger.json" }] };
}

/** `/openapi.json` of the management listener. */
export function managementOpenApiEndpoint({ version }: { readonly version: string }): Endpoint {
  return documentEndpoint(() => managementDocument({ version }), problemBody);
}

/** Creates the document when it is first requested. */
function documentEndpoint(create: () => ValueObject, failureBody: FailureBody): Endpoint {
  let made: FixedContent | undefined;
  const document = (): FixedContent => {
    const headers = { "content-type": "application/json" };
    made ??= new FixedContent(Buffer.from(stringifyJson(create())), headers);
    return made;
  };
  return {
    name: "openapi",
    path: PATH,
    methods: ["GET", "HEAD"],
    isJsonOnly: true,
    failureBody,
    answer: (request) => document().answer(request),
  };
}
