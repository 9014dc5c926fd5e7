/**
 * OpenAPI endpoints: serve the OpenAPI document and its page without a credential. They describe
 * how to call the server and reveal nothing of its data.
 */

import { stringifyJson } from "@bigpeer/protocol";
import { type Endpoint, messageBody } from "../http/router.ts";
import { docsEndpoints } from "./docs-page.ts";
import { FixedContent } from "./fixed-content.ts";
import { type OpenApiOptions, openApiDocument } from "./openapi.ts";

export interface OpenApiEndpoints {
  /** `/openapi.json` and `/docs`. */
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
    endpoints: [{ ...endpoint, path: "/openapi.json" }, ...docsEndpoints(options)],
    dataEndpoints: [{ ...endpoint, path: "/swagger.json" }],
  };
}
