/**
 * The nearest name: what counts as near, and what does not.
 */

import { expect, test } from "vitest";
import { nearest } from "../src/near-name.ts";

const KNOWN = ["upper", "lower", "array_append", "array_concat", "abs"];

test("a name with a wrong, missing or extra letter is similar", () => {
  expect(nearest("uper", KNOWN)).toBe("upper");
  expect(nearest("lowerr", KNOWN)).toBe("lower");
  expect(nearest("array_appent", KNOWN)).toBe("array_append");
});

test("the most similar of several is taken, the first of equals", () => {
  expect(nearest("array_conpat", KNOWN)).toBe("array_concat");
  expect(nearest("b", ["a", "c"])).toBe("a");
});

test("letter case is ignored", () => {
  expect(nearest("UPPER", KNOWN)).toBe("upper");
  expect(nearest("Abs", ["ABS"])).toBe("ABS");
});

test("a name that differs in more than a third of its letters is another word", () => {
  expect(nearest("replace", KNOWN)).toBeUndefined();
  expect(nearest("sqrt", KNOWN)).toBeUndefined();
  expect(nearest("anything", [])).toBeUndefined();
});

test("a name that is too long to be a typo is not compared", () => {
  const long = "a".repeat(65);
  expect(nearest(long, [long])).toBeUndefined();
  expect(nearest("a".repeat(64), ["a".repeat(63)])).toBe("a".repeat(63));
});
