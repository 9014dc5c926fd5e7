/**
 * OpenAPI endpoints: serve the OpenAPI document without a credential. It describes how to call the
 * server and reveals nothing of its data.
 */

import { stringifyJson } from "@bigpeer/protocol";
import { FixedContent } from "../http/fixed-content.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { type OpenApiOptions, openApiDocument } from "./openapi.ts";

export interface OpenApiEndpoints {
  /** `/openapi.json`. */
  readonly endpoints: readonly Endpoint[];
  /** `/swagger.json`, where older clients look for it. */
  readonly dataEndpoints: readonly Endpoint[];
}

export function openApiEndpoints(options: OpenApiOptions): OpenApiEndpoints {
  let made: FixedContent | undefined;
  const document = (): FixedContent => {
    made ??= new FixedContent(Buffer.from(stringifyJson(openApiDocument(options))), {
      "content-type": "application/json",
    });
    return made;
  };
  const endpoint: Omit<Endpoint, "path"> = {
    name: "openapi",
    methods: ["GET", "HEAD"],
    isJsonOnly: true,
    failureBody: messageBody,
    answer: (request) => document().answer(request),
  };
  return {
    endpoints: [{ ...endpoint, path: "/openapi.json" }],
    dataEndpoints: [{ ...endpoint, path: "/swagger.json" }],
  };
}
