/**
 * Addresses of the console: the path names the page, the query has the rest.
 */
import { expect, test } from "vitest";
import {
  changeQuery,
  formatRoute,
  PAGE_IDS,
  parseRoute,
  queryOfOtherApp,
} from "../src/route/route-state.ts";

test("an address gives the route that made it", () => {
  for (const page of PAGE_IDS) {
    const route = { page, query: { app: "shop", filter: "a = 'x & y' AND b LIKE '%?#'" } };
    const { pathname, search } = new URL(formatRoute(route), "http://127.0.0.1");
    expect(parseRoute(pathname, search)).toEqual(route);
  }
});

test("the overview is at /, and an unknown path is the overview", () => {
  expect(formatRoute({ page: "overview", query: {} })).toBe("/");
  expect(parseRoute("/", "").page).toBe("overview");
  expect(parseRoute("/nothing", "").page).toBe("overview");
});

test("undefined and an empty text remove a value of the query", () => {
  const changes = { a: undefined, b: "", c: "3" };
  expect(changeQuery({ a: "1", b: "2", d: "4" }, changes)).toEqual({ c: "3", d: "4" });
  expect(formatRoute({ page: "data", query: { a: "" } })).toBe("/data");
});

test("another app has the part of the page, and nothing else of the query", () => {
  const query = { app: "shop", view: "json", before: "7", offset: "50", where: "a = 1", name: "k" };
  expect(queryOfOtherApp(query, "till")).toEqual({ app: "till", view: "json" });
});
