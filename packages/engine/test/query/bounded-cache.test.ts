/**
 * BoundedCache: what is kept, and what is forgotten.
 */
import { expect, test } from "vitest";
import { BoundedCache } from "../../src/query/bounded-cache.ts";

test("a value is computed once while it is cached, undefined included", () => {
  const cache = new BoundedCache<string, number | undefined>(2);
  let made = 0;
  const make = (): undefined => void made++;
  expect(cache.obtain("a", make)).toBeUndefined();
  expect(cache.obtain("a", make)).toBeUndefined();
  expect(made).toBe(1);
});

test("a full cache evicts the least recently used value", () => {
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
