/**
 * Statement cache: what is made once, what is forgotten first, and that it is bounded.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StatementCache } from "../../../src/query/statement/statement-cache.ts";

function counting(): { readonly make: (text: string) => string; readonly made: string[] } {
  const made: string[] = [];
  return {
    made,
    make: (text) => {
      made.push(text);
      return text.toUpperCase();
    },
  };
}

test("each text is prepared once", () => {
  const cache = new StatementCache<string>();
  const { make, made } = counting();
  expect([cache.get("a", make), cache.get("a", make), cache.get("b", make)]).toEqual([
    "A",
    "A",
    "B",
  ]);
  expect(made).toEqual(["a", "b"]);
  expect(cache.totals).toEqual({ hits: 1, misses: 2, evicted: 0, count: 2, length: 2 });
});

test("the least recently used statement is evicted first", () => {
  const cache = new StatementCache<string>({ countMax: 2, lengthMax: 1000 });
  const { make, made } = counting();
  for (const text of ["a", "b", "a", "c", "a", "b"]) cache.get(text, make);
  expect(made).toEqual(["a", "b", "c", "b"]);
});

test("a text that fails to prepare is not cached", () => {
  const cache = new StatementCache<string>();
  const fail = (): string => {
    throw new Error("wrong");
  };
  expect(() => cache.get("a", fail)).toThrow("wrong");
  expect(cache.totals.count).toBe(0);
  expect(cache.get("a", () => "right")).toBe("right");
});

test("one long text does not evict all others", () => {
  const cache = new StatementCache<string>({ countMax: 100, lengthMax: 80 });
  const { make } = counting();
  cache.get("a", make);
  cache.get("x".repeat(11), make);
  expect(cache.totals).toMatchObject({ count: 1, length: 1, evicted: 0 });
});

test("each statement is a row with its hits, the most recently prepared first", () => {
  const cache = new StatementCache<string>();
  const { make } = counting();
  for (const text of ["a", "b", "a"]) cache.get(text, make);
  expect([...cache.rows()]).toEqual([
    { id: "1", fields: { text: "b", hits: 0 } },
    { id: "2", fields: { text: "a", hits: 1 } },
  ]);
});

test("for any requests the cache returns the right value and both limits hold", () => {
  const words = fc.array(fc.string({ minLength: 0, maxLength: 12 }), { maxLength: 200 });
  fc.assert(
    fc.property(
      words,
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 8, max: 60 }),
      (asked, countMax, lengthMax) => {
        const cache = new StatementCache<string>({ countMax, lengthMax });
        for (const text of asked) {
          expect(cache.get(text, (given) => `made of ${given}`)).toBe(`made of ${text}`);
          const kept = [...cache.rows()].map(({ fields }) => fields["text"] as string);
          expect(cache.totals.count).toBe(kept.length);
          expect(cache.totals.length).toBe(kept.join("").length);
          expect(kept.length).toBeLessThanOrEqual(countMax);
          expect(cache.totals.length).toBeLessThanOrEqual(lengthMax);
        }
        expect(cache.totals.hits + cache.totals.misses).toBe(asked.length);
      },
    ),
  );
});
