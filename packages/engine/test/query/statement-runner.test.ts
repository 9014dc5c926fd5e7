/**
 * The runner: what a result holds, what errors say, and that nothing runs beyond its bounds.
 */
import { describe, expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { failureOf, numbered, openStatements } from "../support/run-statements.ts";

const INSERT = "INSERT INTO c DOCUMENTS (:documents)";

describe("results", () => {
  test("a SELECT has rows and the transaction that it saw; a mutation has ids and its own", async () => {
    const { execute } = await openStatements();
    const written = await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'x': 1}), ({'_id': 'b'})");
    expect(written).toEqual({
      queryType: "mutation",
      items: [],
      mutatedDocumentIds: ["a", "b"],
      warnings: [],
      totalWarningsCount: 0,
      transactionId: written.transactionId,
    });
    const read = await execute("SELECT x FROM c ORDER BY _id");
    expect(read.queryType).toBe("select");
    expect(read.items).toEqual([{ x: 1 }, {}]);
    expect(read.mutatedDocumentIds).toEqual([]);
    expect(read.transactionId).toBe(written.transactionId);
  });

  test("a short read returns at once; a write and a long read return a promise", async () => {
    let ms = 0;
    // Every look at the clock takes longer than a slice.
    const { runner, execute } = await openStatements({}, { elapsed: () => (ms += 100) });
    const written = runner.start({ statement: INSERT, args: { documents: numbered(100) } });
    expect(written).toBeInstanceOf(Promise);
    await written;
    const short = runner.start({ statement: "SELECT n FROM c WHERE _id = 7" });
    expect(short).not.toBeInstanceOf(Promise);
    expect(short).toEqual(await execute("SELECT n FROM c WHERE _id = 7"));
    const long = runner.start({ statement: "SELECT n FROM c" });
    expect(long).toBeInstanceOf(Promise);
    expect((await long).items).toHaveLength(100);
    expect(() => runner.start({ statement: "SELECT" })).toThrow("line 1");
    expect(runner.requests.totals).toMatchObject({ active: 0, completed: 4, failed: 1 });
  });

  test.runIf(isFullSize)(
    "a long text is prepared in pieces, each after a pause, so that other requests run",
    async () => {
      let ms = 0;
      let pauses = 0;
      const pause = (): Promise<void> => {
        pauses++;
        return Promise.resolve();
      };
      const { runner } = await openStatements(
        { timeMs: 1e9 },
        { elapsed: () => (ms += 20), pause },
      );
      const conditions = Array.from({ length: sized(3000, 9000) }, (_, i) => `n = ${i}`);
      const long = `SELECT n FROM c WHERE ${conditions.join(" OR ")}`;
      const found = runner.start({ statement: long });
      expect(found).toBeInstanceOf(Promise);
      expect((await found).items).toEqual([]);
      // Reading, planning, compiling and three looks at the whole.
      expect(pauses).toBeGreaterThanOrEqual(6);
      pauses = 0;
      const { documents } = await runner.find({
        collection: "c",
        query: conditions.join(" || ").replaceAll("=", "=="),
      });
      expect(documents).toEqual([]);
      expect(pauses).toBeGreaterThanOrEqual(3);
      pauses = 0;
      const rows = Array.from({ length: 2000 }, (_, i) => `({'_id': ${i}, 'n': ${i}})`);
      const inserted = await runner.execute({
        statement: `INSERT INTO c DOCUMENTS ${rows.join()}`,
      });
      expect(inserted.mutatedDocumentIds).toHaveLength(2000);
      expect(pauses).toBeGreaterThan(2000);
    },
  );

  test("the prepared form of a long text counts as memory of the statement", async () => {
    const { failure, execute } = await openStatements({ bytes: 1024 * 1024 });
    const list = (count: number): string => Array.from({ length: count }, () => "1").join();
    await execute(`SELECT 1 AS a FROM system:dual WHERE 0 IN (${list(5000)})`);
    const { code } = await failure(`SELECT 1 AS a FROM system:dual WHERE 0 IN (${list(20_000)})`);
    expect(code).toBe("query.too_large");
  });

  test("a mutation that finds nothing succeeds and has no transaction", async () => {
    const { execute } = await openStatements();
    const { transactionId } = await execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
    const result = await execute("UPDATE c SET x = 1 WHERE _id = 'nobody'");
    expect(result.mutatedDocumentIds).toEqual([]);
    expect(result.transactionId).toBe(transactionId);
  });

  test.each([
    ["SELECT 1 FROM system:dual", "select"],
    ["EXPLAIN DELETE FROM c", "select"],
    ["PROFILE SELECT 1 FROM system:dual", "select"],
    ["ADVISE SELECT * FROM c", "select"],
    ["SHOW ALL", "select"],
    ["EXECUTE FUNCTION upper('a')", "select"],
    ["DELETE FROM c", "mutation"],
    ["EVICT FROM c", "mutation"],
    ["TOMBSTONE FROM c", "mutation"],
    ["CREATE INDEX i ON c (a)", "mutation"],
    ["ALTER SYSTEM RESET ALL", "mutation"],
  ])("%s has the type %s", async (statement, queryType) => {
    const { execute } = await openStatements();
    expect((await execute(statement)).queryType).toBe(queryType);
  });

  test("an evaluation that fails omits the column and warns, with document and place", async () => {
    const { execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'x': 0}), ({'_id': 'b', 'x': 2})");
    const { items, warnings } = await execute("SELECT _id, 6 / x AS r FROM c ORDER BY _id");
    expect(items).toEqual([{ _id: "a" }, { _id: "b", r: 3 }]);
    expect(warnings).toEqual([
      { _id: "a", description: "expected a divisor that is not zero at line 1, column 13" },
    ]);
  });

  test("ten warnings are listed, all are counted", async () => {
    const { execute } = await openStatements();
    await execute(INSERT, { documents: numbered(25) });
    const { warnings, totalWarningsCount } = await execute("SELECT n || 'x' AS r FROM c");
    expect(warnings).toHaveLength(10);
    expect(totalWarningsCount).toBe(25);
  });

  test("a row that a failing condition rejects has a warning too", async () => {
    const { execute } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'x': 0})");
    const result = await execute("SELECT _id FROM c WHERE 1 / x = 1");
    expect(result.items).toEqual([]);
    expect(result.totalWarningsCount).toBe(1);
  });

  test("fields named like properties of Object.prototype are ordinary fields", async () => {
    const { execute, rows } = await openStatements();
    const document = JSON.parse('{"_id": "a", "__proto__": 1, "constructor": 2, "toString": 3}');
    await execute(INSERT, { documents: [document] });
    expect(await rows("SELECT * FROM c")).toEqual([document]);
    const [spread] = await rows("SELECT c.* FROM c");
    expect(Object.entries(spread as object)).toEqual(Object.entries(document));
    expect(await rows("SELECT __proto__, `constructor`, valueOf FROM c")).toEqual([
      JSON.parse('{"__proto__": 1, "constructor": 2}'),
    ]);
  });

  test("a document over the soft limit of size is written with a warning", async () => {
    const { execute } = await openStatements();
    const { warnings } = await execute(INSERT, {
      documents: [{ _id: "big", text: "x".repeat(300_000) }],
    });
    expect(warnings).toMatchObject([{ _id: "big" }]);
  });
});

describe("errors", () => {
  test("an error has code, line, column, the text near it and what was expected", async () => {
    const { failure } = await openStatements();
    const error = await failure("SELECT _id\nFORM c");
    expect(error.code).toBe("query.syntax");
    expect(error.place).toEqual({ line: 2, column: 6, near: "c" });
    expect(error.expected).toBeDefined();
    expect(error.message).toContain("line 2, column 6");
  });

  test("columns count characters, not UTF-16 units", async () => {
    const { failure } = await openStatements();
    const error = await failure("SELECT '😀😀', nope(1) FROM c");
    expect(error.place?.column).toBe(14);
  });

  test("an unknown function suggests the nearest name", async () => {
    const { failure } = await openStatements();
    expect((await failure("SELECT uper('a') FROM system:dual")).message).toContain(
      "did you mean upper?",
    );
    expect((await failure("SELECT coun(*) FROM c")).message).toContain("did you mean count?");
    const long = await failure(`SELECT ${"x".repeat(300)}(1) FROM c`);
    expect(long.message.length).toBeLessThan(200);
  });

  test("an ambiguous field error names the aliases that it may belong to", async () => {
    const { failure } = await openStatements();
    const error = await failure("SELECT x FROM c a JOIN c b ON a._id = b._id");
    expect(error.code).toBe("query.semantic");
    expect(error.message).toContain("a.x or b.x");
  });

  test("a failing statement writes nothing", async () => {
    const { execute, failure, rows } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'x': 1}), ({'_id': 'b', 'x': 0})");
    expect((await failure("UPDATE c SET y = 1 / x")).code).toBe("query.evaluation");
    expect(await rows("SELECT y FROM c")).toEqual([{}, {}]);
  });

  test("a parameter without a value is a semantic error; in SET it is an evaluation error", async () => {
    const { execute, failure } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
    expect((await failure("SELECT :x FROM c")).code).toBe("query.semantic");
    expect((await failure("UPDATE c SET y = :x")).code).toBe("query.evaluation");
  });

  test.each([
    ["text", "text", "an object"],
    ["an array", [1], "an object"],
    ["NaN", { x: Number.NaN }, "args.x"],
    ["an infinity inside", { x: [1, { y: Infinity }] }, "args.x[1].y"],
    ["an integer beyond 64 bits", { x: 2n ** 64n }, "args.x"],
    ["a function", { x: () => 1 }, "args.x"],
  ])("%s among the arguments is refused, with the place", async (_, args, place) => {
    const { failure } = await openStatements();
    const error = await failure("SELECT 1 FROM system:dual", args);
    expect(error.code).toBe("query.arguments");
    expect(error.message).toContain(place);
  });

  test("SYNC CONTEXT can be parsed but runs only on peers", async () => {
    const { failure } = await openStatements();
    const error = await failure("SYNC CONTEXT (PEERS WHERE os = 'iOS') SELECT * FROM c");
    expect(error.code).toBe("query.semantic");
    expect(error.message).toContain("remote_execute");
  });
});

describe("limits", () => {
  /** A clock that moves on by a millisecond each time it is looked at. */
  function countingClock(): () => number {
    let now = 0;
    return () => ++now;
  }

  const BUSY: readonly (readonly [string, string])[] = [
    ["a join of all pairs", "SELECT count(*) FROM c a JOIN c b ON a.n + b.n < 0"],
    ["a hash join with one key", "SELECT count(*) FROM c a JOIN c b ON a.z = b.z AND a.n < 0"],
    ["a range of dates", "SELECT date_range(0, 9000000000000, 'ms', 1) FROM system:dual"],
    ["a sort", "SELECT n FROM c a ORDER BY -n, k DESC"],
    ["groups", "SELECT n, count(*) FROM c GROUP BY n ORDER BY n DESC"],
    ["a comprehension", "SELECT ARRAY (ARRAY 1 FOR j IN :list END) FOR i IN :list END FROM c"],
    ["a quantifier", "SELECT _id FROM c WHERE EVERY i IN :list SATISFIES i >= 0 END"],
    ["an update", "UPDATE c SET x = ARRAY i FOR i IN :list WHEN i < 0 END"],
    ["a delete", "DELETE FROM c WHERE ANY i IN :list SATISFIES i < 0 END"],
    ["an insert", "INSERT INTO d SELECT a.n AS n FROM c a JOIN c b ON a.n != b.n"],
  ];

  test.each(BUSY)("%s is stopped by the deadline", async (_, statement) => {
    const { store, execute, runner } = await openStatements(
      { timeMs: 12 },
      { elapsed: countingClock() },
    );
    await store.transact((transaction) => {
      transaction.apply(
        Array.from({ length: 3000 }, (__, id) => ({
          kind: "insert" as const,
          collection: "c",
          id,
          fields: { n: id, k: id % 10, z: 1 },
        })),
      );
    });
    const list = Array.from({ length: 1000 }, (__, i) => i);
    const error = await failureOf(runner, { statement, args: { list } });
    expect(error.code).toBe("query.timeout");
    expect((await execute("SELECT count(*) AS n FROM system:dual")).items).toEqual([{ n: 1 }]);
  });

  test("the shortest deadline applies: of the runner, of the setting, of the request", async () => {
    const { execute, runner } = await openStatements({}, { elapsed: countingClock() });
    await execute(INSERT, { documents: numbered(2000) });
    const statement = "SELECT n FROM c ORDER BY n";
    const late = await failureOf(runner, { statement, timeoutMs: 2 });
    expect(late.message).toContain("2 ms");
    await execute("ALTER SYSTEM SET DQL_REQUEST_TIMEOUT_SECONDS = 0.003");
    expect((await failureOf(runner, { statement })).message).toContain("3 ms");
  });

  test.each([
    ["rows", "SELECT * FROM c a JOIN c b ON a._id >= b._id"],
    ["sorted rows", "SELECT a.text FROM c a JOIN c b ON true ORDER BY a.n"],
    [
      "groups",
      "SELECT a.n * 1000 + b.n AS k, count(*) AS n FROM c a JOIN c b ON true GROUP BY a.n * 1000 + b.n",
    ],
    ["distinct rows", "SELECT DISTINCT a.text, a._id, b._id AS i FROM c a JOIN c b ON true"],
    ["a text that grows", "SELECT repeat('x', 5000000) FROM system:dual"],
    ["a range of dates", "SELECT date_range(0, 900000000, 'ms', 1) FROM system:dual"],
    ["documents to update", "UPDATE c SET x = repeat(text, 4000)"],
  ])("%s beyond the memory of a statement are refused", async (_, statement) => {
    // Time does not pass: a slow machine would end it before.
    const { execute, failure } = await openStatements({ bytes: 2_000_000 }, { elapsed: () => 0 });
    const text = "x".repeat(100);
    const documents = numbered(200).map((each) => ({ ...(each as object), text }));
    await execute(INSERT, { documents });
    expect((await failure(statement)).code).toBe("query.too_large");
  });

  test("temporary memory of each row does not add up", async () => {
    const count = sized(50, 500);
    const { execute, rows } = await openStatements({ bytes: 2_000_000 });
    await execute(INSERT, { documents: numbered(count) });
    const statement =
      "SELECT count(*) AS n FROM c WHERE length(repeat('x', 400000)) > 0 AND array_length(ARRAY repeat('y', 9000) FOR i IN [1, 2, 3, 4, 5, 6, 7, 8] END) = 8";
    expect(await rows(statement)).toEqual([{ n: count }]);
  });

  test("a running read can be cancelled by its id, and lets other requests run", async () => {
    const { execute, runner, rows } = await openStatements({}, { elapsed: countingClock() });
    await execute(INSERT, { documents: numbered(sized(6_000, 20_000)) });
    const running = failureOf(runner, { statement: "SELECT count(*) FROM c WHERE n != k + 1" });
    const like = "WHERE text LIKE '%k + 1'";
    const active = await rows(`SELECT _id AS id FROM system:active_requests ${like}`);
    expect(active).toHaveLength(1);
    const [{ id }] = active as [{ id: string }];
    expect(runner.requests.cancel(id, "stopped by hand")).toBe(true);
    expect((await running).message).toBe("stopped by hand");
  });

  test("more joined terms than allowed are refused; a directive allows more", async () => {
    const { failure, rows } = await openStatements();
    const joins = Array.from({ length: 11 }, (_, i) => `JOIN system:dual d${i} ON true`).join(" ");
    const statement = `SELECT 1 AS one FROM system:dual d ${joins}`;
    expect((await failure(statement)).message).toContain("at most 10");
    expect(await rows(`/*+ {"#max_joins": 12} */ ${statement}`)).toEqual([{ one: 1 }]);
  });

  test("a directive that is not a JSON object is refused", async () => {
    const { failure } = await openStatements();
    expect((await failure("/*+ nonsense */ SELECT 1 FROM system:dual")).code).toBe(
      "query.semantic",
    );
  });
});

describe("preparation", () => {
  test("a statement is prepared once for each text, whatever its arguments", async () => {
    const { execute, runner } = await openStatements();
    await execute("SELECT :x AS x FROM system:dual", { x: 1 });
    const prepared = runner.prepare("SELECT :x AS x FROM system:dual");
    expect((await execute("SELECT :x AS x FROM system:dual", { x: 2 })).items).toEqual([{ x: 2 }]);
    expect(runner.prepare("SELECT :x AS x FROM system:dual")).toBe(prepared);
  });

  test("a prepared statement uses the current settings", async () => {
    const { execute, rows } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'o': {'x': 1}})");
    expect(await rows("SELECT * FROM c")).toEqual([{ _id: "a", o: { x: 1 } }]);
    await execute("ALTER SYSTEM SET DQL_STRICT_MODE = true");
    expect(await rows("SELECT * FROM c")).toEqual([{ _id: "a" }]);
  });

  test("strict mode of a request overrides the setting", async () => {
    const { execute, runner } = await openStatements();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'o': {'x': 1}})");
    const result = await runner.execute({ statement: "SELECT * FROM c", isStrict: true });
    expect(result.items).toEqual([{ _id: "a" }]);
  });

  test("finished statements are in the history, with their outcome; the history can be deleted", async () => {
    const { execute, failure, rows } = await openStatements();
    await failure("SELECT nope() FROM c");
    await execute("SELECT 1 FROM system:dual");
    const history = "SELECT text, state FROM system:request_history ORDER BY requestTime";
    expect(await rows(history)).toEqual([
      { text: "SELECT nope() FROM c", state: "failed" },
      { text: "SELECT 1 FROM system:dual", state: "completed" },
    ]);
    const deleted = await execute("DELETE FROM system:request_history WHERE state = 'failed'");
    expect(deleted.mutatedDocumentIds).toHaveLength(1);
    expect(await rows("SELECT text FROM system:request_history WHERE state = 'failed'")).toEqual(
      [],
    );
  });
});
