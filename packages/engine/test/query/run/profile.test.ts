/**
 * PROFILE: rows are counted once, however often they are tried.
 */
import type { ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { numbered, openStatements } from "../../support/run-statements.ts";

test("a row that waits for a query inside of it counts once", async () => {
  const { rows } = await openStatements();
  await rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(6000) });
  const inner = "SELECT c.n FROM c WHERE c.k = 1 AND c.n > a.n";
  const found = await rows(`PROFILE SELECT a.n IN (${inner}) AS isMember FROM c a WHERE a._id < 3`);
  const profile = (found.at(-1) as ValueObject)["~request_profile"] as ValueObject;
  const steps = (profile["plan"] as ValueObject)["children"] as readonly ValueObject[];
  const counts = steps.map((step) => [step["#operator"], (step["#stats"] as ValueObject)["rows"]]);
  expect(counts).toEqual([
    ["scan", 3],
    ["filter", 3],
    ["projection", 3],
  ]);
});
