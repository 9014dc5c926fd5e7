/**
 * Stage: an operator of the pipeline behind the rows of FROM, such as a filter.
 */

import type { Execution } from "./execution.ts";
import type { Sink } from "./row-stream.ts";

/** Makes a sink that takes rows and hands others to the next one. */
export type Stage = (execution: Execution, next: Sink) => Sink;

/** A stage that is counted if the statement is profiled. */
export function profiled(node: object, stage: Stage): Stage {
  return (execution, next) =>
    execution.profile === undefined
      ? stage(execution, next)
      : execution.profile.stage(node, next, (counted) => stage(execution, counted));
}
