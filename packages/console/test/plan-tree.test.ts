/**
 * Plans of EXPLAIN and PROFILE as lines to read.
 */
import { expect, test } from "vitest";
import { planLines, planWarnings, readProfile } from "../src/values/plan-tree.ts";

const scan = (collection: string, more: object = {}): object => ({
  "#operator": "scan",
  collection,
  datasource: "default",
  alias: collection,
  descriptor: { path: { full_scan: {} } },
  ...more,
});

const filter = { "#operator": "filter", condition: "cars.make = 'Fiat'" };
const sequence = (...children: object[]): object => ({ "#operator": "sequence", children });

test("operators are in the order of the plan, each with what it works on", () => {
  const lines = planLines(
    sequence(
      {
        "#operator": "indexScan",
        collection: "cars",
        datasource: "default",
        alias: "c",
        desc: {
          index: "by_make",
          covering: true,
          spans: [
            { key: ["make"], range: { low: { expr: "'Fiat'" }, high: { expr: "'Fiat'" } } },
            { key: ["owner", "age"], range: { low: { expr: "18", included: true } } },
          ],
        },
      },
      { "#operator": "sort", keys: [{ expression: "c.year", direction: "desc" }] },
      {
        "#operator": "projection",
        projections: [
          { name: "make", expression: "c.make" },
          { name: "x", expression: "1" },
        ],
      },
      { "#operator": "limit", limit: "3", offset: "1" },
    ),
  );
  expect(lines.map(({ title, detail }) => `${title}: ${detail}`)).toEqual([
    "Index scan: cars c · by_make · make = 'Fiat' · owner.age >= 18 · covers the statement",
    "Sort: c.year DESC",
    "Projection: c.make, 1 AS x",
    "Limit: 3 · offset 1",
  ]);
  expect(planWarnings(lines)).toEqual([]);
});

test("a full scan whose rows are filtered has a warning, one that lists documents has none", () => {
  expect(planWarnings(planLines(sequence(scan("cars"), filter)))).toEqual([
    "Reads every document of cars",
  ]);
  const listing = sequence(scan("cars"), { "#operator": "limit", limit: "3" });
  expect(planWarnings(planLines(listing))).toEqual([]);
  const ofSystem = sequence(scan("indexes", { datasource: "system" }), filter);
  expect(planWarnings(planLines(ofSystem))).toEqual([]);
});

test("a join that scans its inner side for each row has a warning, a lookup by id has none", () => {
  const join = { "#operator": "nlJoin", on: "a.b = c.d", inner: scan("shops") };
  expect(planWarnings(planLines(sequence(scan("cars"), join)))).toEqual([
    "Reads every document of cars",
    "Reads every document of shops, for each row",
  ]);
  const [, lookup] = planLines(sequence(scan("cars"), { ...join, id: "a.b" }));
  expect(lookup).toMatchObject({ detail: "on a.b = c.d · looks shops up by id", children: [] });
});

test("subqueries and arms of a union are below their operator", () => {
  const part = { ...sequence(scan("b"), filter), isCorrelated: true };
  const [, line] = planLines(sequence(scan("a"), { ...filter, subqueries: [part] }));
  expect(line?.children[0]).toMatchObject({ title: "Subquery", detail: "once for each row" });
  expect(line?.children[0]?.children.map(({ title }) => title)).toEqual(["Full scan", "Filter"]);
  const union = { "#operator": "union", children: [sequence(scan("a")), sequence(scan("b"))] };
  expect(planLines(sequence(union))[0]?.children.map(({ detail }) => detail)).toEqual(["a", "b"]);
});

test("a profile has times in milliseconds, shares, and one operator that took the most", () => {
  const plan = sequence(
    scan("cars", { "#stats": { rows: 100, time: 3_000_000 } }),
    { ...filter, "#stats": { rows: 4, time: 1_000_000 } },
    { "#operator": "limit", limit: "3" },
  );
  const times = { elapsed: 5_000_000, parse: 100_000, plan: 200_000 };
  const profile = readProfile({ "~request_profile": { plan, times, resultCount: 4 } });
  expect(profile).toMatchObject({ elapsedMs: 5, parseMs: 0.1, planMs: 0.2, rows: 4 });
  expect(profile?.plan.map(({ rows, ms, share, isHot }) => [rows, ms, share, isHot])).toEqual([
    [100, 3, 0.75, true],
    [4, 1, 0.25, false],
    [undefined, undefined, 0, false],
  ]);
});

test("other rows are no profile, and an unknown plan has no lines", () => {
  expect([undefined, null, 1, { a: 1 }].map(readProfile)).toEqual(Array(4).fill(undefined));
  expect(planLines("nothing")).toEqual([]);
});
