/**
 * EXPLAIN and PROFILE: return the plan of a statement; PROFILE also runs the statement and adds
 * timings.
 */

import { semanticFault } from "../fault.ts";
import { explainedChoosing, explaining } from "../run/choose.ts";
import { explainerOf } from "../run/plan-explainer.ts";
import type { ExplainStatement } from "../syntax/tree.ts";
import { type Prepared, type RunWork, slowRead } from "./work.ts";

export function explainPrepared({ statement, at }: ExplainStatement, inner: Prepared): Prepared {
  const { plan } = inner;
  if (plan === undefined) throw semanticFault(`there is no plan for ${statement.kind}`, at);
  return slowRead(function* explain(execution) {
    const how = explaining(yield* explainedChoosing(execution));
    return [{ plan: explainerOf(execution.run).explain(plan, how) }];
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
    const explainer = explainerOf(plain.run);
    const execution = { ...plain, profile: explainer.newProfile(elapsed) };
    const isWrite = work.kind === "write";
    // Taken before the write, which may change which indexes the caller can see.
    const before = isWrite ? yield* explainedChoosing(execution) : undefined;
    const begin = elapsed();
    const { items, ids } = yield* work.run(execution);
    const count = isWrite ? ids.length : Math.max(items.length, ids.length);
    const elapsedMs = elapsed() - begin;
    const choosing = before ?? (yield* explainedChoosing(execution));
    const plan = prepared.plan && explainer.explain(prepared.plan, explaining(choosing));
    const { queryType } = prepared;
    const ran = { plan, queryType, resultCount: count, elapsedMs, ...times };
    return { ids, items: [...items, explainer.profileRow(ran)] };
  };
  return { ...prepared, work: { kind: work.kind, run } };
}
