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
