/**
 * Date formats, both languages, both directions.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { findDateFormat, formatDate, formatIso } from "../../../src/query/date/date-format.ts";
import { parseDate, parseIso } from "../../../src/query/date/date-parse.ts";
import type { Moment } from "../../../src/query/date/moment.ts";
import { atZone, findZone } from "../../../src/query/date/zone.ts";

/** Friday, in the afternoon. */
const MOMENT = "2024-05-17T15:09:08.120003Z";

function show(format: string, text = MOMENT): string | undefined {
  const known = findDateFormat(format);
  const moment = parseIso(text);
  if (moment === undefined) throw new Error(`expected a date, found ${text}`);
  return known && formatDate(known, moment);
}

function read(format: string, text: string): string | undefined {
  const known = findDateFormat(format);
  if (known === undefined) throw new Error(`expected a format, found ${format}`);
  const moment = parseDate(known, text);
  return moment && formatIso(moment);
}

const anyMoment: fc.Arbitrary<Moment> = fc.record({
  // The years 0 to 9999.
  ms: fc.integer({ min: -62_167_132_800_000, max: 253_402_214_400_000 }),
  nanos: fc.integer({ min: 0, max: 999_999 }),
  offset: fc.integer({ min: -1439, max: 1439 }),
});

test("a text in RFC 3339 has a date, a time and an offset", () => {
  for (const text of [
    "2024-05-17T08:09:10Z",
    "2024-05-17t08:09:10z",
    "2024-05-17 08:09:10+00:00",
    "2024-05-17T10:09:10+02:00",
    "2024-05-17T08:09:10.000Z",
  ]) {
    expect(parseIso(text)?.ms, text).toBe(1_715_933_350_000);
  }
  for (const text of [
    "",
    "2024-05-17",
    "2024-05-17T08:09:10",
    "2024-05-17T08:09Z",
    "20240517T080910Z",
    "2024-05-17T08:09:10.Z",
    "2024-05-17T08:09:10+02",
    "24-05-17T08:09:10Z",
    "12024-05-17T08:09:10Z",
    "2024-05-17T08:09:10Z ",
    `2024-05-17T08:09:10.${"1".repeat(1e6)}Z`,
  ]) {
    expect(parseIso(text), text.slice(0, 40)).toBeUndefined();
  }
});

test("days and times that do not exist are not dates", () => {
  for (const text of [
    "2023-02-29T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "2024-00-01T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z",
    "2016-12-31T23:59:60Z",
    "2024-01-01T00:00:00+24:00",
    "+999999-01-01T00:00:00Z",
  ]) {
    expect(parseIso(text), text).toBeUndefined();
  }
});

test("a fraction has as many digits as it needs, and nanoseconds at most", () => {
  const shown = (fraction: string): string =>
    formatIso(parseIso(`2024-01-01T00:00:00${fraction}Z`) as Moment).slice(19, -6);
  expect([".5", ".120", ".1200", ".123456", ".000000001", ".0000000009", ""].map(shown)).toEqual([
    ".500",
    ".120",
    ".120",
    ".123456",
    ".000000001",
    "",
    "",
  ]);
});

test("years without four digits have a sign, and parse back", () => {
  for (const [ms, text] of [
    [253_402_300_800_000, "+10000-01-01T00:00:00+00:00"],
    [-62_167_219_200_001, "-0001-12-31T23:59:59.999+00:00"],
    [8.64e15, "+275760-09-13T00:00:00+00:00"],
    [-8.64e15, "-271821-04-20T00:00:00+00:00"],
  ] as const) {
    const moment = { ms, nanos: 0, offset: 0 };
    expect(formatIso(moment)).toBe(text);
    expect(parseIso(text)).toEqual(moment);
  }
});

test.each([
  ["YYYY-MM-DD", "2024-05-17"],
  ["YYYY-MM-DD hh:mm:ss.sss", "2024-05-17 15:09:08.120003"],
  ["DD hh:mm:ss.sss", "17 15:09:08.120"],
  ["YYYY-MM-DDThh:mm:ssTZD", "2024-05-17T15:09:08+0000"],
  ["YY/M/D", "24/M/D"],
  ["TZN", "+00:00"],
  ["plain", "plain"],
  ["", "2024-05-17T15:09:08.120003+00:00"],
])("words: %s gives %s", (format, text) => {
  expect(show(format)).toBe(text);
});

test.each([
  ["%Y %C %y %m %d %e %j", "2024 20 24 05 17 17 138"],
  ["%B %b %h %A %a", "May May May Friday Fri"],
  ["%u %w %U %W %G %g %V", "5 5 19 20 2024 24 20"],
  ["%H %k %I %l %p %P %M %S", "15 15 03  3 PM pm 09 08"],
  ["%f %.f %3f %.6f %.9f", "120003000 .120003 120 .120003 .120003000"],
  ["%D|%x|%F|%v", "05/17/24|05/17/24|2024-05-17|17-May-2024"],
  ["%R|%T|%X|%r", "15:09|15:09:08|15:09:08|03:09:08 PM"],
  ["%z %:z %::z %:::z %Z", "+0000 +00:00 +00:00:00 +00 +00:00"],
  ["%c", "Fri May 17 15:09:08 2024"],
  ["%+", "2024-05-17T15:09:08.120003+00:00"],
  ["%s", "1715958548"],
  ["100%% %n%t", "100% \n\t"],
  ["%-d %-m %_m %-I %0e %_j", "17 5  5 3 17 138"],
])("percent signs: %s", (format, text) => {
  expect(show(format)).toBe(text);
});

test("an unknown directive makes the format invalid", () => {
  for (const format of ["%", "%Q", "%!", "a%", "%-B", "%:d", "%4f", "%.z", "% d", "%_z"]) {
    expect(show(format), format).toBeUndefined();
  }
  expect(findDateFormat("x".repeat(2000))).toBeUndefined();
});

test("days before the first week of the year are in week 0; midnight and noon are 12", () => {
  expect(show("%U %W %j", "2023-01-01T00:00:00Z")).toBe("01 00 001");
  expect(show("%U %W", "2024-01-01T00:00:00Z")).toBe("00 01");
  expect(show("%I%p", "2024-01-01T00:00:00Z")).toBe("12AM");
  expect(show("%I%p", "2024-01-01T12:00:00Z")).toBe("12PM");
});

test("seconds before 1970 are rounded down, not towards zero", () => {
  expect(show("%s", "1969-12-31T23:59:59.500Z")).toBe("-1");
  expect(read("%s", "-1")).toBe("1969-12-31T23:59:59+00:00");
});

test("a format shows the local time at an offset or in a zone", () => {
  const format = findDateFormat("%F %R %:z %Z") ?? [];
  const moment = parseIso(MOMENT) as Moment;
  const shown = (name: string): string => {
    const zone = findZone(name);
    return zone === undefined ? "" : formatDate(format, atZone(moment, zone));
  };
  expect(shown("Asia/Tokyo")).toBe("2024-05-18 00:09 +09:00 Asia/Tokyo");
  expect(shown("-03:30")).toBe("2024-05-17 11:39 -03:30 -03:30");
  expect(shown("utc")).toBe("2024-05-17 15:09 +00:00 UTC");
});

test.each([
  ["%d/%m/%Y", "15/03/2026", "2026-03-15T00:00:00+00:00"],
  ["%d/%m/%Y", "5/3/2026", "2026-03-05T00:00:00+00:00"],
  ["YYYY-MM-DD", "2024-05-17", "2024-05-17T00:00:00+00:00"],
  ["YYYY-MM-DD hh:mm:ss.sssTZD", "2024-05-17 08:09:10.120+02:00", "2024-05-17T08:09:10.120+02:00"],
  ["hh:mm", "08:09", "1970-01-01T08:09:00+00:00"],
  ["%Y%m%d", "20240517", "2024-05-17T00:00:00+00:00"],
  ["%j/%Y", "366/2024", "2024-12-31T00:00:00+00:00"],
  ["%A, %d %B %Y", "friday, 17 MAY 2024", "2024-05-17T00:00:00+00:00"],
  ["%a %b %e %T %Y", "Sun Mar  3 01:02:03 2024", "2024-03-03T01:02:03+00:00"],
  ["%d.%m.%y", "17.05.69", "2069-05-17T00:00:00+00:00"],
  ["%d.%m.%y", "17.05.70", "1970-05-17T00:00:00+00:00"],
  ["%C%y", "1999", "1999-01-01T00:00:00+00:00"],
  ["%I:%M %p", "12:30 am", "1970-01-01T00:30:00+00:00"],
  ["%I:%M %p", "12:30 PM", "1970-01-01T12:30:00+00:00"],
  ["%s", "1715933350", "2024-05-17T08:09:10+00:00"],
  ["%T%.f", "00:00:01.5", "1970-01-01T00:00:01.500+00:00"],
  ["%T%.f", "00:00:01", "1970-01-01T00:00:01+00:00"],
  ["%F %z", "2024-05-17 -0330", "2024-05-17T00:00:00-03:30"],
  ["%F %::z", "2024-05-17 +01:00:00", "2024-05-17T00:00:00+01:00"],
  ["YYYY-MM-DD TZN", "2024-07-01 Europe/Paris", "2024-07-01T00:00:00+02:00"],
  ["%F %:z %Z", "2024-07-01 +00:00 Asia/Tokyo", "2024-07-01T00:00:00+00:00"],
  ["%Y", "+12024", "+12024-01-01T00:00:00+00:00"],
])("%s reads %s", (format, text, date) => {
  expect(read(format, text)).toBe(date);
});

test("a text that does not match the format is not a date", () => {
  for (const [format, text] of [
    ["%d/%m/%Y", "15-03-2026"],
    ["%d/%m/%Y", "15/03/2026 "],
    ["%d/%m/%Y", "/03/2026"],
    ["YYYY-MM-DD", "2024-02-30"],
    ["bogus", "2024-05-17T08:09:10Z"],
    ["%j %Y", "366 2023"],
    ["%j %Y", "000 2023"],
    ["%j %F", "001 2023-01-02"],
    ["%Y %Y", "2023 2024"],
    ["%A %F", "Monday 2024-05-17"],
    ["%w %F", "0 2024-05-17"],
    ["%B", "Maybe"],
    ["%I", "03"],
    ["%I %p", "13 PM"],
    ["%p", "xx"],
    ["%G-%V", "2024-20"],
    ["%Z", "Nowhere/Bogus"],
    ["%z", "+99"],
    ["%d", "-1"],
    ["%s", "99999999999999"],
    ["%Y", "+999999"],
    ["%d", "x".repeat(1e6)],
  ] as const) {
    expect(read(format, text), `${format} ${text.slice(0, 30)}`).toBeUndefined();
  }
});

test.each([
  "%Y-%m-%dT%H:%M:%S%.9f%:z",
  "%j %Y %I:%M:%S %p %f %z",
  "%A, %-d %B %Y, %k:%M:%S%.f (%::z)",
  "%s %9f %z",
  "%+",
])("a date formatted with %s parses back", (text) => {
  const format = findDateFormat(text) ?? [];
  fc.assert(
    fc.property(anyMoment, (moment) => {
      expect(parseDate(format, formatDate(format, moment))).toEqual(moment);
    }),
  );
});

test("a date formatted with words parses back, to the millisecond", () => {
  const format = findDateFormat("DD.MM.YYYY hh:mm:ss.sss TZD") ?? [];
  fc.assert(
    fc.property(anyMoment, (moment) => {
      const whole = { ...moment, nanos: 0 };
      expect(parseDate(format, formatDate(format, moment))).toEqual(whole);
    }),
  );
});

test("any text is a valid or an invalid format, and parsing with it never throws", () => {
  const anyText = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc
      .array(fc.constantFrom(...Array.from("%YmdHMSzfspjeAB:.+-_0TZDN ")), { maxLength: 12 })
      .map((parts) => {
        return parts.join("");
      }),
  );
  fc.assert(
    fc.property(anyText, anyText, anyMoment, (format, text, moment) => {
      const known = findDateFormat(format);
      if (known === undefined) return;
      parseDate(known, text);
      parseDate(known, formatDate(known, moment));
    }),
    { numRuns: runs(1000) },
  );
});
