/**
 * Zones: offsets as they are written, zones as the host knows them, clocks that are put forward and
 * back.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import {
  atZone,
  findZone,
  formatOffset,
  msOfLocal,
  parseOffset,
  type Zone,
} from "../../../src/query/date/zone.ts";

function zone(name: string): Zone {
  const found = findZone(name);
  if (found === undefined) throw new Error(`expected a zone, found ${name}`);
  return found;
}

function at(text: string): number {
  return Date.parse(text);
}

test("an offset is Z, or a sign with hours and perhaps minutes", () => {
  expect(["Z", "z", "+02:00", "-0530", "+14"].map(parseOffset)).toEqual([0, 0, 120, -330, 840]);
  for (const text of ["", "2", "+2", "+24:00", "+02:60", "+02:0", "UTC", "+02:00:00", "−02:00"]) {
    expect(parseOffset(text), text).toBeUndefined();
  }
  expect(Object.is(parseOffset("-00:00"), 0)).toBe(true);
});

test("an offset is formatted as it is parsed", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1439, max: 1439 }), (offset) => {
      expect(parseOffset(formatOffset(offset))).toBe(offset);
    }),
  );
  expect(formatOffset(0)).toBe("+00:00");
  expect(formatOffset(-90)).toBe("-01:30");
});

test("a zone is an offset or a name, in any case; any other text is invalid", () => {
  expect(zone("europe/paris").name).toBe("Europe/Paris");
  expect(zone("UTC").offsetAt(0)).toBe(0);
  expect(zone("+02:00").name).toBe("+02:00");
  expect(zone("US/Pacific").offsetAt(at("2024-01-01T00:00:00Z"))).toBe(-480);
  for (const name of ["", "Nowhere/Bogus", "Europe/", "Europe/Paris ", "../x", "a".repeat(1e5)]) {
    expect(findZone(name), name.slice(0, 20)).toBeUndefined();
  }
});

test("the offset of a zone depends on the moment", () => {
  const paris = zone("Europe/Paris");
  expect(paris.offsetAt(at("2024-01-01T00:00:00Z"))).toBe(60);
  expect(paris.offsetAt(at("2024-07-01T00:00:00Z"))).toBe(120);
  expect(zone("Asia/Kolkata").offsetAt(0)).toBe(330);
  expect(zone("America/St_Johns").offsetAt(at("2024-01-01T00:00:00Z"))).toBe(-210);
});

test("an offset with seconds, as old local times had, is rounded to the minute", () => {
  expect(zone("Europe/Paris").offsetAt(at("1900-01-01T00:00:00Z"))).toBe(9);
  expect(zone("Africa/Monrovia").offsetAt(0)).toBe(-45);
});

test("the ends of the range of time have offsets too", () => {
  expect(zone("Europe/Paris").offsetAt(8.64e15)).toBe(120);
  expect(zone("Europe/Paris").offsetAt(-8.64e15)).toBe(9);
  expect(msOfLocal(8.64e15, zone("Europe/Paris"))).toBe(8.64e15 - 7_200_000);
  expect(msOfLocal(8.64e15, zone("America/New_York"))).toBeUndefined();
});

test("a local time that occurs twice means the first of the two", () => {
  expect(msOfLocal(at("2024-10-27T02:30:00Z"), zone("Europe/Paris"))).toBe(
    at("2024-10-27T00:30:00Z"),
  );
  expect(msOfLocal(at("2024-11-03T01:30:00Z"), zone("America/New_York"))).toBe(
    at("2024-11-03T05:30:00Z"),
  );
});

test("a local time that clocks skip is shifted forward by the gap", () => {
  expect(msOfLocal(at("2024-03-31T02:30:00Z"), zone("Europe/Paris"))).toBe(
    at("2024-03-31T01:30:00Z"),
  );
  // Samoa went without this day.
  expect(msOfLocal(at("2011-12-30T12:00:00Z"), zone("Pacific/Apia"))).toBe(
    at("2011-12-30T22:00:00Z"),
  );
});

test("a local time that occurs once converts back to its moment", () => {
  const names = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "+05:45"];
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.integer({ min: 0, max: 4e9 }).map((seconds) => seconds * 1000),
      (name, ms) => {
        const found = zone(name);
        const localMs = ms + atZone({ ms, nanos: 0, offset: 0 }, found).offset * 60_000;
        const again = msOfLocal(localMs, found) as number;
        // Shown twice: the first of the two, which the same clock shows.
        const shown = again + found.offsetAt(again) * 60_000;
        expect(shown).toBe(localMs);
        expect(again).toBeLessThanOrEqual(ms);
        if (again !== ms) expect(found.offsetAt(again)).not.toBe(found.offsetAt(ms));
      },
    ),
    { numRuns: runs(500) },
  );
});
