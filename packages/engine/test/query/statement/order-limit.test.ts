/**
 * ORDER BY with LIMIT: only the rows that are given back are kept and projected.
 */
import { describe, expect, test } from "vitest";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

async function openNumbers(bytes = 10_000_000): Promise<Statements> {
  const statements = await openStatements({ bytes });
  await statements.execute("INSERT INTO c DOCUMENTS (:documents)", { documents: numbered(50) });
  return statements;
}

describe("the first rows of an order", () => {
  test.each([
    ["SELECT n FROM c ORDER BY n DESC LIMIT 2", [{ n: 49 }, { n: 48 }]],
    ["SELECT n FROM c ORDER BY k LIMIT 3", [{ n: 0 }, { n: 10 }, { n: 20 }]],
    ["SELECT n FROM c ORDER BY k DESC LIMIT 2 OFFSET 4", [{ n: 49 }, { n: 8 }]],
    ["SELECT n FROM c ORDER BY k, n DESC LIMIT 2", [{ n: 40 }, { n: 30 }]],
    ["SELECT n FROM c ORDER BY n LIMIT 0", []],
    ["SELECT n FROM c ORDER BY n LIMIT 0 OFFSET 3", []],
    ["SELECT n FROM c ORDER BY n LIMIT 5 OFFSET 50", []],
    ["SELECT n FROM c ORDER BY 1 / (n - 7) NULLS FIRST, n LIMIT 2", [{ n: 7 }, { n: 6 }]],
    ["SELECT n + 1 AS m FROM c ORDER BY m DESC LIMIT 1", [{ m: 50 }]],
    ["SELECT DISTINCT k FROM c ORDER BY n DESC LIMIT 2 OFFSET 1", [{ k: 8 }, { k: 7 }]],
    ["SELECT DISTINCT k FROM c ORDER BY n % 7, k DESC LIMIT 2", [{ k: 9 }, { k: 8 }]],
    ["SELECT k, count(*) AS x FROM c GROUP BY k ORDER BY k DESC LIMIT 1", [{ k: 9, x: 5 }]],
    [
      "SELECT l.n AS a, r.n AS b FROM c l JOIN c r ON r.n = l.n + 1 ORDER BY l.n DESC LIMIT 1",
      [{ a: 48, b: 49 }],
    ],
    ["SELECT x FROM c UNNEST [n, -n] AS x ORDER BY x LIMIT 1", [{ x: -49 }]],
    [
      "SELECT n, ANY v IN [n] SATISFIES v > 48 END AS y FROM c ORDER BY n DESC LIMIT 2",
      [
        { n: 49, y: true },
        { n: 48, y: false },
      ],
    ],
    [
      "SELECT n, n IN (SELECT d.n FROM c d WHERE d.n < c.n) AS y FROM c ORDER BY n DESC LIMIT 1",
      [{ n: 49, y: false }],
    ],
    [
      "SELECT n FROM c WHERE n < 3 UNION SELECT n FROM c ORDER BY n DESC LIMIT 2 OFFSET 1",
      [{ n: 48 }, { n: 47 }],
    ],
    ["SELECT n FROM c UNION ALL SELECT n FROM c ORDER BY n LIMIT 0", []],
  ])("%s", async (statement, expected) => {
    const { rows } = await openNumbers();
    expect(await rows(statement)).toEqual(expected);
  });

  test("are those that find and mutations select", async () => {
    const { runner, execute } = await openNumbers();
    const sort = [
      { property: "k", isDescending: true },
      { property: "n", isDescending: false },
    ];
    const request = { collection: "c", query: "n < 30", sort, limit: 2, offset: 1 };
    const { documents } = await runner.find(request);
    expect(documents.map(({ id }) => id)).toEqual([19, 29]);
    const deleted = await execute("DELETE FROM c ORDER BY k, n DESC LIMIT 2 OFFSET 1");
    expect(deleted.mutatedDocumentIds).toEqual([30, 20]);
    const updated = await execute("UPDATE c SET x = n ORDER BY n DESC LIMIT 1 RETURNING x");
    expect(updated.items).toEqual([{ x: 49 }]);
  });
});

test("a failing column warns only for the returned rows, and is computed once", async () => {
  const { execute } = await openNumbers();
  const late = await execute("SELECT n, 1 / 0 AS x FROM c ORDER BY n DESC LIMIT 2 OFFSET 1");
  expect(late.items).toEqual([{ n: 48 }, { n: 47 }]);
  expect(late.warnings.map((warning) => warning["_id"])).toEqual([48, 47]);
  expect(late.totalWarningsCount).toBe(2);
  const shared = await execute("SELECT n, uuid() AS u FROM c ORDER BY u LIMIT 9");
  const ids = shared.items.map((item) => (item as { u: string }).u);
  expect(ids).toEqual(ids.toSorted());
});

describe("memory", () => {
  const text = "x".repeat(3000);

  async function openLarge(bytes: number): Promise<Statements> {
    const statements = await openStatements({ bytes });
    for (let i = 0; i < 300; i++) {
      await statements.execute("INSERT INTO c DOCUMENTS ({'_id': :i, 'n': -:i, 't': :text})", {
        i,
        text,
      });
    }
    return statements;
  }

  test.each([
    "SELECT * FROM c ORDER BY n LIMIT 5",
    "SELECT * FROM c ORDER BY t, n LIMIT 5",
    "SELECT DISTINCT t FROM c ORDER BY n",
    "SELECT DISTINCT t, n FROM c ORDER BY n LIMIT 5",
    "UPDATE c SET x = 1 ORDER BY n LIMIT 5",
    "DELETE FROM c ORDER BY t LIMIT 5 RETURNING *",
  ])("%s needs none for the rows that it drops", async (statement) => {
    const { execute } = await openLarge(150_000);
    await expect(execute(statement)).resolves.toBeDefined();
  });

  test.each([
    "SELECT * FROM c ORDER BY n LIMIT 50",
    "SELECT * FROM c ORDER BY n LIMIT 5 OFFSET 50",
    "SELECT DISTINCT t, n FROM c ORDER BY n LIMIT 50",
  ])("%s counts the rows that it keeps", async (statement) => {
    const { failure } = await openLarge(150_000);
    expect((await failure(statement)).code).toBe("query.too_large");
  });

  test("large documents are not held when only parts of them are projected", async () => {
    const { execute, rows } = await openStatements({ bytes: 12_000_000 });
    const large = "x".repeat(500_000);
    for (let i = 0; i < 15; i++) {
      await execute("INSERT INTO c DOCUMENTS ({'_id': :i, 't': :large})", { i, large });
    }
    const found = await rows("SELECT _id FROM c ORDER BY _id DESC LIMIT 14");
    expect(found).toEqual(Array.from({ length: 14 }, (_, i) => ({ _id: 14 - i })));
  });
});

describe("an order by ids and more", () => {
  const left = [1, 2].map((id) => ({ _id: id, k: 1, t: [3 - id, 9, id] }));
  const right = [1, 2, 3].map((id) => ({ _id: id, k: 1, y: 3 - id }));

  async function openTwo(): Promise<Statements> {
    const statements = await openStatements();
    await statements.rows("INSERT INTO a DOCUMENTS (:left)", { left });
    await statements.rows("INSERT INTO b DOCUMENTS (:right)", { right });
    await statements.rows("CREATE INDEX k ON a (k)");
    return statements;
  }

  test.each([
    ["FROM a JOIN b ON a.k = b.k ORDER BY a._id, b.y", "b.y", [0, 1, 2, 0, 1, 2]],
    ["FROM a JOIN b ON a.k = b.k ORDER BY a._id DESC, b.y", "b.y", [0, 1, 2, 0, 1, 2]],
    [
      "FROM a JOIN b ON a.k = b.k WHERE a.k = 1 ORDER BY a.k, a._id, b.y",
      "b.y",
      [0, 1, 2, 0, 1, 2],
    ],
    ["FROM a JOIN b ON a.k = b.k ORDER BY a._id, a.k, b.y LIMIT 3", "b.y", [0, 1, 2]],
    ["FROM a JOIN b ON a.k = b.k ORDER BY a._id, a.k NULLS FIRST", "b.y", [2, 1, 0, 2, 1, 0]],
    ["FROM a UNNEST a.t AS e ORDER BY a._id, e", "e", [1, 2, 9, 1, 2, 9]],
  ])("the keys after an id decide among its rows: %s", async (clauses, column, expected) => {
    const { rows } = await openTwo();
    const found = await rows(`SELECT ${column} AS v ${clauses}`);
    expect(found).toEqual(expected.map((v) => ({ v })));
  });
});
