/**
 * What is asked for of another store: the conditions of a replication as statements.
 */

import { expect, test } from "vitest";
import { listQueries, queryKey, statementOf } from "../../src/link/link-query.ts";
import { prepareCondition } from "../../src/query/live/live-statement.ts";
import { testPlatform } from "../support/test-platform.ts";

test("[S50] each condition of each collection is a query of its own, once", () => {
  expect(listQueries({ cars: ["true", "n = 1", "true"], boats: [] })).toEqual([
    { collection: "cars", condition: "true" },
    { collection: "cars", condition: "n = 1" },
  ]);
});

test("[S50] a condition in the filter language becomes a SELECT that can be followed", () => {
  const cases = [
    ["cars", "true", "SELECT * FROM cars"],
    ["cars", "color == 'red' && n > 1", "SELECT * FROM cars WHERE color = 'red' AND n > 1"],
    ["my cars", "!(n > 1)", "SELECT * FROM `my cars` WHERE NOT n > 1"],
    ["select", "n == null", "SELECT * FROM `select` WHERE n IS NULL OR n IS MISSING"],
    ["cars", "cars.n = 1", "SELECT * FROM cars AS `the document` WHERE cars.n = 1"],
    ["cars", "contains(tags, 'a')", "SELECT * FROM cars WHERE filter_contains(tags, 'a')"],
  ] as const;
  for (const [collection, condition, statement] of cases) {
    const text = statementOf({ collection, condition });
    expect(prepareCondition(text).plan.collection).toBe(collection);
    expect(text).toBe(statement);
  }
});

test("an invalid condition is reported with its place", () => {
  expect(() => statementOf({ collection: "cars", condition: "n = " })).toThrow("expected");
});

test("a query is named by its text, and by its collection", () => {
  const platform = testPlatform();
  const key = queryKey({ collection: "cars", condition: "true" }, platform);
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(queryKey({ collection: "boats", condition: "true" }, platform)).not.toBe(key);
});
