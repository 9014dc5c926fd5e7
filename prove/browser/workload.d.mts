/** Types of workload.mjs, for tests. */

import type { Value } from "@bigpeer/protocol";

export function isStrict(number: number): boolean;
export function writesOf(number: number): Map<string, Value | undefined>;
export function stateAfter(number: number): Map<string, Value>;
