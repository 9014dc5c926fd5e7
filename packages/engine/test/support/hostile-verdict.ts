/**
 * The judge of hostile calls: whether their work grows as their arguments do, and whether the budget
 * of the statement knows of the work before or while it is done, and of the memory of the result.
 */

import { growthFault, measureGrowth } from "../../../protocol/test/support/growth.ts";
import { sized } from "../../../protocol/test/support/test-size.ts";
import type { HostileCall } from "./hostile-call.ts";
import {
  honestyFault,
  type MeteredCall,
  memoryFault,
  meteredCalls,
  resultBytes,
} from "./metered-call.ts";

const GROWING_SIZE = 1536;
const STEPS_PER_BYTE = 4;
const STEPS_PER_CHARACTER = 2;
const LARGE_SIZE = 8 * 1024;

/** The first calls that are found wrong, each by its name. */
export async function growthFaults(calls: readonly HostileCall[]): Promise<string[]> {
  const growing = {
    make: (size: number): MeteredCall[] => calls.map(({ at }) => at(size)),
    run: meteredCalls,
    size: GROWING_SIZE,
  };
  // What is called for the first time is compiled, which takes steps: so it is looked at again.
  if (growthFault(await measureGrowth(growing)) === undefined) return [];
  const points = await measureGrowth(growing);
  const fault = growthFault(points);
  const { size = 0, steps = 0 } = points.at(-1) ?? {};
  // Fewer steps than two for each character are no pass through the arguments.
  if (fault === undefined || steps <= STEPS_PER_CHARACTER * size) return [];
  const [first] = calls;
  if (calls.length === 1 && first !== undefined) {
    // A result may be as long as two of its arguments multiplied: that is no work in vain.
    return steps <= STEPS_PER_BYTE * resultBytes(first.at(size)) ? [] : [`${first.name}: ${fault}`];
  }
  const middle = calls.length >> 1;
  const halves = [calls.slice(0, middle), calls.slice(middle)];
  const found: string[] = [];
  for (const half of halves) found.push(...(await growthFaults(half)));
  return found;
}

function named(calls: readonly HostileCall[], faultOf: typeof honestyFault): string[] {
  const faults: string[] = [];
  for (const { name, at } of calls) {
    const fault = faultOf(at(LARGE_SIZE));
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
  }
  return faults;
}

/** Calls of one function whose steps are compared with what the budget knows of: that takes longest. */
const COMPARED_MAX = sized(3, 1000);

/** At most so many of the calls, spread evenly over them. */
function spread(calls: readonly HostileCall[]): readonly HostileCall[] {
  const every = Math.ceil(calls.length / COMPARED_MAX);
  return calls.filter((_, i) => i % every === 0);
}

/** What is wrong with the calls, first of all how they grow. */
export async function faultsOf(
  calls: readonly HostileCall[],
  compared: readonly HostileCall[] = spread(calls),
): Promise<string[]> {
  // What was called before is compiled: only the work itself is counted.
  meteredCalls(calls.map(({ at }) => at(16)));
  const faults = await growthFaults(calls);
  return [...faults, ...named(compared, honestyFault), ...named(calls, memoryFault)];
}

/** To count steps takes its time, far more on a machine that is busy. */
export const COUNTING_MS_MAX = 120_000;
