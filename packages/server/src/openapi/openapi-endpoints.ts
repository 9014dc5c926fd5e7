/**
 * Where the OpenAPI document and its page are found. Nobody needs a credential for them: they say
 * how the server is called, nothing of what is in it.
 */

import { stringifyJson } from "@bigpeer/protocol";
import { type Endpoint, messageBody } from "../http/router.ts";
import { docsEndpoints } from "./docs-page.ts";
import { FixedContent } from "./fixed-content.ts";
import { type OpenApiOptions, openApiDocument } from "./openapi.ts";

export interface OpenApiEndpoints {
  /** `/openapi.json` and `/docs`. */
  readonly endpoints: readonly Endpoint[];
  /** `/swagger.json`, where clients of before look for it. */
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
