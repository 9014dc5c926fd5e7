/**
 * Answers that are empty by mistake: the warning says what is odd, where, and what was probably meant.
 */
import { expect, test, vi } from "vitest";
import { openStatements, type Statements } from "../../support/run-statements.ts";

const TASKS = [
  { _id: "t1", status: "done", prio: 1, owner: { name: "Ada" } },
  { _id: "t2", status: "open", prio: 2, tags: ["red"] },
];

async function opened(): Promise<Statements & { warned: typeof warned }> {
  const statements = await openStatements();
  await statements.execute("INSERT INTO tasks DOCUMENTS (:tasks)", { tasks: TASKS });
  return { ...statements, warned };

  async function warned(text: string, args?: unknown): Promise<string[]> {
    const { warnings, totalWarningsCount } = await statements.execute(text, args);
    expect(totalWarningsCount).toBe(warnings.length);
    // Those about single documents, which an operator refuses, come behind.
    const isAhead = warnings.map(({ _id }) => _id === undefined);
    expect(isAhead).toEqual(isAhead.toSorted((a, b) => Number(b) - Number(a)));
    return warnings.flatMap(({ _id, description }) => (_id === undefined ? description : []));
  }
}

const NEVER = "no document was ever in it";
const UNQUOTED = "a word without quotes is read as a field, text needs single quotes";

test.each([
  ["SELECT * FROM taks", 'unknown collection "taks" at line 1, column 15'],
  ["SELECT * FROM taks WHERE status = 'done'", 'unknown collection "taks" at line 1, column 15'],
  ["SELECT count(*) AS n FROM taks", 'unknown collection "taks" at line 1, column 27'],
  ["SELECT max(n) FROM taks GROUP BY n", 'unknown collection "taks" at line 1, column 20'],
  ["UPDATE taks SET n = 1", 'unknown collection "taks" at line 1, column 8'],
  ["DELETE FROM taks", 'unknown collection "taks" at line 1, column 13'],
  ["EVICT FROM taks", 'unknown collection "taks" at line 1, column 12'],
  ["INSERT INTO copies SELECT * FROM taks", 'unknown collection "taks" at line 1, column 34'],
  ["SELECT * FROM\n  taks", 'unknown collection "taks" at line 2, column 3'],
  [
    "SELECT a._id FROM tasks a LEFT JOIN taks b ON a._id = b._id",
    'unknown collection "taks" at line 1, column 37',
  ],
  [
    "SELECT * FROM tasks UNION ALL SELECT * FROM taks",
    'unknown collection "taks" at line 1, column 45',
  ],
  [
    "SELECT * FROM tasks WHERE NOT EXISTS (SELECT 1 FROM taks)",
    'unknown collection "taks" at line 1, column 53',
  ],
  ["SELECT * FROM (SELECT * FROM taks) AS t", 'unknown collection "taks" at line 1, column 30'],
])("[Q1] an unknown collection in FROM: %s", async (text, start) => {
  const { warned } = await opened();
  expect(await warned(text)).toEqual([`${start}: ${NEVER}; did you mean "tasks"?`]);
});

test("[Q1] without a similar name there is no hint; each name has one warning", async () => {
  const { warned } = await opened();
  const one = `unknown collection "elsewhere" at line 1, column 15: ${NEVER}`;
  expect(await warned("SELECT * FROM elsewhere")).toEqual([one]);
  const twice = "SELECT * FROM elsewhere UNION SELECT * FROM elsewhere";
  expect(await warned(twice)).toEqual([one]);
});

test("[Q1] a collection that was emptied, has an index, or is a system collection is known", async () => {
  const { execute, warned } = await opened();
  await execute("DELETE FROM tasks");
  await execute("CREATE INDEX by_name ON people (name)");
  expect(await warned("SELECT * FROM tasks")).toEqual([]);
  expect(await warned("SELECT * FROM people")).toEqual([]);
  expect(await warned("SELECT * FROM system:data_sync_info")).toEqual([]);
});

test("[Q1] an INSERT creates its collection, and has no warning", async () => {
  const { warned } = await opened();
  expect(
    await warned("INSERT INTO fresh SELECT * FROM tasks WHERE prio = 7 RETURNING _id"),
  ).toEqual([]);
  expect(await warned("INSERT INTO fresh DOCUMENTS ({'_id': 1})")).toEqual([]);
});

const bare = (name: string, column: number): string =>
  `no document that was looked at has the field ${name} at line 1, column ${column}: ${UNQUOTED}; did you mean '${name}'?`;

test.each([
  ["SELECT * FROM tasks WHERE status = done", bare("done", 36)],
  ["SELECT * FROM tasks WHERE done = status", bare("done", 27)],
  ["SELECT * FROM tasks WHERE status >= done", bare("done", 37)],
  ["SELECT * FROM tasks WHERE prio = 2 AND (status = done OR prio = 9)", bare("done", 50)],
  ["SELECT * FROM tasks WHERE upper(status) = DONE", bare("DONE", 43)],
  ["SELECT * FROM tasks WHERE status LIKE done", bare("done", 39)],
  ["SELECT * FROM tasks WHERE status IN ('x', done)", bare("done", 43)],
  ["SELECT * FROM tasks WHERE owner.name = Ada", bare("Ada", 40)],
  ["SELECT * FROM tasks t WHERE t.status = done", bare("done", 40)],
  ["SELECT count(*) AS n FROM tasks WHERE status = done", bare("done", 48)],
  ["SELECT * FROM tasks WHERE status = done LIMIT 1", bare("done", 36)],
  ["SELECT * FROM tasks WHERE status = done ORDER BY prio", bare("done", 36)],
  ["UPDATE tasks SET n = 1 WHERE status = done", bare("done", 39)],
  ["DELETE FROM tasks WHERE status = done", bare("done", 34)],
  ["INSERT INTO copies SELECT * FROM tasks WHERE status = done", bare("done", 55)],
  [
    "SELECT * FROM tasks WHERE prio = 1 UNION SELECT * FROM tasks WHERE status = done",
    bare("done", 77),
  ],
  [
    "SELECT * FROM tasks WHERE _id IN (SELECT _id FROM tasks WHERE status = done)",
    bare("done", 72),
  ],
])("[Q2] an unquoted word that no document has as a field: %s", async (text, warning) => {
  const { warned } = await opened();
  expect(await warned(text)).toEqual([warning]);
});

test.each([
  ["SELECT * FROM tasks WHERE staus = 'done'", "staus at line 1, column 27; did you mean status?"],
  ["SELECT * FROM tasks WHERE 'done' = staus", "staus at line 1, column 36; did you mean status?"],
  ["SELECT * FROM tasks t WHERE t.staus = 'x'", "staus at line 1, column 29; did you mean status?"],
  ["SELECT * FROM tasks WHERE `staus` = 'x'", "staus at line 1, column 27; did you mean status?"],
  [
    "SELECT * FROM tasks WHERE upper(staus) = 'X'",
    "staus at line 1, column 33; did you mean status?",
  ],
  ["SELECT * FROM tasks WHERE ownr.name = 'Ada'", "ownr at line 1, column 27; did you mean owner?"],
  ["DELETE FROM tasks WHERE staus IN ('done')", "staus at line 1, column 25; did you mean status?"],
])("[Q2] a misspelled field: %s", async (text, end) => {
  const { warned } = await opened();
  expect(await warned(text)).toEqual([`no document that was looked at has the field ${end}`]);
});

test("[Q2] a misspelled field compared with an unquoted word gives both warnings", async () => {
  const { warned } = await opened();
  expect(await warned("SELECT * FROM tasks WHERE staus = done")).toEqual([
    "no document that was looked at has the field staus at line 1, column 27; did you mean status?",
    bare("done", 35),
  ]);
});

test.each([
  // Rows that match are no mistake.
  "SELECT * FROM tasks WHERE status = done OR prio = 1",
  // A field that a document has, be it one.
  "SELECT * FROM tasks WHERE status = tags",
  "SELECT * FROM tasks WHERE owner = prio",
  // A field that no document has yet, compared with a value.
  "SELECT * FROM tasks WHERE archived = true",
  "SELECT * FROM tasks WHERE status = 'other'",
  // Text in double quotes is text.
  'SELECT * FROM tasks WHERE status = "other"',
  // Nobody looked at a document.
  "SELECT * FROM tasks WHERE _id = 'none' AND status = done",
  "SELECT * FROM tasks WHERE _id = 'none'",
  "SELECT * FROM tasks OFFSET 5",
  "EXPLAIN SELECT * FROM tasks WHERE status = done",
])("[Q2] no warning: %s", async (text) => {
  const { warned } = await opened();
  expect(await warned(text)).toEqual([]);
});

test.each([
  ["SELECT * FROM tasks WHERE status IN (:list)", 37],
  ["SELECT * FROM tasks WHERE _id IN (:list)", 34],
  ["UPDATE tasks SET n = 1 WHERE status IN (:list)", 40],
  ["SELECT count(*) AS n FROM tasks WHERE status IN ( :list )", 49],
])("[Q3] a list inside a list: %s", async (text, column) => {
  const { warned, execute } = await opened();
  const list = ["done", "t1"];
  const reported = `(:list) at line 1, column ${column} is a list that holds the list :list; did you mean IN :list?`;
  expect(await warned(text, { list })).toEqual([reported]);
  await execute("CREATE INDEX by_status ON tasks (status)");
  expect(await warned(text, { list })).toEqual([reported]);
  expect(await warned(text, { list: "nothing like it" })).toEqual([]);
  expect(await warned(text.replace(/\( ?:list ?\)/, ":list"), { list })).toEqual([]);
});

test("[Q3] the warning comes before warnings about rows, however many there are", async () => {
  const { execute } = await opened();
  const many = Array.from({ length: 20 }, (_, i) => ({ _id: i, status: "open" }));
  await execute("INSERT INTO many DOCUMENTS (:many)", { many });
  const statement = "SELECT * FROM many WHERE status IN (:list)";
  const { warnings, totalWarningsCount } = await execute(statement, { list: ["done"] });
  expect([warnings.length, totalWarningsCount]).toEqual([10, 21]);
  expect(warnings[0]?.description).toMatch(/; did you mean IN :list\?$/);
  expect(warnings.slice(1).every(({ _id }) => _id !== undefined)).toBe(true);
});

test("[Q3] lists that are found are not a mistake, nor is NOT IN", async () => {
  const { warned } = await opened();
  expect(await warned("SELECT * FROM tasks WHERE tags IN (:list)", { list: ["red"] })).toEqual([]);
  expect(await warned("SELECT * FROM tasks WHERE status NOT IN (:list)", { list: ["x"] })).toEqual(
    [],
  );
});

test.each([
  [`SELECT * FROM tasks WHERE "status" = 'done'`, '"status" at line 1, column 27', "status"],
  [
    `SELECT * FROM tasks WHERE "status" IN ('done', 'x')`,
    '"status" at line 1, column 27',
    "status",
  ],
  [`SELECT * FROM tasks WHERE "status" IN :list`, '"status" at line 1, column 27', "status"],
  [`SELECT * FROM tasks WHERE "status" LIKE 'd%'`, '"status" at line 1, column 27', "status"],
  [`SELECT * FROM tasks WHERE "prio" > 1`, '"prio" at line 1, column 27', "prio"],
  [`SELECT * FROM tasks WHERE "prio" BETWEEN 1 AND 2`, '"prio" at line 1, column 27', "prio"],
  [`SELECT * FROM tasks WHERE "status" = :list`, '"status" at line 1, column 27', "status"],
  [`SELECT * FROM tasks WHERE "status" IS NULL`, '"status" at line 1, column 27', "status"],
  [`DELETE FROM tasks WHERE "my status" = 'x'`, '"my status" at line 1, column 25', "`my status`"],
])("[Q4] a name in double quotes is text: %s", async (text, start, name) => {
  const { warned } = await opened();
  const reported = `${start} is a text, not a field: a name stands without quotes or in backticks; did you mean ${name}?`;
  expect(await warned(text, { list: ["done"] })).toEqual([reported]);
});

test.each([
  `SELECT * FROM tasks WHERE "done" = status AND prio = 9`,
  `SELECT * FROM tasks WHERE 'a' = 'b'`,
  `SELECT * FROM tasks WHERE :mode = "all"`,
  `SELECT * FROM tasks WHERE "a" = "a"`,
])("[Q4] no warning: %s", async (text) => {
  const { warned } = await opened();
  expect(await warned(text, { mode: "one" })).toEqual([]);
});

test("[Q2] twenty unknown names are counted, and at most ten are listed", async () => {
  const { execute } = await opened();
  const arms = Array.from({ length: 20 }, (_, i) => `SELECT * FROM taks${i}`);
  const { warnings, totalWarningsCount } = await execute(arms.join(" UNION "));
  expect([warnings.length, totalWarningsCount]).toEqual([10, 20]);
});

test("[Q2] for a hint only a few of the already read documents are examined", async () => {
  const { execute, store } = await opened();
  const many = Array.from({ length: 500 }, (_, i) => ({ _id: i, status: "open" }));
  await execute("INSERT INTO many DOCUMENTS (:many)", { many });
  const scans: string[] = [];
  const gets: unknown[] = [];
  const snapshot = store.snapshot.bind(store);
  vi.spyOn(store, "snapshot").mockImplementation(() => {
    const view = snapshot();
    const scan = view.scan.bind(view);
    const get = view.get.bind(view);
    vi.spyOn(view, "scan").mockImplementation((name, range) => {
      scans.push(name);
      return scan(name, range);
    });
    vi.spyOn(view, "get").mockImplementation((name, id, needed) => {
      gets.push(id);
      return get(name, id, needed);
    });
    return view;
  });
  const { warnings } = await execute("SELECT * FROM many WHERE staus = 'x' AND status = done");
  expect(warnings.length).toBe(2);
  expect([scans, gets]).toEqual([["many"], [0, 1, 2, 3]]);
});

test("[Q2] a write that selects before its transaction has the same warning", async () => {
  let ms = 0;
  const elapsed = (): number => {
    ms += 5;
    return ms;
  };
  const { execute } = await openStatements({ timeMs: 1e12 }, { elapsed });
  const many = Array.from({ length: 500 }, (_, i) => ({ _id: i, status: "open" }));
  await execute("INSERT INTO many DOCUMENTS (:many)", { many });
  const { warnings } = await execute("UPDATE many SET n = 1 WHERE status = done");
  expect(warnings).toEqual([{ description: bare("done", 38) }]);
});

test("observers and find get no warnings about mistakes", async () => {
  const { runner } = await opened();
  expect(await runner.find({ collection: "tasks", query: "status == done" })).toMatchObject({
    documents: [],
  });
});

test.each([
  ["SELECT * FROM tasks WHERE id = 't1'", 27],
  ["SELECT * FROM tasks WHERE ID = 't1'", 27],
  ["UPDATE tasks SET n = 1 WHERE id = 't1'", 30],
  ["DELETE FROM tasks WHERE id IN ('t1')", 25],
])("[Q2] id is distinguished from _id: %s", async (text, column) => {
  const { warned } = await opened();
  const [warning, ...others] = await warned(text);
  expect(warning).toContain(`at line 1, column ${column}; did you mean _id?`);
  expect(others).toEqual([]);
});

test("[Q2] a collection whose documents have a field id does not have this warning", async () => {
  const { execute, warned } = await opened();
  await execute("INSERT INTO tasks DOCUMENTS ({'_id': 't3', 'id': 7})");
  expect(await warned("SELECT * FROM tasks WHERE id = 't1'")).toEqual([]);
});

test.each([
  ["SELECT * FROM tasks WHERE prio = 1 || prio = 2", 36],
  ["SELECT * FROM tasks WHERE status = 'x' || status = 'y'", 40],
  ["SELECT * FROM tasks WHERE (prio = 1) || (prio = 2)", 38],
  ["SELECT * FROM tasks WHERE prio > 0 AND (status LIKE 'x%' || status LIKE 'y%')", 58],
  ["SELECT * FROM tasks WHERE status || status", 34],
])("[Q5] || between conditions: %s", async (text, column) => {
  const { warned } = await opened();
  const place = `line 1, column ${column}`;
  expect(await warned(text)).toEqual([`|| at ${place} joins texts; did you mean OR?`]);
});

test.each([
  "SELECT * FROM tasks WHERE status || 'x' = 'y'",
  "SELECT * FROM tasks WHERE status = 'x' || status",
  "SELECT * FROM tasks WHERE status LIKE 'x' || '%'",
])("[Q5] || that joins texts gives no warning: %s", async (text) => {
  const { warned } = await opened();
  expect(await warned(text)).toEqual([]);
});
