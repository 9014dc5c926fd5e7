/**
 * Times as the management API reads and writes them.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { readTime, showOptionalTime, showTime } from "../../src/validation/time-text.ts";

test.each([
  ["2030-01-02T03:04:05Z", "2030-01-02T03:04:05.000Z"],
  ["2030-01-02t03:04:05.678z", "2030-01-02T03:04:05.678Z"],
  ["2030-01-02T03:04:05.1234567Z", "2030-01-02T03:04:05.123Z"],
  ["2030-01-02T03:04:05+02:00", "2030-01-02T01:04:05.000Z"],
  ["2032-02-29T23:59:59-23:59", "2032-03-01T23:58:59.000Z"],
])("%s is %s", (text, same) => {
  expect(showTime(readTime(text, "at"))).toBe(same);
});

test.each([
  "",
  "2030-01-02",
  "2030-01-02T03:04Z",
  "2030-01-02T03:04:05",
  "2030-01-02 03:04:05Z",
  "2030-1-2T03:04:05Z",
  "2030-13-01T00:00:00Z",
  "2031-02-29T00:00:00Z",
  "2030-01-00T00:00:00Z",
  "2030-01-02T24:00:00Z",
  "2030-01-02T03:60:00Z",
  "2030-01-02T03:04:60Z",
  "2030-01-02T03:04:05+24:00",
  "+012030-01-02T03:04:05Z",
  "tomorrow",
])("%j is not a time", (text) => {
  const message = `expected a time like 2030-12-31T23:59:59Z, found "${text}"`;
  const error = new PeerError("value.invalid", message, { at: "expiresAt" });
  expect(() => readTime(text, "expiresAt")).toThrow(error);
});

test("an absent time is null", () => {
  expect(showOptionalTime(undefined)).toBeNull();
  expect(showOptionalTime(0)).toBe("1970-01-01T00:00:00.000Z");
});
