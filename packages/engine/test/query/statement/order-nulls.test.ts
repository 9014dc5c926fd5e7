/**
 * NULLS FIRST and NULLS LAST: where null and MISSING go in an order.
 */
import { expect, test } from "vitest";
import { openStatements, type Statements } from "../../support/run-statements.ts";

async function openPrices(): Promise<Statements> {
  const statements = await openStatements();
  await statements.execute(
    "INSERT INTO c DOCUMENTS ({'_id': 'one', 'p': 1}), ({'_id': 'two', 'p': 2}), ({'_id': 'null', 'p': null}), ({'_id': 'missing'}), ({'_id': 'failed', 'p': 'x'})",
  );
  return statements;
}

test.each([
  ["p", "one two failed null missing"],
  ["p NULLS LAST", "one two failed null missing"],
  ["p NULLS FIRST", "null missing one two failed"],
  ["p ASC NULLS FIRST", "null missing one two failed"],
  ["p DESC", "missing null failed two one"],
  ["p DESC NULLS FIRST", "missing null failed two one"],
  ["p DESC NULLS LAST", "failed two one missing null"],
  ["p * 2 NULLS FIRST, _id", "failed null missing one two"],
  ["p IS NULL, p nulls first", "missing one two failed null"],
])("ORDER BY %s gives %s", async (order, ids) => {
  const { rows } = await openPrices();
  const found = await rows(`SELECT _id FROM c ORDER BY ${order}`);
  expect(found).toEqual(ids.split(" ").map((_id) => ({ _id })));
});

test("the same holds for the documents that a mutation selects", async () => {
  const { execute } = await openPrices();
  const result = await execute("DELETE FROM c ORDER BY p NULLS FIRST LIMIT 2");
  expect(result.mutatedDocumentIds).toEqual(["null", "missing"]);
});

test("EXPLAIN shows it, and NULLS alone is not an order", async () => {
  const { rows, failure } = await openPrices();
  const plan = JSON.stringify(await rows("EXPLAIN SELECT _id FROM c ORDER BY p DESC NULLS LAST"));
  expect(plan).toContain('"direction":"desc","nulls":"last"');
  const error = await failure("SELECT _id FROM c ORDER BY p NULLS");
  expect(error.message).toContain("expected FIRST or LAST");
});
