/**
 * Long calls and comparisons count while they go, a small part at a time: what counts all its work
 * before it begins cannot be ended in the middle.
 */
import { expect, test } from "vitest";
import type { Run } from "../../src/query/frame/frame.ts";
import { FUNCTIONS } from "../../src/query/functions/table.ts";
import { compareData, equalComparable, orderComparable } from "../../src/query/value/compare.ts";
import { type CostMeter, underMeter } from "../../src/query/value/cost-meter.ts";
import type { Datum, PresentDatum } from "../../src/query/value/datum.ts";
import { findText } from "../../src/query/value/text-search.ts";

const NUMBERS: PresentDatum[] = Array.from({ length: 200_000 }, (_, i) => i);
const FIELDS = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, i]));
const LONG = "a".repeat(500_000);
const PART = `${"a".repeat(2000)}b`;

function call(name: string, ...args: Datum[]): (meter: CostMeter) => unknown {
  const spec = FUNCTIONS.get(name);
  return (meter) => spec?.apply(args, { budget: meter } as unknown as Run);
}

const CALLS: readonly (readonly [string, (meter: CostMeter) => unknown])[] = [
  ["array_concat", call("array_concat", NUMBERS, NUMBERS)],
  ["array_union", call("array_union", NUMBERS, NUMBERS)],
  ["array_zip", call("array_zip", NUMBERS, NUMBERS)],
  ["object_concat", call("object_concat", FIELDS, FIELDS)],
  ["object_set", call("object_set", FIELDS, "g", 1)],
  ["date_range", call("date_range", "2000-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "day", 1)],
  ["contains of a long part", call("contains", LONG, PART)],
  ["replace of a long part", call("replace", LONG, PART, "c")],
  ["the search for a long text", () => findText(LONG, PART)],
  ["= of objects", () => equalComparable(FIELDS, { ...FIELDS })],
  ["< of objects", () => orderComparable(FIELDS, { ...FIELDS })],
  ["the order of objects", () => compareData(FIELDS, { ...FIELDS })],
];

test.each(CALLS)("%s counts its steps as it runs", (_, work) => {
  let all = 0;
  let looks = 0;
  const meter: CostMeter = {
    step: (steps) => {
      all += steps;
      looks++;
    },
    borrow: () => {},
  };
  // What is known of the objects is not looked at again.
  underMeter(meter, () => work(meter));
  expect(looks).toBeGreaterThan(100);
  expect(all).toBeGreaterThan(1000);
});
