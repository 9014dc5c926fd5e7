/**
 * Joins through an index: how much is looked up before the right side is read as a whole. What they
 * find is the same either way.
 */
import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openStatements } from "../../support/run-statements.ts";

/** Entries of the index that a join of 300 documents with 1000 others met, and how many rows it has. */
async function joined(on: string): Promise<{ rows: unknown; entries: unknown }> {
  const { rows } = await openStatements();
  const docs: Value[] = Array.from({ length: 1000 }, (_, i) => ({ _id: i, n: i, m: i % 4, q: i }));
  await rows("INSERT INTO a DOCUMENTS (:docs)", { docs: docs.slice(0, 300) });
  await rows("INSERT INTO b DOCUMENTS (:docs)", { docs });
  for (const key of ["n", "m"]) await rows(`CREATE INDEX ${key} ON b (${key})`);
  const found = await rows(`PROFILE SELECT count(b.q) AS rows FROM a JOIN b ON ${on}`);
  const profile = (found.at(-1) as ValueObject)["~request_profile"] as ValueObject;
  const steps = (profile["plan"] as ValueObject)["children"] as readonly ValueObject[];
  const inner = steps[1]?.["inner"] as ValueObject;
  const [scan] = inner["children"] as readonly ValueObject[];
  const stats = scan?.["#stats"] as ValueObject;
  return { rows: (found[0] as ValueObject)["rows"], entries: stats["rows"] };
}

test("if each row finds few matches, all rows use the index: the alternative tries every pair", async () => {
  expect(await joined("b.n >= a.n AND b.n <= a.n + 1")).toEqual({ rows: 600, entries: 600 });
});

test("if all keys together are more selective than the index, the right side is read once", async () => {
  expect(await joined("b.m = a.m AND b.q = a.n")).toEqual({ rows: 300, entries: 250 });
});

test("as many left rows as the right side has documents are not looked up one by one", async () => {
  expect(await joined("b.n = a.n")).toEqual({ rows: 300, entries: 84 });
});
