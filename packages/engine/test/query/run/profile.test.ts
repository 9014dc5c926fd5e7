/**
 * PROFILE: what it counts.
 */
import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { authorityOf, callerOf } from "../../support/caller.ts";
import { numbered, openStatements } from "../../support/run-statements.ts";

/** The rows of each operator. */
function countsOf(found: readonly Value[]): unknown[] {
  const profile = (found.at(-1) as ValueObject)["~request_profile"] as ValueObject;
  const steps = (profile["plan"] as ValueObject)["children"] as readonly ValueObject[];
  return steps.map((step) => [
    step["#operator"],
    (step["#stats"] as ValueObject | undefined)?.["rows"],
  ]);
}

test("a row that waits for a subquery counts once", async () => {
  const { rows } = await openStatements();
  await rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(6000) });
  const inner = "SELECT c.n FROM c WHERE c.k = 1 AND c.n > a.n";
  const found = await rows(`PROFILE SELECT a.n IN (${inner}) AS isMember FROM c a WHERE a._id < 3`);
  expect(countsOf(found)).toEqual([
    ["scan", 3],
    ["filter", 3],
    ["projection", 3],
  ]);
});

test("index entries of documents that the caller may not read are not counted", async () => {
  const { rows, runner } = await openStatements();
  await rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(900) });
  await rows("CREATE INDEX n ON c (n)");
  const caller = callerOf(runner, authorityOf({ c: ["n % 300 = 0"] }));
  const found = await caller.rows("PROFILE SELECT k FROM c WHERE n >= 0");
  expect(countsOf(found)).toEqual([
    ["scan", 3],
    ["filter", 3],
    ["projection", 3],
  ]);
  await rows("CREATE INDEX k ON c (k, n)");
  const keyed = callerOf(runner, authorityOf({ c: ["k == 3", "k == 4"] }));
  const counts = countsOf(await keyed.rows("PROFILE SELECT k FROM c WHERE n >= 0")) as unknown[][];
  expect(counts[0]?.[0]).toBe("indexScan");
  expect(counts[0]?.[1]).toBe(counts.at(-1)?.[1]);
});

test("a list longer than the collection is not looked up value by value", async () => {
  const { rows } = await openStatements();
  await rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(900) });
  await rows("CREATE INDEX n ON c (n)");
  const fetched = async (list: readonly number[]): Promise<unknown> =>
    countsOf(await rows("PROFILE SELECT k FROM c WHERE n IN :list", { list }))[1];
  expect(await fetched(Array.from({ length: 1000 }, (_, i) => 1000 + i))).toEqual(["fetch", 0]);
  expect(await fetched(Array.from({ length: 1100 }, (_, i) => 1000 + i))).toEqual(["fetch", 900]);
});
