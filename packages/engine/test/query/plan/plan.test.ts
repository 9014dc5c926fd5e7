/**
 * Plans: which way to the documents is chosen, as EXPLAIN tells it.
 */
import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { openStatements } from "../../support/run-statements.ts";

/** The operators of a plan in their order. */
async function operatorsOf(statement: string): Promise<ValueObject[]> {
  const { rows } = await openStatements();
  const [row] = await rows(`EXPLAIN ${statement}`);
  const plan = isObject(row) ? row["plan"] : undefined;
  const children = isObject(plan) ? plan["children"] : undefined;
  if (!isArray(children)) throw new Error("expected a plan with children");
  return children as ValueObject[];
}

async function namesOf(statement: string): Promise<Value[]> {
  return (await operatorsOf(statement)).map((each) => each["#operator"] ?? null);
}

describe("access", () => {
  test.each([
    ["SELECT * FROM c", "scan"],
    ["SELECT * FROM c WHERE a = 1", "scan"],
    ["SELECT * FROM c WHERE _id = 'x'", "idScan"],
    ["SELECT * FROM c WHERE 'x' = _id", "idScan"],
    ["SELECT * FROM c WHERE a > 1 AND (_id = :id AND b = 2)", "idScan"],
    ["SELECT * FROM c WHERE _id IN :ids", "idScan"],
    ["SELECT * FROM c WHERE _id IN ('x', 'y')", "idScan"],
    ["SELECT * FROM c USE IDS 'x'", "idScan"],
    ["SELECT * FROM c WHERE _id = 'x' OR a = 1", "scan"],
    ["SELECT * FROM c WHERE _id = a", "scan"],
    ["SELECT * FROM c WHERE _id NOT IN ('x')", "scan"],
    ["UPDATE c SET a = 1 WHERE _id = 'x'", "idScan"],
    ["DELETE FROM c WHERE _id IN :ids", "idScan"],
  ])("%s starts with %s", async (statement, operator) => {
    expect((await namesOf(statement))[0]).toBe(operator);
  });
});

describe("joins", () => {
  test.each([
    ["a._id = b.x", "hashJoin", false],
    ["b._id = a.x", "nlJoin", true],
    ["a.x = b.x", "hashJoin", false],
    ["upper(b.x) = a.y AND b.z = 1", "hashJoin", false],
    ["a.x < b.x", "nlJoin", false],
    ["a.x = b.x OR a.y = b.y", "nlJoin", false],
    ["true", "nlJoin", false],
  ])("ON %s uses %s", async (on, operator, isLookUp) => {
    const [, join] = await operatorsOf(`SELECT a._id FROM c a JOIN d b ON ${on}`);
    expect(join?.["#operator"]).toBe(operator);
    expect("id" in (join ?? {})).toBe(isLookUp);
  });
});

test("operators are listed in the order in which a row passes them", async () => {
  const statement =
    "SELECT DISTINCT a, count(*) AS n FROM c WHERE b > 1 GROUP BY a HAVING count(*) > 1 ORDER BY n LIMIT 2";
  expect(await namesOf(statement)).toEqual([
    "scan",
    "filter",
    "group",
    "filter",
    "sort",
    "projection",
    "distinct",
    "limit",
  ]);
});

test("the plan of a mutation shows order and window as well", async () => {
  expect(await namesOf("DELETE FROM c WHERE a = 1 ORDER BY b LIMIT 3")).toEqual([
    "scan",
    "filter",
    "sort",
    "limit",
    "delete",
  ]);
});

test.each(["EXPLAIN SHOW ALL", "EXPLAIN ALTER SYSTEM RESET ALL", "ADVISE EXPLAIN DELETE FROM c"])(
  "%s has no plan and is not explained",
  async (statement) => {
    const { failure } = await openStatements();
    const place = { line: 1, column: 1 };
    expect(await failure(statement)).toMatchObject({ code: "query.semantic", place });
  },
);

test("EXPLAIN runs nothing", async () => {
  const { execute, rows } = await openStatements();
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  await execute("EXPLAIN DELETE FROM c");
  await execute("EXPLAIN INSERT INTO c DOCUMENTS ({'_id': 'b'})");
  await execute("EXPLAIN CREATE INDEX i ON c (a)");
  expect(await rows("SELECT _id FROM c")).toEqual([{ _id: "a" }]);
  expect(await rows("SELECT _id FROM system:indexes")).toEqual([]);
});

test("PROFILE runs the statement and adds a row about it", async () => {
  const { execute, rows } = await openStatements();
  const result = await execute("PROFILE INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  expect(result.mutatedDocumentIds).toEqual(["a"]);
  expect(result.items).toMatchObject([
    { "~request_profile": { queryType: "mutation", resultCount: 1, state: "completed" } },
  ]);
  const [row, profile] = await rows("PROFILE SELECT _id FROM c");
  expect(row).toEqual({ _id: "a" });
  expect(profile).toMatchObject({ "~request_profile": { resultCount: 1, plan: {} } });
});
