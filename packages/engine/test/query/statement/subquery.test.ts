/**
 * Queries inside of statements: what they see, when they run, what they may use.
 */
import type { ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { authorityOf, callerOf } from "../../support/caller.ts";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

async function openShop(): Promise<Statements> {
  const statements = await openStatements();
  const { execute } = statements;
  await execute(
    "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'make': 'Fiat', 'tags': ['x', 'y']}), ({'_id': 'b', 'make': 'Volvo', 'tags': []}), ({'_id': 'c', 'tags': 'x'}), ({'_id': 'd', 'make': null})",
  );
  await execute(
    "INSERT INTO makers DOCUMENTS ({'_id': 'Fiat', 'n': 1}), ({'_id': 'Saab', 'n': 2})",
  );
  return statements;
}

function idsOf(rows: readonly unknown[]): unknown[] {
  return rows.map((row) => (row as ValueObject)["_id"]);
}

describe("IN with a query", () => {
  test.each([
    ["make IN (SELECT _id FROM makers)", ["a"]],
    ["make NOT IN (SELECT _id FROM makers)", ["b"]],
    ["make IN (SELECT VALUE m FROM makers m)", []],
    ["make IN (SELECT _id FROM nosuch)", []],
    ["make NOT IN (SELECT _id FROM nosuch)", ["a", "b"]],
    ["make NOT IN (SELECT nosuch FROM makers)", []],
    ["make IN (SELECT n FROM makers)", []],
    ["'x' IN (SELECT t FROM makers m UNNEST cars.tags AS t)", ["a"]],
    [
      "_id IN (SELECT _id FROM cars WHERE make = 'Volvo' UNION SELECT 'c' AS x FROM makers)",
      ["b", "c"],
    ],
  ])("WHERE %s selects %j, as with a list of the same values", async (condition, ids) => {
    const { rows } = await openShop();
    expect(idsOf(await rows(`SELECT _id FROM cars WHERE ${condition} ORDER BY _id`))).toEqual(ids);
  });

  test.each([
    "make IN (SELECT * FROM makers)",
    "make IN (SELECT _id, n FROM makers)",
    "make IN (SELECT makers.* FROM makers)",
    "make IN (SELECT n FROM makers UNION SELECT VALUE m FROM makers m)",
  ])("%s does not have exactly one column", async (condition) => {
    const { failure } = await openShop();
    const error = await failure(`SELECT _id FROM cars WHERE ${condition}`);
    expect([error.code, error.message]).toEqual([
      "query.semantic",
      expect.stringContaining("expected a SELECT of one column after IN"),
    ]);
  });

  test("a long list is looked up, with the same answers", async () => {
    const { rows, execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(50) });
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'x', 'n': null})");
    const counts = await rows(
      "SELECT count(*) AS n, sum(CASE WHEN d.n IN (SELECT n + 10 FROM c WHERE n IS NOT NULL) THEN 1 ELSE 0 END) AS f, sum(CASE WHEN (d.n IN (SELECT n + 10 FROM c)) IS NULL THEN 1 ELSE 0 END) AS open FROM c d",
    );
    expect(counts).toEqual([{ n: 51, f: 40, open: 11 }]);
  });
});

describe("names", () => {
  test("a query in an expression sees the aliases and variables around it, at any depth", async () => {
    const { rows } = await openShop();
    const statement =
      "SELECT _id FROM cars WHERE ANY t IN tags SATISFIES EXISTS (SELECT 1 FROM makers m WHERE m._id = cars.make AND EXISTS (SELECT 1 FROM makers o WHERE t = 'y' AND o.n > m.n)) END";
    expect(idsOf(await rows(statement))).toEqual(["a"]);
  });

  test("its own alias takes precedence over an outer one, and that over a field", async () => {
    const { rows } = await openShop();
    expect(
      await rows("SELECT EXISTS (SELECT 1 FROM makers c WHERE c.n = 2) AS x FROM cars c LIMIT 1"),
    ).toEqual([{ x: true }]);
    expect(
      await rows("SELECT EXISTS (SELECT 1 FROM makers m WHERE n = 2) AS x FROM cars n LIMIT 1"),
    ).toEqual([{ x: false }]);
  });

  test("a query in FROM sees nothing around it", async () => {
    const { rows } = await openShop();
    const statement =
      "SELECT _id FROM cars c WHERE EXISTS (SELECT 1 FROM (SELECT c.make AS x FROM makers) t WHERE t.x IS NOT MISSING)";
    expect(await rows(statement)).toEqual([]);
  });

  test.each([
    [
      "SELECT make FROM cars GROUP BY make HAVING EXISTS (SELECT 1 FROM makers WHERE _id = cars.make)",
      "group keys",
    ],
    ["SELECT t.a FROM (SELECT _id AS a FROM cars)", "an alias"],
    ["SELECT _id FROM cars USE IDS LIST [EXISTS (SELECT 1 FROM makers)]", "cannot be used here"],
    ["SELECT t FROM (SELECT VALUE tag FROM cars UNNEST tags AS tag) t", "rows that are objects"],
    ["SELECT _id FROM cars UNION SELECT _id FROM makers ORDER BY count(*)", "cannot be used here"],
    ["SELECT x FROM cars UNNEST [1, 2]", "expected an alias for the elements"],
    ["SELECT x FROM cars UNNEST tags AS cars", "two terms are named cars"],
    ["UPDATE (SELECT * FROM cars) c SET a = 1", "the name of a collection"],
    ["EXECUTE FUNCTION upper(EXISTS (SELECT 1 FROM cars))", "cannot be used here"],
  ])("%s is refused: %s", async (statement, message) => {
    const { failure } = await openShop();
    expect((await failure(statement)).message).toContain(message);
  });
});

describe("rows of a query in FROM", () => {
  test("have the id that they were given, or none", async () => {
    const { rows } = await openShop();
    expect(await rows("SELECT * FROM (SELECT n, _id FROM makers) t WHERE _id = 'Saab'")).toEqual([
      { _id: "Saab", n: 2 },
    ]);
    expect(
      await rows(
        "SELECT *, t AS w FROM (SELECT n FROM makers) t".replace("*, t AS w", "t AS w, _id"),
      ),
    ).toEqual([{ w: { n: 1 } }, { w: { n: 2 } }]);
  });

  test("may be the right side of a join", async () => {
    const { rows } = await openShop();
    const statement =
      "SELECT c._id, t.n FROM cars c LEFT JOIN (SELECT _id AS id, n FROM makers) t ON t.id = c.make ORDER BY c._id";
    expect(await rows(statement)).toEqual([
      { _id: "a", n: 1 },
      { _id: "b" },
      { _id: "c" },
      { _id: "d" },
    ]);
  });
});

describe("mutations", () => {
  test("select by the state before them", async () => {
    const { execute, rows } = await openShop();
    const grown = await execute("UPDATE makers SET n = n + 1 WHERE n IN (SELECT n FROM makers)");
    expect(grown.mutatedDocumentIds).toEqual(["Fiat", "Saab"]);
    const gone = await execute(
      "DELETE FROM makers m WHERE NOT EXISTS (SELECT 1 FROM makers o WHERE o.n > m.n) RETURNING _id, EXISTS (SELECT 1 FROM makers WHERE n = 3) AS left",
    );
    expect(gone.items).toEqual([{ _id: "Saab", left: false }]);
    await execute("UPDATE cars c SET known = EXISTS (SELECT 1 FROM makers m WHERE m._id = c.make)");
    expect(await rows("SELECT _id FROM cars WHERE known")).toEqual([{ _id: "a" }]);
  });

  test("insert the rows of a UNION, and the values of a subquery", async () => {
    const { execute, rows } = await openShop();
    await execute(
      "INSERT INTO names SELECT _id FROM makers UNION SELECT make AS _id FROM cars WHERE make IS NOT NULL AND make IS NOT MISSING",
    );
    expect(idsOf(await rows("SELECT _id FROM names"))).toEqual(["Fiat", "Saab", "Volvo"]);
    await execute("INSERT INTO facts DOCUMENTS ({'_id': 1, 'any': EXISTS (SELECT 1 FROM names)})");
    expect(await rows("SELECT any FROM facts")).toEqual([{ any: true }]);
  });
});

test("parameters inside a query must be given", async () => {
  const { failure, rows } = await openShop();
  const statement =
    "SELECT _id FROM cars WHERE make IN (SELECT _id FROM (SELECT _id FROM makers WHERE n = :n) t)";
  expect((await failure(statement)).message).toContain("parameter n was not provided");
  expect(idsOf(await rows(statement, { n: 1 }))).toEqual(["a"]);
});

describe("resources of subqueries", () => {
  const WITHIN =
    "SELECT count(*) AS n FROM c WHERE EXISTS (SELECT 1 FROM c d WHERE d.n = c.n + 3000)";

  test("an uncorrelated subquery runs once", async () => {
    const { rows, execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(2000) });
    // Each run makes another one.
    const found = await rows(
      "SELECT DISTINCT CASE WHEN uuid() IN (SELECT 'x' AS x FROM c) THEN 1 ELSE 2 END AS r, ARRAY v FOR v IN [1] WHEN EXISTS (SELECT uuid() FROM c LIMIT 1) END AS s FROM c",
    );
    expect(found).toEqual([{ r: 2, s: [1] }]);
    expect(
      await rows("SELECT count(*) AS n FROM c WHERE n IN (SELECT n FROM c WHERE n >= 1000)"),
    ).toEqual([{ n: 1000 }]);
  });

  test("a long subquery lets other requests run, and its row is evaluated once", async () => {
    const count = sized(3000, 9000);
    const { runner, execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(count) });
    const statement =
      "SELECT d._id, count(*) AS n, sum(CASE WHEN EXISTS (SELECT 1 FROM c WHERE n > :last - 999 AND n % 9 = d._id) THEN 1 ELSE 0 END) AS s FROM c d WHERE d._id < 5 AND :last IN (SELECT n FROM c WHERE n >= d._id) GROUP BY d._id ORDER BY d._id";
    const args = { last: count - 1 };
    let isDone = false;
    const slow = runner.execute({ statement, args }).then((result) => {
      isDone = true;
      return result;
    });
    const quick = await runner.execute({ statement: "SELECT n FROM c WHERE _id = 7", args: {} });
    expect([quick.items, isDone]).toEqual([[{ n: 7 }], false]);
    const { items } = await slow;
    expect(items).toEqual(Array.from({ length: 5 }, (_, i) => ({ _id: i, n: 1, s: 1 })));
  });

  test("warnings of a row that was evaluated again are listed once", async () => {
    const { execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(6000) });
    const result = await execute(
      "SELECT upper(d.n) AS u, EXISTS (SELECT 1 FROM c WHERE n > 5998 AND n > d.n) AS e FROM c d WHERE d._id < 2",
    );
    expect(result.items).toEqual([{ e: true }, { e: true }]);
    expect(result.totalWarningsCount).toBe(2);
  });

  test("memory that one row needed is free for the next", async () => {
    const { rows, execute } = await openStatements({ bytes: 300_000 });
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(300) });
    const statement =
      "SELECT count(*) AS n FROM c WHERE n IN (SELECT d.n FROM c d WHERE d.n >= c.n)";
    expect(await rows(statement)).toEqual([{ n: 300 }]);
  });

  test.each([
    "SELECT count(*) AS n FROM c WHERE n IN (SELECT n + 1 FROM c)",
    "SELECT n FROM c WHERE _id = 0 AND 'a' IN (SELECT repeat('x', 200) FROM c d WHERE d.n >= c.n)",
    "SELECT count(*) AS n FROM (SELECT * FROM c) t",
    "SELECT n FROM c UNION SELECT k FROM c",
    "SELECT repeat('x', 300000) || CASE WHEN EXISTS (SELECT 1 FROM c d WHERE d.n > c.n) THEN repeat('y', 300000) ELSE '' END AS t FROM c",
  ])("%s is limited in memory", async (statement) => {
    const { execute, failure } = await openStatements({ bytes: 500_000 });
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(5000) });
    expect((await failure(statement)).code).toBe("query.too_large");
  });

  test.each([
    WITHIN,
    "SELECT count(*) AS n FROM (SELECT x.n FROM c x JOIN c y ON x.n < y.n) t",
    "SELECT count(*) AS n FROM c x UNNEST [1, 2, 3] AS a UNNEST [1, 2, 3] AS b UNNEST [1, 2, 3] AS d UNNEST [1, 2, 3] AS e UNNEST [1, 2, 3] AS f",
    "SELECT n FROM c WHERE n < 0 AND EXISTS (SELECT 1 FROM c) UNION SELECT x.n FROM c x JOIN c y ON x.n < y.n",
    "DELETE FROM c WHERE EXISTS (SELECT 1 FROM c d WHERE d.n = c.n + 3000)",
  ])("%s is stopped by the deadline", async (statement) => {
    let now = 0;
    const { execute, failure } = await openStatements({ timeMs: 300 }, { elapsed: () => ++now });
    for (const part of [0, 1, 2]) {
      const documents = numbered(1000).map((each, i) => ({
        ...(each as object),
        _id: part * 1000 + i,
      }));
      await execute("INSERT INTO c DOCUMENTS (:d)", { d: documents });
    }
    expect((await failure(statement)).code).toBe("query.timeout");
  });

  test("their number and depth are limited", async () => {
    const { failure, rows } = await openShop();
    const nested = (levels: number): string =>
      levels === 0 ? "true" : `EXISTS (SELECT 1 FROM makers WHERE ${nested(levels - 1)})`;
    expect(await rows(`SELECT ${nested(8)} AS x FROM system:dual`)).toEqual([{ x: true }]);
    const deep = await failure(`SELECT ${nested(9)} AS x FROM system:dual`);
    expect([deep.code, deep.message]).toEqual([
      "query.too_large",
      expect.stringContaining("deeper than 8"),
    ]);
    const union = (count: number): string =>
      Array(count).fill("SELECT 1 AS a FROM system:dual").join(" UNION ");
    expect(await rows(union(65))).toEqual([{ a: 1 }]);
    expect((await failure(union(66))).message).toContain("more than 64 queries");
  });
});

describe("permissions", () => {
  const WITH = [
    "SELECT _id FROM cars WHERE make IN (SELECT _id FROM makers)",
    "SELECT EXISTS (SELECT 1 FROM makers) AS x FROM cars",
    "SELECT _id FROM cars UNION SELECT _id FROM makers",
    "SELECT _id FROM cars UNION ALL SELECT t._id FROM (SELECT _id FROM makers) t",
    "SELECT c._id FROM cars c JOIN (SELECT _id FROM makers) t ON t._id = c.make",
    "SELECT x FROM cars UNNEST ARRAY v FOR v IN tags WHEN EXISTS (SELECT 1 FROM makers) END AS x",
    "SELECT make FROM cars GROUP BY make HAVING EXISTS (SELECT 1 FROM makers)",
    "SELECT _id FROM cars ORDER BY EXISTS (SELECT 1 FROM makers)",
    "EXPLAIN SELECT _id FROM cars WHERE make IN (SELECT _id FROM makers)",
    "PROFILE SELECT _id FROM cars WHERE make IN (SELECT _id FROM (SELECT _id FROM makers) t)",
    "UPDATE cars SET a = EXISTS (SELECT 1 FROM makers)",
    "UPDATE cars SET a = 1 RETURNING EXISTS (SELECT 1 FROM makers) AS x",
    "DELETE FROM cars WHERE make IN (SELECT _id FROM makers)",
    "INSERT INTO cars DOCUMENTS ({'_id': 'z', 'a': EXISTS (SELECT 1 FROM makers)})",
    "INSERT INTO cars SELECT 'z' AS _id FROM cars WHERE false UNION SELECT _id FROM makers",
  ];

  test.each(WITH)("[P6] denied without a rule for the inner collection: %s", async (statement) => {
    const { runner } = await openShop();
    const caller = callerOf(runner, authorityOf({ cars: ["true"] }, { cars: ["true"] }));
    const error = await caller.failure(statement);
    expect([error.code, error.message]).toEqual([
      "permission.denied",
      expect.stringContaining("makers"),
    ]);
  });

  test("[P5] a subquery sees only readable documents", async () => {
    const { runner } = await openShop();
    const caller = callerOf(runner, authorityOf({ cars: ["true"], makers: ["n == 2"] }));
    expect(
      await caller.column("SELECT _id FROM cars WHERE make IN (SELECT _id FROM makers)"),
    ).toEqual([]);
    expect(
      await caller.column(
        "SELECT EXISTS (SELECT 1 FROM makers WHERE _id = 'Fiat') AS x FROM system:dual",
      ),
    ).toEqual([false]);
    expect(await caller.column("SELECT _id FROM (SELECT _id FROM makers) t")).toEqual(["Saab"]);
    expect(await caller.column("SELECT _id FROM makers UNION SELECT _id FROM makers")).toEqual([
      "Saab",
    ]);
  });
});

test("EXPLAIN shows the plans of all queries", async () => {
  const { rows } = await openShop();
  const plan = JSON.stringify(
    await rows(
      "EXPLAIN SELECT x._id FROM (SELECT _id, make FROM cars) x UNNEST x.tags AS t WHERE EXISTS (SELECT 1 FROM makers m WHERE m._id = x.make) UNION ALL SELECT _id FROM makers WHERE n IN (SELECT n FROM makers) ORDER BY _id LIMIT 1",
    ),
  );
  for (const part of [
    '"#operator":"union","distinctArms":0',
    '"#operator":"subquery","alias":"x"',
    '"#operator":"unnest","type":"inner","alias":"t","expression":"x.tags"',
    '"condition":"EXISTS (SELECT 1 FROM makers AS m WHERE m._id = x.make)","subqueries":[',
    '"#operator":"idScan","collection":"makers"',
    '"isCorrelated":true',
    '"isCorrelated":false',
    '"#operator":"limit"',
  ]) {
    expect(plan).toContain(part);
  }
});
