/**
 * The row that PROFILE adds to a result.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { ProfiledStatement } from "../run/plan-explainer.ts";
import { nanoseconds } from "../system/requests.ts";

export function profileRow(ran: ProfiledStatement): ValueObject {
  const { plan, queryType, resultCount, elapsedMs, parseMs, planMs } = ran;
  return {
    "~request_profile": {
      ...(plan && { plan }),
      queryType,
      resultCount,
      state: "completed",
      times: {
        elapsed: nanoseconds(elapsedMs),
        parse: nanoseconds(parseMs),
        plan: nanoseconds(planMs),
      },
    },
  };
}
