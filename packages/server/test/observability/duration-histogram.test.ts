/**
 * Which bucket a duration falls into, and the text that tells it.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { DurationHistogram } from "../../src/observability/duration-histogram.ts";
import { readExposition } from "../support/exposition.ts";

const BOUNDS = [0.25, 0.5, 1];

function createHistogram(): DurationHistogram {
  return new DurationHistogram({ name: "took", help: "How long.", bounds: BOUNDS });
}

test("a bucket counts durations up to its bound", () => {
  const histogram = createHistogram();
  for (const seconds of [0, 0.25, 0.375, 2]) histogram.of({ kind: "read" }).observe(seconds);
  expect(histogram.text()).toBe(
    [
      "# HELP took How long.",
      "# TYPE took histogram",
      'took_bucket{le="0.25",kind="read"} 2',
      'took_bucket{le="0.5",kind="read"} 3',
      'took_bucket{le="1",kind="read"} 3',
      'took_bucket{le="+Inf",kind="read"} 4',
      'took_sum{kind="read"} 2.625',
      'took_count{kind="read"} 4',
      "",
    ].join("\n"),
  );
});

test("an observation is counted once for its label, in every bucket that it fits", () => {
  const observation = fc.record({
    kind: fc.constantFrom("read", "write"),
    seconds: fc.oneof(fc.constantFrom(...BOUNDS), fc.double({ min: 0, max: 4, noNaN: true })),
  });
  fc.assert(
    fc.property(fc.array(observation), (observations) => {
      const histogram = createHistogram();
      for (const { kind, seconds } of observations) histogram.of({ kind }).observe(seconds);
      const { samples } = readExposition(histogram.text());
      for (const { kind } of observations) {
        const own = observations.filter((each) => each.kind === kind);
        for (const bound of [...BOUNDS, Number.POSITIVE_INFINITY]) {
          const le = bound === Number.POSITIVE_INFINITY ? "+Inf" : bound;
          expect(samples.get(`took_bucket{kind="${kind}",le="${le}"}`)).toBe(
            own.filter(({ seconds }) => seconds <= bound).length,
          );
        }
        expect(samples.get(`took_count{kind="${kind}"}`)).toBe(own.length);
      }
    }),
  );
});

test("a histogram without labels has the bound as its only label", () => {
  const histogram = new DurationHistogram({ name: "took", help: "How long.", bounds: [1] });
  histogram.of({}).observe(2);
  expect(histogram.text()).toBe(
    [
      "# HELP took How long.",
      "# TYPE took histogram",
      'took_bucket{le="1"} 0',
      'took_bucket{le="+Inf"} 1',
      "took_sum 2",
      "took_count 1",
      "",
    ].join("\n"),
  );
});

test("a removed combination of labels is gone, and starts at zero when it returns", () => {
  const histogram = createHistogram();
  for (const kind of ["read", "write"]) histogram.of({ kind }).observe(1);
  histogram.remove({ kind: "read" });
  expect(histogram.text()).not.toContain("read");
  histogram.of({ kind: "read" });
  expect(histogram.text()).toContain('took_count{kind="read"} 0\n');
  expect(histogram.text()).toContain('took_count{kind="write"} 1\n');
});
