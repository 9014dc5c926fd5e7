/**
 * Request functions: request_info returns app, id and start time of the statement; uuid generates
 * an id.
 */

import { uuidOf } from "../uuid.ts";
import type { FunctionSpec } from "./function.ts";

export const REQUEST_FUNCTIONS: readonly FunctionSpec[] = [
  {
    name: "request_info",
    arity: [0, 0],
    nulls: "pass",
    apply: (_args, { request }) => ({
      app_id: request.appId,
      request_id: request.id,
      start_time: request.startMs,
    }),
  },
  {
    name: "uuid",
    arity: [0, 0],
    nulls: "pass",
    apply: (_args, { platform }) => uuidOf((size) => platform.random(size)),
  },
];
