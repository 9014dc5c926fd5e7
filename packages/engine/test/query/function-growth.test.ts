/**
 * Every function of the table with long, deep and hostile arguments of growing size: its work grows as
 * its arguments do, the budget hears of it before or while it is done, and of the memory of the result.
 */
import { describe, expect, test } from "vitest";
import { growthFault, measureGrowth } from "../../../protocol/test/support/growth.ts";
import { readDigits, rereadDigits } from "../../../protocol/test/support/planted-loop.ts";
import type { FunctionSpec } from "../../src/query/functions/function.ts";
import { FUNCTIONS } from "../../src/query/functions/table.ts";
import { isDatumArray } from "../../src/query/value/datum.ts";
import { type HostileCall, hostileCalls } from "../support/hostile-call.ts";
import {
  honestyFault,
  type MeteredCall,
  memoryFault,
  meteredCalls,
  resultBytes,
} from "../support/metered-call.ts";
import { rereadParts } from "../support/planted-parts.ts";

const GROWING_SIZE = 1536;
const STEPS_PER_BYTE = 4;
const STEPS_PER_CHARACTER = 2;
const LARGE_SIZE = 8 * 1024;

/** The first calls that are found wrong, each by its name. */
async function growthFaults(calls: readonly HostileCall[]): Promise<string[]> {
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

/** What is wrong with the calls, first of all how they grow. */
async function faultsOf(calls: readonly HostileCall[]): Promise<string[]> {
  // What was called before is compiled: only the work itself is counted.
  meteredCalls(calls.map(({ at }) => at(16)));
  const faults = await growthFaults(calls);
  return [...faults, ...named(calls, honestyFault), ...named(calls, memoryFault)];
}

const SPECS = [...FUNCTIONS.values()].map((spec) => [spec.name, spec] as const);

/** To count steps takes its time, far more on a machine that is busy. */
const TIMEOUT_MS = 120_000;

test.each(SPECS)(
  "%s grows as its arguments do, and the budget knows of it",
  async (_, spec) => {
    expect(await faultsOf(hostileCalls(spec))).toEqual([]);
  },
  TIMEOUT_MS,
);

describe("planted", () => {
  const planted = (apply: FunctionSpec["apply"]): HostileCall[] =>
    hostileCalls({ name: "planted", arity: [1, 1], nulls: "pass", apply });

  test("a function that is as it should be passes", async () => {
    const calls = planted(([text]) => (typeof text === "string" ? readDigits(text) : null));
    expect(await growthFaults(calls)).toEqual([]);
  });

  test("a quadratic loop is found", async () => {
    const calls = planted(([text]) => (typeof text === "string" ? rereadDigits(text) : null));
    expect((await growthFaults(calls)).join()).toMatch(
      /planted\(fraction\).* grow as the input does/,
    );
  });

  test("a loop that the budget does not hear of is found", async () => {
    const calls = planted(([datum]) => (datum instanceof Uint8Array ? null : rereadParts(datum)));
    expect((await faultsOf(calls)).join()).toMatch(/planted\(fields\).*budget to know of the work/);
  });

  test("memory that the budget does not hear of is found", async () => {
    const calls = planted(([datum]) => (isDatumArray(datum) ? [...datum, ...datum] : null));
    expect((await faultsOf(calls)).join()).toMatch(
      /planted\(numbers\).*budget to know of the memory/,
    );
  });
});
