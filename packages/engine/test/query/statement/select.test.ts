/**
 * SELECT where clauses meet: names in ORDER BY, aggregates and variables, outer joins, what fails.
 */
import { describe, expect, test } from "vitest";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

async function openSales(): Promise<Statements> {
  const statements = await openStatements();
  await statements.execute(
    "INSERT INTO c DOCUMENTS ({'_id': 1, 'k': 'a', 'n': 10}), ({'_id': 2, 'k': 'a', 'n': 20}), ({'_id': 3, 'k': 'b', 'n': 1})",
  );
  return statements;
}

describe("ORDER BY in a statement with groups", () => {
  test("a name inside an aggregate is the field; elsewhere it is the column of that name", async () => {
    const { rows } = await openSales();
    expect(await rows("SELECT k, sum(n) AS n FROM c GROUP BY k ORDER BY sum(n)")).toEqual([
      { k: "b", n: 1 },
      { k: "a", n: 30 },
    ]);
    expect(
      await rows("SELECT 10 - n AS n, count(*) AS x FROM c GROUP BY 10 - n ORDER BY 10 - n"),
    ).toEqual([
      { n: 9, x: 1 },
      { n: 0, x: 1 },
      { n: -10, x: 1 },
    ]);
  });

  test("the name of a column refers to it where nothing else makes sense", async () => {
    const { rows } = await openSales();
    expect(await rows("SELECT k, sum(n) AS total FROM c GROUP BY k ORDER BY -total")).toEqual([
      { k: "a", total: 30 },
      { k: "b", total: 1 },
    ]);
  });

  test("an aggregate may occur in ORDER BY alone", async () => {
    const { rows } = await openSales();
    expect(await rows("SELECT k FROM c GROUP BY k ORDER BY max(n) DESC")).toEqual([
      { k: "a" },
      { k: "b" },
    ]);
  });
});

describe("aggregates", () => {
  test.each([
    "SELECT ARRAY count(v) FOR v IN [1, 2] END AS x FROM c",
    "SELECT ANY v IN [1, 2] SATISFIES max(v) = v END AS x FROM c",
    "SELECT ARRAY sum(w) FOR v IN [[1]] WHEN ANY w IN v SATISFIES sum(w) > 0 END END AS x FROM c",
  ])("the variable of a loop around an aggregate may not occur in it: %s", async (statement) => {
    const { failure } = await openSales();
    expect((await failure(statement)).code).toBe("query.semantic");
  });

  test("a loop inside an aggregate has its own variable", async () => {
    const { rows } = await openSales();
    const statement =
      "SELECT sum(array_length(ARRAY v FOR v IN [n, n] WHEN v > 5 END)) AS x FROM c";
    expect(await rows(statement)).toEqual([{ x: 4 }]);
  });

  test("different arguments make different aggregates", async () => {
    const { rows } = await openSales();
    expect(
      await rows("SELECT count(1e309) AS a, count(null) AS b, count(-1e309) AS c FROM c"),
    ).toEqual([{ a: 3, b: 0, c: 3 }]);
  });

  test("a sum beyond 64 bits fails: nothing catches it, and there is a warning", async () => {
    const { execute } = await openStatements();
    const max = 2n ** 64n - 1n;
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: [{ x: max }, { x: max }] });
    const result = await execute("SELECT ifmissing(sum(x), 0) AS z, count(*) AS n FROM c");
    expect(result.items).toEqual([{ n: 2 }]);
    expect(result.totalWarningsCount).toBe(1);
  });

  test("averages and medians of large integers do not overflow, and medians are exact", async () => {
    const { execute, rows } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS (:d)", {
      d: [{ x: 2n ** 60n + 1n }, { x: 2n ** 60n + 3n }],
    });
    expect(await rows("SELECT median(x) AS m, mid(x) AS d FROM c")).toEqual([
      { m: 2n ** 60n + 2n, d: 2n ** 60n + 2n },
    ]);
    await execute("UPDATE c SET x = 18446744073709551615");
    expect(await rows("SELECT avg(x) AS a FROM c")).toEqual([{ a: 2 ** 64 }]);
  });

  test("a group key that fails forms its own group with MISSING, with a warning", async () => {
    const { execute } = await openSales();
    const result = await execute("SELECT k + 1 AS x, count(*) AS n FROM c GROUP BY k + 1");
    expect(result.items).toEqual([{ n: 3 }]);
    expect(result.totalWarningsCount).toBe(3);
  });
});

describe("columns", () => {
  test("a failing column hides the field of that name from an earlier star", async () => {
    const { rows } = await openSales();
    expect(await rows("SELECT c.*, 1 / 0 AS n FROM c WHERE _id = 1")).toEqual([{ _id: 1, k: "a" }]);
  });

  test("SELECT VALUE of the missing side of an outer join is null", async () => {
    const { rows } = await openSales();
    const statement = "SELECT VALUE g FROM c f LEFT JOIN d g ON g._id = f.k WHERE f._id = 1";
    expect(await rows(statement)).toEqual([null]);
  });

  test.each(["SELECT RAW k FROM c", "SELECT VALUE t, k FROM c t"])(
    "%s is refused: only whole documents are allowed",
    async (statement) => {
      const { failure } = await openSales();
      expect((await failure(statement)).code).toBe("query.semantic");
    },
  );
});

test("one prepared statement runs several times concurrently, each with its own rows", async () => {
  const { execute, runner } = await openStatements();
  const documents = Array.from({ length: 3000 }, (_, i) => ({ _id: i, s: `x${i % 7}`, t: [i] }));
  await execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
  const statement =
    "SELECT s, count(*) AS n FROM c WHERE s LIKE :p AND ANY v IN t SATISFIES v >= :from END GROUP BY s ORDER BY s";
  const run = (p: string, from: number): Promise<unknown> =>
    runner.execute({ statement, args: { p, from } }).then(({ items }) => items);
  const apart = [await run("x1%", 0), await run("%", 2990), await run("_2", 100)];
  expect(await Promise.all([run("x1%", 0), run("%", 2990), run("_2", 100)])).toEqual(apart);
});

describe("array_agg", () => {
  test("returns the values of a group, in the order of the rows, without null and MISSING", async () => {
    const { rows, execute } = await openSales();
    await execute(
      "INSERT INTO c DOCUMENTS ({'_id': 4, 'k': 'a', 'n': null}), ({'_id': 5, 'k': 'd'})",
    );
    await execute("UPDATE c SET n = 10 WHERE _id = 3");
    expect(await rows("SELECT k, array_agg(n) AS a FROM c GROUP BY k ORDER BY k")).toEqual([
      { k: "a", a: [10, 20] },
      { k: "b", a: [10] },
      { k: "d" },
    ]);
    expect(
      await rows("SELECT array_agg(DISTINCT n) AS a, array_length(array_agg(n)) AS l FROM c"),
    ).toEqual([{ a: [10, 20], l: 3 }]);
  });

  test("over nothing is MISSING, like the other aggregates", async () => {
    const { rows } = await openSales();
    expect(await rows("SELECT array_agg(n) AS a FROM c WHERE false")).toEqual([{}]);
  });

  test("counts the memory of its values", async () => {
    const { execute, failure } = await openStatements({ bytes: 200_000 });
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: numbered(3000) });
    expect((await failure("SELECT array_agg(n) AS a FROM c")).code).toBe("query.too_large");
  });
});

test("uuid is new at each call, now is the same throughout a statement", async () => {
  const { rows } = await openSales();
  const found = (await rows("SELECT uuid() AS a, uuid() AS b, now() AS t FROM c")) as {
    a: string;
    b: string;
    t: string;
  }[];
  expect(new Set(found.flatMap(({ a, b }) => [a, b])).size).toBe(6);
  for (const { a } of found) expect(a).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
  expect(found.map(({ t }) => t)).toEqual(Array(3).fill("2026-01-01T00:00:00+00:00"));
  expect(await rows("SELECT date_diff(now(), clock(), 'hour') AS h FROM system:dual")).toEqual([
    { h: 0 },
  ]);
});
