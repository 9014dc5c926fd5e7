/**
 * Stamps: their order, the ends of it, and their form inside an operation.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  beforeStamp,
  compareStamps,
  EPOCH_MS,
  isAfter,
  isSite,
  latest,
  msOfTime,
  NO_SITE,
  NONE,
  type Stamp,
  siteOfBytes,
  stampOfValue,
  stampToValue,
  TICKS_PER_MS,
  TIME_MAX,
  timeOfMs,
  ZERO,
} from "../src/stamp.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";

const sites = fc
  .bigInt({ min: 1n, max: 2n ** 64n - 1n })
  .map((site) => site.toString(16).padStart(16, "0"));
const stamps: fc.Arbitrary<Stamp> = fc.oneof(
  fc.constantFrom(NONE, ZERO),
  fc.record({
    time: fc.integer({ min: 0, max: 3 }),
    site: fc.constantFrom(NO_SITE, "0".repeat(15) + "a"),
  }),
  fc.record({ time: fc.maxSafeNat(), site: sites }),
);

test("[D1] a stamp is (time, site), compared in that order", () => {
  const low = "0000000000000001";
  const high = "ffffffffffffffff";
  const ordered: Stamp[] = [
    NONE,
    ZERO,
    { time: 0, site: low },
    { time: 1, site: NO_SITE },
    { time: 1, site: low },
    { time: 1, site: high },
    { time: 2, site: low },
    { time: TIME_MAX, site: high },
  ];
  for (const [i, a] of ordered.entries()) {
    for (const [j, b] of ordered.entries()) {
      expect(compareStamps(a, b)).toBe(Math.sign(i - j));
      expect(isAfter(a, b)).toBe(i > j);
    }
  }
});

test("[D1] the order of stamps is total, and latest is its maximum", () => {
  fc.assert(
    fc.property(stamps, stamps, stamps, (a, b, c) => {
      const [ab, bc] = [compareStamps(a, b), compareStamps(b, c)];
      expect(compareStamps(b, a)).toBe(0 - ab + 0);
      if (ab <= 0 && bc <= 0) expect(compareStamps(a, c)).toBeLessThanOrEqual(0);
      expect(isAfter(a, b)).toBe(ab > 0);
      expect(compareStamps(latest(a, b), latest(b, a))).toBe(0);
      // Equal stamps: the first comes back, so that a merge can tell that nothing changed.
      expect(latest(a, b)).toBe(ab >= 0 ? a : b);
      expect(ab === 0).toBe(a.time === b.time && a.site === b.site);
    }),
    { numRuns: runs(2000) },
  );
});

test("[D1] NONE is below ZERO = (0, 0), which is below all other stamps", () => {
  expect(ZERO).toEqual({ time: 0, site: NO_SITE });
  fc.assert(
    fc.property(fc.maxSafeNat(), sites, (time, site) => {
      expect(isAfter({ time, site }, ZERO)).toBe(true);
      expect(isAfter(ZERO, NONE)).toBe(true);
    }),
  );
});

test("[D1] time is milliseconds since 2024 times 4,096 plus a count, exact until 2093", () => {
  expect(new Date(EPOCH_MS).toISOString()).toBe("2024-01-01T00:00:00.000Z");
  expect(timeOfMs(EPOCH_MS)).toBe(0);
  expect(timeOfMs(EPOCH_MS + 1.9)).toBe(TICKS_PER_MS);
  expect(new Date(msOfTime(TIME_MAX)).getUTCFullYear()).toBe(2093);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 41 - 1 }), fc.nat(TICKS_PER_MS - 1), (ms, count) => {
      const time = timeOfMs(EPOCH_MS + ms) + count;
      expect(Number.isSafeInteger(time)).toBe(true);
      expect(msOfTime(time)).toBe(EPOCH_MS + ms);
    }),
  );
});

test("[D1] a site is 64 bits as 16 hexadecimal digits, and never zero", () => {
  expect(siteOfBytes(new Uint8Array([0, 1, 2, 3, 252, 253, 254, 255]))).toBe("00010203fcfdfeff");
  expect(siteOfBytes(new Uint8Array(8))).toBe("0000000000000001");
  expect(siteOfBytes(new Uint8Array(16).fill(1))).toBe("0101010101010101");
  expect(isSite("00010203fcfdfeff")).toBe(true);
  for (const no of [
    NO_SITE,
    "00010203FCFDFEFF",
    "1",
    "g".repeat(16),
    1,
    null,
    `${"a".repeat(16)}\n`,
  ]) {
    expect(isSite(no)).toBe(false);
  }
});

test("[D3] the stamp before a tick is its least stamp, above all earlier ticks", () => {
  const stamp = { time: 7, site: "00000000000000aa" };
  expect(beforeStamp(stamp)).toEqual({ time: 7, site: NO_SITE });
  expect(isAfter(stamp, beforeStamp(stamp))).toBe(true);
  expect(isAfter(beforeStamp(stamp), { time: 6, site: "f".repeat(16) })).toBe(true);
});

test("a stamp inside an operation is [time, site], and anything else is refused with its place", () => {
  const stamp = { time: 5, site: "00000000000000aa" };
  expect(stampToValue(stamp)).toEqual([5, "00000000000000aa"]);
  expect(stampOfValue(stampToValue(stamp), "x")).toEqual(stamp);
  expect(stampOfValue(stampToValue(ZERO), "x")).toEqual(ZERO);
  const site = stamp.site;
  const wrong = [
    undefined,
    null,
    5,
    [],
    [5],
    [5, site, 1],
    [-1, site],
    [0.5, site],
    [2 ** 53, site],
  ];
  for (const value of [
    ...wrong,
    [5n, site],
    ["5", site],
    [5, "aa"],
    [5, site.toUpperCase()],
    [5, 5],
  ]) {
    const error = failureOf(() => stampOfValue(value, "x.birth"));
    expect([error.code, error.at]).toEqual(["operation.invalid", "x.birth"]);
  }
});
