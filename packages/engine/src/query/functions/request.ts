/**
 * What a statement may know about itself.
 */

import type { FunctionSpec } from "./function.ts";

export const REQUEST_FUNCTIONS: readonly FunctionSpec[] = [
  {
    name: "request_info",
    arity: [0, 0],
    nulls: "pass",
    // The same for a whole statement, another for the next time that it runs.
    isVolatile: true,
    apply: (_args, { request }) => ({
      app_id: request.appId,
      request_id: request.id,
      start_time: request.startMs,
    }),
  },
];
