/**
 * The words for completion are those of the language.
 */

import { expect, test } from "vitest";
import {
  FUNCTIONS,
  isFunction,
  isKeyword,
  KEYWORDS,
  SYSTEM_COLLECTIONS,
} from "../../src/language/words.ts";
import { AGGREGATE_NAMES } from "../../src/query/functions/aggregate.ts";
import { FUNCTION_NAMES } from "../../src/query/functions/table.ts";
import { STATEMENT_WORDS } from "../../src/query/syntax/keywords.ts";

test("all functions and aggregates are listed", () => {
  expect(FUNCTIONS).toEqual([...FUNCTION_NAMES, ...AGGREGATE_NAMES].toSorted());
  expect(isFunction("COALESCE")).toBe(true);
});

test("the words that begin a statement are keywords", () => {
  expect(STATEMENT_WORDS.filter((word) => !isKeyword(word))).toEqual([]);
  expect(new Set(KEYWORDS).size).toBe(KEYWORDS.length);
});

test("collections of the system have their namespace", () => {
  expect(SYSTEM_COLLECTIONS.every((name) => /^system:[a-z_]+$/.test(name))).toBe(true);
});
