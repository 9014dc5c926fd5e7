/**
 * Rows that take long: the evaluation of one cannot be paused, so it ends soon; between any two of
 * them others have their turn. What takes long because there are many rows goes on.
 */
import type { Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { ROW_MS_MAX } from "../../src/limits.ts";
import type { Authority } from "../../src/query/permission/authority.ts";
import { authorityOf, callerOf } from "../support/caller.ts";
import { numbered, openStatements, type Statements } from "../support/run-statements.ts";

/** Milliseconds that pass with each look at the clock, of which there is one for 512 steps. */
const LOOK_MS = ROW_MS_MAX;

interface Bench extends Statements {
  /** How often others had their turn during some work. */
  readonly pausesOf: (work: () => Promise<unknown>) => Promise<number>;
}

async function bench(): Promise<Bench> {
  let now = 0;
  let pauses = 0;
  const elapsed = (): number => (now += LOOK_MS);
  const pause = async (): Promise<void> => {
    await Promise.resolve();
    pauses++;
  };
  const opened = await openStatements({ timeMs: Infinity }, { elapsed, pause });
  const pausesOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = pauses;
    await work();
    return pauses - before;
  };
  return { ...opened, pausesOf };
}

function countTo(count: number): Value[] {
  return Array.from({ length: count }, (_, i) => i);
}

/** Never true, and as many steps as the square of the length of `a`. */
function loop(array = ":a"): string {
  return `ANY x IN ${array} SATISFIES ANY y IN ${array} SATISFIES x + y < 0 END END`;
}

const LONG = { a: countTo(300) };
/** Long enough for a pause, and too short for the bound. */
const SHORT = { a: countTo(67) };

const EVERYWHERE: readonly (readonly [string, string])[] = [
  ["a column", `SELECT ${loop()} AS x FROM system:dual`],
  ["three loops", `SELECT ANY w IN :a SATISFIES ${loop()} END AS x FROM system:dual`],
  ["WHERE", `SELECT * FROM c WHERE ${loop()}`],
  ["the ids", `SELECT * FROM c WHERE _id IN ARRAY v FOR v IN [1] WHEN ${loop()} END`],
  ["ORDER BY", `SELECT * FROM c ORDER BY ${loop()}`],
  ["GROUP BY", `SELECT count(*) AS n FROM c GROUP BY ${loop()}`],
  ["an aggregate", `SELECT count(${loop()}) AS n FROM c`],
  ["HAVING", `SELECT k, count(*) AS n FROM c GROUP BY k HAVING ${loop()}`],
  ["ON", `SELECT * FROM system:dual l JOIN c r ON r.n > 1 OR ${loop()}`],
  ["the right side", `SELECT * FROM system:dual l JOIN c r ON r.n > 1 AND ${loop("r.a")}`],
  ["the key of a join", `SELECT * FROM c l JOIN c r ON l.n = CASE WHEN ${loop("r.a")} THEN 1 END`],
  ["the other key", `SELECT * FROM c l JOIN c r ON CASE WHEN ${loop("l.a")} THEN 1 END = r.n`],
  ["the id of a join", `SELECT * FROM c l JOIN c r ON r._id = CASE WHEN ${loop()} THEN 1 END`],
  ["an inserted value", `INSERT INTO c DOCUMENTS ({'_id': 'x', 'x': ${loop()}})`],
  ["SET", `UPDATE c SET x = ${loop()}`],
  ["RETURNING", `DELETE FROM c RETURNING ${loop()} AS x`],
  ["a removal from the system", `DELETE FROM system:request_history WHERE ${loop()}`],
  ["EXECUTE FUNCTION", `EXECUTE FUNCTION array_length([${loop()}])`],
  ["a setting", `ALTER SYSTEM SET dql_strict_mode = ${loop()}`],
];

const DOCUMENTS: Value[] = countTo(5).map((n) => ({ _id: n, n, k: n, a: LONG.a }));

describe("the evaluation of one row", () => {
  test.each(EVERYWHERE)("[P9] ends at its time limit in %s", async (_, statement) => {
    const { execute, failure, rows } = await bench();
    await execute("INSERT INTO c DOCUMENTS (:documents)", { documents: DOCUMENTS });
    const { code, message } = await failure(statement, LONG);
    expect([code, message]).toEqual([
      "query.timeout",
      "the evaluation of one row took longer than 75 ms and was stopped",
    ]);
    expect(await rows("SELECT count(*) AS n FROM c")).toEqual([{ n: 5 }]);
  });

  test("also ends for a caller without any permission", async () => {
    const { runner } = await bench();
    const { failure } = callerOf(runner, authorityOf({}));
    const statement = `SELECT ${loop()} AS x FROM system:dual`;
    expect((await failure(statement, LONG)).code).toBe("query.timeout");
  });

  test("finishes if it takes less, also for many rows", async () => {
    const { execute, rows } = await bench();
    const documents = countTo(40).map((n) => ({ _id: n, n }));
    await execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
    const found = await rows(`SELECT n FROM c WHERE NOT ${loop()} ORDER BY n LIMIT 1`, SHORT);
    expect(found).toEqual([{ n: 0 }]);
    const { mutatedDocumentIds } = await execute(`UPDATE c SET x = ${loop()}`, SHORT);
    expect(mutatedDocumentIds).toHaveLength(40);
  });
});

describe("a legitimate row is not ended, however slow the machine is", () => {
  const texts = countTo(10_000).map((n) => `k${((n as number) * 7919) % 10_007}`);
  const text = "the quick brown fox jumps over 12 lazy dogs. ".repeat(22_000);

  test.each([
    [
      "an array of 10,000 elements is sorted",
      "array_length(array_sort(:texts))",
      { texts },
      10_000,
    ],
    ["a million characters are matched", "regexp_like(:text, '[0-9]+z')", { text }, false],
    ["a million characters are searched", "contains(:text, 'cat', 'cow')", { text }, false],
    ["a million characters are lowered", "length(lower(:text))", { text }, text.length],
    ["a million characters are trimmed", "length(trim(:text))", { text }, text.length - 1],
  ])("%s", async (_, expression, args, expected) => {
    const { rows } = await bench();
    expect(await rows(`SELECT ${expression} AS x FROM system:dual`, args)).toEqual([
      { x: expected },
    ]);
  });

  test("the median of many values", async () => {
    const { rows } = await bench();
    const numbers = countTo(20_000);
    const statement = "SELECT median(n) AS x FROM system:dual d UNNEST :numbers AS n";
    expect(await rows(statement, { numbers })).toEqual([{ x: 9999.5 }]);
  });
});

describe("[P9] the permission check of one document", () => {
  async function judged(): Promise<Bench & { readonly authority: Authority }> {
    const opened = await bench();
    await opened.execute("INSERT INTO c DOCUMENTS (:documents)", { documents: DOCUMENTS });
    return { ...opened, authority: authorityOf({ c: [loop("a")] }, true) };
  }

  test("ends a statement after 100 ms", async () => {
    const { runner, authority } = await judged();
    const { failure } = callerOf(runner, authority);
    for (const statement of ["SELECT * FROM c", "SELECT * FROM c WHERE _id = 1", "DELETE FROM c"]) {
      expect((await failure(statement)).code).toBe("query.timeout");
    }
  });

  test("that takes too long hides the document from findById, as if it did not exist", async () => {
    const { runner, authority } = await judged();
    for (const id of [1, "nosuch"]) {
      const { document } = runner.findById({ collection: "c", id, authority });
      expect(document).toBeUndefined();
    }
  });
});

describe("many rows", () => {
  const MANY = sized(500, 2000);

  async function many(): Promise<Bench> {
    const opened = await bench();
    const documents = numbered(MANY).toReversed();
    await opened.execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
    return opened;
  }

  test.each([
    ["are sorted", "SELECT n FROM c ORDER BY k, n DESC LIMIT 1", [{ n: MANY - 10 }]],
    ["are grouped", "SELECT count(*) AS x FROM c GROUP BY n LIMIT 1", [{ x: 1 }]],
    ["are compared by DISTINCT", "SELECT DISTINCT k FROM c ORDER BY k LIMIT 1", [{ k: 0 }]],
    ["are joined", "SELECT count(*) AS x FROM c l JOIN c r ON l.n = r.n", [{ x: MANY }]],
    ["are paired", "SELECT count(*) AS x FROM c l JOIN c r ON r.n < 0 AND l.n > r.n", [{ x: 0 }]],
    ["are looked up", "SELECT count(*) AS x FROM c l JOIN c r ON r._id = l.n", [{ x: MANY }]],
    ["are chosen by ids", "SELECT count(*) AS x FROM c WHERE _id IN :ids", [{ x: MANY }]],
  ])("%s, however long it takes", async (_, statement, expected) => {
    const { rows } = await many();
    const ids = countTo(2 * MANY);
    expect(await rows(statement, statement.includes(":ids") ? { ids } : {})).toEqual(expected);
  });

  test.each([
    "INSERT INTO d SELECT * FROM c",
    "UPDATE c SET n = n + 1 RETURNING n",
    "DELETE FROM c RETURNING n",
    "EVICT FROM c",
  ])("are written, however long it takes: %s", async (statement) => {
    const { execute, runner } = await many();
    expect((await execute(statement)).mutatedDocumentIds).toHaveLength(MANY);
    const commands = numbered(MANY).map((value) => ({
      method: "upsert" as const,
      collection: "c",
      value,
    }));
    const authority = authorityOf(true, { c: ["n >= 0"] });
    expect((await runner.write({ commands, authority })).results).toHaveLength(MANY);
  });
});

describe("other requests run", () => {
  const ROWS = 20;

  /** As many finished requests as rows. */
  async function remembered(): Promise<Bench> {
    const opened = await bench();
    for (let i = 0; i < ROWS; i++) await opened.execute("SELECT 1 AS one FROM system:dual");
    return opened;
  }

  test.each([
    ["rows that are removed from the system", `DELETE FROM system:request_history WHERE ${loop()}`],
    ["rows that are returned", `DELETE FROM system:request_history RETURNING ${loop()} AS x`],
    [
      "pairs",
      `SELECT * FROM system:dual l JOIN system:request_history r ON l.x = r.x OR ${loop()}`,
    ],
    [
      "rows of the right side",
      `SELECT * FROM system:dual l JOIN system:request_history r ON r.text != '' AND length(r.text) > 0 AND ANY z IN [r.text] SATISFIES ${loop()} END`,
    ],
  ])("between any two %s", async (_, statement) => {
    const { execute, pausesOf } = await remembered();
    expect(await pausesOf(() => execute(statement, SHORT))).toBeGreaterThanOrEqual(ROWS - 1);
  });

  test("[P9] between any two documents whose permission check takes long", async () => {
    const { execute, runner, pausesOf } = await bench();
    const documents = countTo(ROWS).map((n) => ({ _id: n, a: SHORT.a }));
    await execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
    const { rows } = callerOf(runner, authorityOf({ c: [loop("a")] }));
    expect(await pausesOf(() => rows("SELECT * FROM c"))).toBeGreaterThanOrEqual(ROWS - 1);
    const byId = "SELECT * FROM system:collections WHERE _id = 'c'";
    expect(await pausesOf(() => rows(byId))).toBeGreaterThanOrEqual(ROWS - 1);
  });

  test("during a lookup of many ids that no document has", async () => {
    const { execute, pausesOf } = await bench();
    const ids = countTo(1000);
    const statement = "SELECT * FROM c WHERE _id IN :ids";
    expect(await pausesOf(() => execute(statement, { ids }))).toBeGreaterThan(10);
  });
});
