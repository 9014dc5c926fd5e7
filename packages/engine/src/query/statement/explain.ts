/**
 * EXPLAIN and PROFILE: return the plan of a statement; PROFILE also runs the statement and adds
 * timings.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { semanticFault } from "../fault.ts";
import { type Choosing, explainedChoosing } from "../run/choose.ts";
import { Profile } from "../run/profile.ts";
import type { ExplainStatement } from "../syntax/tree.ts";
import { nanoseconds } from "../system/requests.ts";
import { type Prepared, type RunWork, slowRead } from "./work.ts";

export function explainPrepared({ statement, at }: ExplainStatement, inner: Prepared): Prepared {
  const { plan } = inner;
  if (plan === undefined) throw semanticFault(`there is no plan for ${statement.kind}`, at);
  return slowRead(function* explain(execution) {
    return [{ plan: plan(yield* explainedChoosing(execution)) }];
  });
}

/** Times of parsing and planning in milliseconds, and the clock that measures them. */
export interface PrepareTimes {
  readonly parseMs: number;
  readonly planMs: number;
  readonly elapsed: () => number;
}

/** Runs the statement and appends a row with its profile to the rows. */
export function profilePrepared(prepared: Prepared, times: PrepareTimes): Prepared {
  const { work } = prepared;
  const { elapsed } = times;
  const run: RunWork = function* run(plain) {
    const execution = { ...plain, profile: new Profile(elapsed) };
    const isWrite = work.kind === "write";
    // Taken before the write, which may change which indexes the caller can see.
    const before = isWrite ? yield* explainedChoosing(execution) : undefined;
    const begin = elapsed();
    const { items, ids } = yield* work.run(execution);
    const count = isWrite ? ids.length : Math.max(items.length, ids.length);
    const ran = { count, ms: elapsed() - begin };
    const choosing = before ?? (yield* explainedChoosing(execution));
    return { ids, items: [...items, profileOf(prepared, choosing, times, ran)] };
  };
  return { ...prepared, work: { kind: work.kind, run } };
}

interface Ran {
  readonly count: number;
  readonly ms: number;
}

function profileOf(
  { plan, queryType }: Prepared,
  choosing: Choosing,
  times: PrepareTimes,
  ran: Ran,
): ValueObject {
  const shownPlan = plan?.(choosing);
  return {
    "~request_profile": {
      ...(shownPlan && { plan: shownPlan }),
      queryType,
      resultCount: ran.count,
      state: "completed",
      times: {
        elapsed: nanoseconds(ran.ms),
        parse: nanoseconds(times.parseMs),
        plan: nanoseconds(times.planMs),
      },
    },
  };
}
