/**
 * Response headers that the OpenAPI documents of both APIs have as components.
 */

import type { ValueObject } from "@bigpeer/protocol";

export const COMMON_HEADERS: ValueObject = {
  RequestId: {
    description: "Names this request in the log of the server.",
    required: true,
    schema: { type: "string" },
  },
  RetryAfter: {
    description: "Seconds after which it is worth trying again.",
    required: true,
    schema: { type: "integer", minimum: 0 },
  },
  Authenticate: {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
};

/** Headers of answers with the content of an attachment. */
export const CONTENT_HEADERS: ValueObject = {
  ETag: { description: "Names the content.", required: true, schema: { type: "string" } },
  AcceptRanges: {
    description: "Parts can be asked for.",
    required: true,
    schema: { type: "string", const: "bytes" },
  },
  ContentRange: {
    description: "Which part this is, of how much.",
    required: true,
    schema: { type: "string" },
  },
};
