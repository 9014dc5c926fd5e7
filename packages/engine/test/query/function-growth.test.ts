/**
 * Every function of the table, or one of four in `npm test`, with long, deep and hostile arguments of
 * growing size: its work grows as its arguments do, the budget hears of it before or while it is done,
 * and of the memory of the result.
 */

import { describe, expect, test } from "vitest";
import { readDigits, rereadDigits } from "../../../protocol/test/support/planted-loop.ts";
import { oneOf, sized } from "../../../protocol/test/support/test-size.ts";
import type { FunctionSpec } from "../../src/query/functions/function.ts";
import { FUNCTIONS } from "../../src/query/functions/table.ts";
import { isDatumArray } from "../../src/query/value/datum.ts";
import { type HostileCall, hostileCalls } from "../support/hostile-call.ts";
import { COUNTING_MS_MAX, faultsOf, growthFaults } from "../support/hostile-verdict.ts";
import { rereadParts } from "../support/planted-parts.ts";

const SPECS = [...FUNCTIONS.values()].map((spec) => [spec.name, spec] as const);

test.each(oneOf(4, SPECS))(
  "the work of %s grows with its arguments, and the budget counts it",
  async (_, spec) => {
    expect(await faultsOf(oneOf(3, hostileCalls(spec)))).toEqual([]);
  },
  COUNTING_MS_MAX,
);

describe("planted faults", () => {
  const planted = (apply: FunctionSpec["apply"]): HostileCall[] =>
    hostileCalls({ name: "planted", arity: [1, 1], nulls: "pass", apply });

  test("a correct function passes", async () => {
    const calls = planted(([text]) => (typeof text === "string" ? readDigits(text) : null));
    expect(await growthFaults(calls)).toEqual([]);
  });

  test("a quadratic loop is found", async () => {
    const all = planted(([text]) => (typeof text === "string" ? rereadDigits(text) : null));
    const calls = sized(
      all.filter(({ name }) => /fraction/.test(name)),
      all,
    );
    expect((await growthFaults(calls)).join()).toMatch(
      /planted\(fraction\).* grow as the input does/,
    );
  });

  test("a loop that the budget does not count is found", async () => {
    const calls = planted(([datum]) => (datum instanceof Uint8Array ? null : rereadParts(datum)));
    expect((await faultsOf(calls, calls)).join()).toMatch(
      /planted\(fields\).*budget to know of the work/,
    );
  });

  test("memory that the budget does not count is found", async () => {
    const calls = planted(([datum]) => (isDatumArray(datum) ? [...datum, ...datum] : null));
    expect((await faultsOf(calls)).join()).toMatch(
      /planted\(numbers\).*budget to know of the memory/,
    );
  });
});
