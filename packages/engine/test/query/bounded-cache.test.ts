/**
 * BoundedCache: what is kept, and what is forgotten.
 */
import { expect, test } from "vitest";
import { BoundedCache } from "../../src/query/bounded-cache.ts";

test("a value is made once for as long as it is kept, undefined included", () => {
  const cache = new BoundedCache<string, number | undefined>(2);
  let made = 0;
  const make = (): undefined => void made++;
  expect(cache.obtain("a", make)).toBeUndefined();
  expect(cache.obtain("a", make)).toBeUndefined();
  expect(made).toBe(1);
});

test("when it is full, what was not used for the longest time goes first", () => {
  const cache = new BoundedCache<string, string>(2);
  const made: string[] = [];
  const make = (key: string): string => {
    made.push(key);
    return key.toUpperCase();
  };
  for (const key of ["a", "b", "a", "c", "a", "b"]) {
    expect(cache.obtain(key, make)).toBe(key.toUpperCase());
    expect(cache.count).toBeLessThanOrEqual(2);
  }
  expect(made).toEqual(["a", "b", "c", "b"]);
});
