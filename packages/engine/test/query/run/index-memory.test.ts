/**
 * Memory on the way through indexes: what a lookup holds is given back when it is over, and what is
 * held is counted.
 */
import type { Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { oneOf } from "../../../../protocol/test/support/test-size.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

async function openJoined(bytes: number): Promise<Statements> {
  const statements = await openStatements({ bytes });
  const { rows, store } = statements;
  const left: Value[] = Array.from({ length: 300 }, (_, i) => ({ _id: i, k: i % 40 }));
  const right: Value[] = Array.from({ length: 3000 }, (_, i) => ({ _id: i, k: i % 40, m: i % 40 }));
  await rows("INSERT INTO a DOCUMENTS (:left)", { left });
  await rows("INSERT INTO b DOCUMENTS (:right)", { right });
  for (const key of ["k", "m"]) await rows(`CREATE INDEX ${key} ON b (${key})`);
  await store.whenIndexesReady();
  return statements;
}

describe("many lookups in one statement", () => {
  const cases: [string, string, number][] = [
    ["one index", "b.k >= a.k AND b.k <= a.k", 22_500],
    ["several values", "b.k IN [a.k, a.k + 1]", 44_475],
    ["several indexes", "b.k = a.k OR b.m = a.k + 1", 44_475],
    ["ids beside an index", "b.k = a.k OR b._id <= a.k", 28_150],
  ];
  test.each(oneOf(2, cases))(
    "take no more memory than the largest of them: %s",
    async (_, on, count) => {
      const { rows } = await openJoined(1_000_000);
      const found = await rows(`SELECT count(*) AS n FROM a JOIN b ON ${on}`);
      expect(found).toEqual([{ n: count }]);
    },
  );

  test("the same holds for subqueries", async () => {
    const { rows } = await openJoined(1_000_000);
    const inner = "SELECT b.m FROM b WHERE b.k = a.k ORDER BY b.m, b._id DESC LIMIT 1";
    const found = await rows(`SELECT count(*) AS n FROM a WHERE a.k IN (${inner})`);
    expect(found).toEqual([{ n: 300 }]);
  });
});

test("the memory of documents with a common long prefix is counted while they are sorted", async () => {
  const { execute, rows, failure } = await openStatements({ bytes: 3_000_000 });
  const long = "x".repeat(50_000);
  for (let i = 0; i < 50; i++) {
    await execute("INSERT INTO c DOCUMENTS ({'_id': :i, 'v': :v})", { i, v: `${long}${i % 7}` });
  }
  await execute("CREATE INDEX v ON c (v)");
  expect((await failure("SELECT _id FROM c ORDER BY v LIMIT 1")).code).toBe("query.too_large");
  expect(await rows("SELECT _id FROM c ORDER BY _id LIMIT 1")).toEqual([{ _id: 0 }]);
});
