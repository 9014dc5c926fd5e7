/**
 * Pages of lists.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { pageBody, readPageRequest } from "../../src/management/page.ts";

const LETTERS = ["a", "b", "c", "d", "e"];

test.each([
  ["", LETTERS, { page: 1, size: 5, totalPages: 1 }],
  ["other=1", LETTERS, { page: 1, size: 5, totalPages: 1 }],
  ["page=1", LETTERS, { page: 1, size: 100, totalPages: 1 }],
  ["size=2", ["a", "b"], { page: 1, size: 2, totalPages: 3 }],
  ["page=3&size=2", ["e"], { page: 3, size: 2, totalPages: 3 }],
  ["page=4&size=2", [], { page: 4, size: 2, totalPages: 3 }],
  ["page=1000000&size=1000", [], { page: 1_000_000, size: 1_000, totalPages: 1 }],
])("[M11] of five entries ?%s shows %j", (query, data, meta) => {
  expect(pageBody(LETTERS, query, (letter) => letter)).toEqual({ data, meta });
});

test("[M11] an empty list is one empty page", () => {
  const show = (): null => null;
  const empty = { page: 1, size: 0, totalPages: 1 };
  expect(pageBody([], "", show)).toEqual({ data: [], meta: empty });
  expect(pageBody([], "size=10", show)).toEqual({ data: [], meta: { ...empty, size: 10 } });
});

test.each(["page", "size"])("[M11] a repeated %s is refused", (name) => {
  const error = new PeerError("value.invalid", "expected it once", { at: `the parameter ${name}` });
  expect(() => readPageRequest(`${name}=1&${name}=1`)).toThrow(error);
});

test.each([
  ["page=0", "page", 1000000, "0"],
  ["page=1.5", "page", 1000000, "1.5"],
  ["page=-1", "page", 1000000, "-1"],
  ["page=", "page", 1000000, ""],
  ["size=1001", "size", 1000, "1001"],
  ["page=1&size=all", "size", 1000, "all"],
])("[M11] ?%s is refused because of its %s", (query, name, max, found) => {
  const message = `expected a number from 1 to ${max}, found "${found}"`;
  const error = new PeerError("value.invalid", message, { at: `the parameter ${name}` });
  expect(() => readPageRequest(query)).toThrow(error);
});
