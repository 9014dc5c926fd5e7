/**
 * The slow obvious evaluator: what its function calls may ask for.
 */
import type { ValueObject } from "@bigpeer/protocol";
import { Budget } from "../../../src/query/frame/budget.ts";
import type { Run } from "../../../src/query/frame/frame.ts";
import { START_MS, testPlatform } from "../../support/test-platform.ts";

/** A run without bounds: the evaluator is only given little to do. */
export function oracleRun(args: ValueObject): Run {
  const budget = new Budget({
    elapsed: () => 0,
    timeMsMax: Number.POSITIVE_INFINITY,
    bytesMax: Number.POSITIVE_INFINITY,
  });
  const request = { id: "oracle", appId: "oracle", startMs: START_MS };
  return { args, platform: testPlatform(), budget, request };
}
