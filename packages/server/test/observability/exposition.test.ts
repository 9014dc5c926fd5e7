/**
 * The text format of Prometheus: heads, labels with their escapes, and numbers.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { labelsText, metricText, numberText } from "../../src/observability/exposition.ts";
import { readExposition } from "../support/exposition.ts";

const HEAD = { name: "doors", help: "Doors that are open.", type: "gauge" } as const;

test("a metric has its help, its type and a line for each sample", () => {
  const text = metricText(HEAD, [
    [{}, 1],
    [{ floor: 2, side: "left" }, 0.5],
  ]);
  expect(text).toBe(
    [
      "# HELP doors Doors that are open.",
      "# TYPE doors gauge",
      "doors 1",
      'doors{floor="2",side="left"} 0.5',
      "",
    ].join("\n"),
  );
});

test("a metric without samples has its help and its type", () => {
  expect(metricText(HEAD, [])).toBe("# HELP doors Doors that are open.\n# TYPE doors gauge\n");
});

test("a backslash, a quote and a line break in the value of a label are escaped", () => {
  expect(labelsText({ code: 'a\\b"c\nd' })).toBe('code="a\\\\b\\"c\\nd"');
});

test.each([
  [0, "0"],
  [1e21, "1e+21"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
])("the number %d is written as the format wants it", (value, text) => {
  expect(numberText(value)).toBe(text);
});

test("any value of a label leaves one line for the sample, which can be read", () => {
  const unit = fc.constantFrom("a", "é", " ", "\\", '"', "\n", ",", "=", "{", "}");
  fc.assert(
    fc.property(fc.string({ unit }), fc.integer(), (value, number) => {
      const text = metricText(HEAD, [[{ value }, number]]);
      expect(text.split("\n")).toHaveLength(4);
      expect([...readExposition(text).samples.values()]).toEqual([number]);
    }),
  );
});
