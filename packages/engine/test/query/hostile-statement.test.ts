/**
 * Statements that were written to hold up the server or to fill its memory: each is ended by a bound,
 * and the next statement runs as if nothing had been.
 */
import type { Operation, Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { numbered, openStatements, type Statements } from "../support/run-statements.ts";

/** A clock that moves on each time it is looked at. */
function countingClock(msPerLook = 1): () => number {
  let now = 0;
  return () => {
    now += msPerLook;
    return now;
  };
}

async function openBusy(timeMs = 200, msPerLook = 1): Promise<Statements> {
  return openStatements({ timeMs }, { elapsed: countingClock(msPerLook) });
}

/** An array in an array in an array…, each of them twice in the one around it. */
function sharing(levels: number, condition: string): string {
  let text = condition;
  for (let k = levels; k >= 1; k--) {
    const inner = k > 1 ? `v${k - 1}, v${k - 1}` : "1.0, 1.0";
    text = `ANY v${k} IN [[${inner}]] SATISFIES ${text} END`;
  }
  return text;
}

function list(count: number, text: string): string {
  return Array.from({ length: count }, () => text).join(", ");
}

function inserts(count: number): Operation[] {
  return Array.from({ length: count }, (_, id) => ({
    kind: "insert",
    collection: "c",
    id,
    fields: { n: id, k: id % 10 },
  }));
}

const ZEROS: Value = Array.from({ length: 100_000 }, () => 0);
const LONG = "a".repeat(400_000);
const LARGE: Value = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]));

describe("time", () => {
  test.each<[string, string, { [name: string]: Value }]>([
    [
      "comparing what shares its parts",
      `SELECT ${sharing(60, "v60 = array_reverse(v60)")} AS x FROM system:dual`,
      {},
    ],
    [
      "ordering what shares its parts",
      `SELECT ${sharing(60, "v60 < array_append(v60, 1)")} AS x FROM system:dual`,
      {},
    ],
    [
      "giving back what shares its parts",
      `SELECT ARRAY v FOR v IN [1] WHEN ${sharing(60, "length(serialize_json(v60)) > 0")} END AS x FROM system:dual`,
      {},
    ],
    [
      "measuring one array again and again",
      `SELECT [${list(3000, ":zeros")}] AS x FROM system:dual`,
      { zeros: ZEROS },
    ],
    [
      "comparing long arrays",
      `SELECT [${list(sized(1500, 3000), ":zeros = :zeros")}] AS x FROM system:dual`,
      { zeros: ZEROS },
    ],
    [
      "looking through a long list",
      "SELECT ANY x IN :zeros SATISFIES x + 1 IN :zeros END AS x FROM system:dual",
      { zeros: ZEROS },
    ],
    [
      "changing the case of a long text",
      `SELECT [${list(3000, "length(upper(:text))")}] AS x FROM system:dual`,
      { text: LONG },
    ],
    [
      "matching a long text",
      `SELECT [${list(3000, ":text LIKE '%a_b%'")}] AS x FROM system:dual`,
      { text: LONG },
    ],
    [
      "comparing equal texts",
      `SELECT [${list(9000, ":text = :same")}] AS x FROM system:dual`,
      { text: LONG, same: `${LONG}x`.slice(0, -1) },
    ],
    [
      "comparing binary",
      `SELECT [${list(3000, ":left < :right")}] AS x FROM system:dual`,
      { left: new Uint8Array(200_000), right: new Uint8Array(200_000) },
    ],
    [
      "casting long text",
      `SELECT [${list(3000, "CAST(:text AS INT)")}] AS x FROM system:dual`,
      { text: LONG },
    ],
    [
      "the keys of a large object",
      `SELECT [${list(3000, "object_length(:large)")}] AS x FROM system:dual`,
      { large: LARGE },
    ],
    [
      "many conditions in a loop",
      `SELECT ANY v IN :zeros SATISFIES ${Array.from({ length: 200 }, () => "v = 1").join(" OR ")} END AS x FROM system:dual`,
      { zeros: ZEROS },
    ],
    [
      "many branches in a loop",
      `SELECT ANY v IN :zeros SATISFIES CASE ${"WHEN v = 1 THEN 1 ".repeat(200)} END = 1 END AS x FROM system:dual`,
      { zeros: ZEROS },
    ],
    [
      "casting what shares its parts",
      `SELECT ${sharing(60, "length(CAST(v60 AS STRING)) > 0")} AS x FROM system:dual`,
      {},
    ],
  ])("%s ends at the deadline", async (_, statement, args) => {
    const { failure, rows } = await openBusy();
    expect((await failure(statement, args)).code).toMatch(/^query\.(timeout|too_large)$/);
    expect(await rows("SELECT 1 AS one FROM system:dual")).toEqual([{ one: 1 }]);
  });

  test.each([
    ["a large insert", "INSERT INTO d SELECT n, k FROM c", 8],
    ["a large delete", "DELETE FROM c", 8],
    // Its first piece: the others are no part of the statement.
    ["a new index", "CREATE INDEX i ON c (n, k)", 1],
  ])("%s also ends while it is applied, and none of it stays", async (_, statement, timeMs) => {
    const { store, failure } = await openBusy(timeMs);
    await store.transact((transaction) => transaction.apply(inserts(3000)));
    expect((await failure(statement)).code).toBe("query.timeout");
    expect(store.read((view) => [view.count("c"), view.indexes("c").length])).toEqual([3000, 0]);
    expect(store.read((view) => view.collections())).toEqual(["c"]);
  });
});

describe("work that grows with the product of two lengths", () => {
  test("array_remove of many elements from many", async () => {
    const { rows } = await openBusy(200, 0.1);
    const unwanted = Array.from({ length: 5000 }, (_, i) => i + 1).join(", ");
    const statement = `SELECT array_length(array_remove(:zeros, ${unwanted})) AS n FROM system:dual`;
    expect(await rows(statement, { zeros: ZEROS })).toEqual([{ n: 100_000 }]);
  });

  test("search for a long text in a long text", async () => {
    const { rows } = await openBusy(200, 0.1);
    const part = `${"a".repeat(100_000)}b${"a".repeat(100_000)}`;
    const statement =
      "SELECT contains(:text, :part) AS c, position(:part IN :text) AS p, array_length(split(:text, :part)) AS s FROM system:dual";
    expect(await rows(statement, { text: LONG, part })).toEqual([{ c: false, p: -1, s: 1 }]);
  });

  test.runIf(isFullSize)("lookup of many ids in a system collection", async () => {
    const { rows } = await openStatements();
    for (let i = 0; i < 300; i++) await rows("SELECT 1 FROM system:dual");
    const ids = Array.from({ length: 100_000 }, (_, i) => i);
    expect(await rows("SELECT _id FROM system:request_history USE IDS LIST :ids", { ids })).toEqual(
      [],
    );
  });
});

describe("size", () => {
  test.each([
    ["a path of too many steps", `UPDATE c SET a${".b".repeat(100)} = 1`],
    ["too many keys of groups", `SELECT 1 FROM c GROUP BY ${list(65, "a")}`],
    ["too many keys of order", `SELECT a FROM c ORDER BY ${list(65, "a")}`],
  ])("%s is refused before anything runs", async (_, statement) => {
    const { failure } = await openStatements();
    expect((await failure(statement)).code).toBe("query.too_large");
  });

  test.runIf(isFullSize)(
    "the sizes of conditions in parentheses add up without deep recursion",
    async () => {
      const { rows } = await openStatements();
      const chain = `(${Array.from({ length: 9000 }, () => "a").join(" AND ")})`;
      const statement = `SELECT 1 AS x FROM c WHERE 1 = 1 AND ${Array.from({ length: 3 }, () => chain).join(" AND ")}`;
      expect(await rows(statement)).toEqual([]);
    },
  );

  test("a column in ORDER BY is computed once for each row, however often it is named", async () => {
    const { execute, rows } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 1, 'n': 0}), ({'_id': 2, 'n': 5})");
    const statement = "SELECT 10 / n AS z FROM c ORDER BY z, z DESC, z + 1, -z";
    const result = await execute(statement);
    expect(result.items).toEqual([{ z: 2 }, {}]);
    expect(result.totalWarningsCount).toBe(1);
    expect(await rows("EXPLAIN SELECT a + 1 AS z FROM c ORDER BY z, z")).toHaveLength(1);
  });
});

describe("memory", () => {
  test.each([
    [
      "copies of a text",
      `SELECT array_length([${list(40, "upper(repeat('x', 60000) || 'y')")}]) AS n FROM system:dual`,
    ],
    [
      "text that is cast",
      `SELECT array_length([${list(40, "CAST([repeat('x', 60000)] AS STRING)")}]) AS n FROM system:dual`,
    ],
    [
      "keys of shared text",
      `SELECT ANY t IN [repeat('x', 200000)] SATISFIES array_length(array_union([${list(12, "[t, t, t, t]")}], [])) > 0 END AS x FROM system:dual`,
    ],
    [
      "binary that is cast",
      `SELECT array_length([${list(40, "CAST(repeat('x', 60000) AS BINARY)")}]) AS n FROM system:dual`,
    ],
    [
      "many aggregates in many groups",
      `SELECT n, [${Array.from({ length: 50 }, (_, i) => `max(n + ${i})`).join(", ")}] AS m FROM c GROUP BY n`,
    ],
  ])("%s is counted", async (_, statement) => {
    const { execute, failure } = await openStatements({ bytes: 2_000_000 });
    await execute("INSERT INTO c DOCUMENTS (:documents)", { documents: numbered(1000) });
    expect((await failure(statement)).code).toBe("query.too_large");
  });
});
