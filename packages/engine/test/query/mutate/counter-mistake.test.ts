/**
 * Plain values over counters, and increments of plain values: the semantics stay, the silence does not.
 */
import { expect, test } from "vitest";
import { openStatements } from "../../support/run-statements.ts";

const COUNTED = "INSERT INTO COLLECTION stock (qty COUNTER) DOCUMENTS ({'_id': 's1', 'qty': 10})";
const PLAIN = "INSERT INTO stock DOCUMENTS ({'_id': 's1', 'qty': 10})";
const INCREMENT = "UPDATE stock APPLY qty INCREMENT BY -1";

async function opened(...statements: string[]) {
  const store = await openStatements();
  for (const statement of statements) await store.execute(statement);
  return store;
}

test("SET on a counter warns, with the statement to use instead; so does INCREMENT after it", async () => {
  const { execute, rows } = await opened(COUNTED);
  const set = await execute("UPDATE stock SET qty = 5");
  expect(set.warnings).toEqual([
    {
      _id: "s1",
      description:
        "qty is a counter, and SET writes a plain value beside it: the next INCREMENT does not go on from 5; " +
        "to set the counter write APPLY qty RESTART WITH 5",
    },
  ]);
  const { warnings } = await execute(INCREMENT);
  expect(warnings).toEqual([
    {
      _id: "s1",
      description:
        "qty shows the plain value 5, and INCREMENT does not go on from it but from the counter of that name " +
        "(0 if there was none); to make it a counter that goes on from there, write APPLY qty RESTART WITH 4; " +
        "to keep a plain value, write SET qty = qty + -1",
    },
  ]);
  expect(await rows("SELECT qty FROM stock")).toEqual([{ qty: 9 }]);
  // What the warning says does what it says.
  expect((await execute("UPDATE stock APPLY qty RESTART WITH 5")).warnings).toEqual([]);
  expect((await execute(INCREMENT)).warnings).toEqual([]);
  expect(await rows("SELECT qty FROM stock")).toEqual([{ qty: 4 }]);
});

test("INCREMENT warns once for each document with a plain number, never for a counter or a missing field", async () => {
  const { execute } = await opened(PLAIN, "INSERT INTO stock DOCUMENTS ({'_id': 's2'})");
  const first = await execute(INCREMENT);
  expect(first.warnings.map(({ _id }) => _id)).toEqual(["s1"]);
  expect(first.warnings[0]?.description).toContain("write APPLY qty RESTART WITH 9");
  expect((await execute(INCREMENT)).totalWarningsCount).toBe(0);
});

test("a plain value that is not a number can only be restarted", async () => {
  const { execute } = await opened("INSERT INTO stock DOCUMENTS ({'_id': 's1', 'qty': 'ten'})");
  const [warning] = (await execute(INCREMENT)).warnings;
  expect(warning?.description).toMatch(
    /shows the plain value "ten".*; to start the counter write APPLY qty RESTART$/,
  );
});

test.each([
  "UPDATE stock SET shelf = {'qty': 5}",
  "UPDATE stock SET shelf.qty = 5",
  "INSERT INTO stock DOCUMENTS ({'_id': 's1', 'shelf': {'qty': 5}}) ON ID CONFLICT DO UPDATE",
])("a counter inside a map is recognised as well: %s", async (statement) => {
  const { execute } = await opened(
    "INSERT INTO COLLECTION stock (shelf MAP (qty COUNTER)) DOCUMENTS ({'_id': 's1', 'shelf': {'qty': 10, 'x': 1}})",
  );
  expect((await execute("UPDATE stock SET shelf.x = 2")).warnings).toEqual([]);
  const [warning] = (await execute(statement)).warnings;
  expect(warning?.description).toContain("write APPLY shelf.qty RESTART WITH 5");
});

test("in strict mode both are errors, and nothing is written", async () => {
  const { execute, failure } = await opened(COUNTED, "ALTER SYSTEM SET dql_strict_mode = true");
  const set = await failure("UPDATE stock SET qty = 5");
  expect(set.code).toBe("query.evaluation");
  expect(set.message).toMatch(
    /^qty is a counter, .* at line 1, column 18, .*; to set the counter write/,
  );
  const typed = "UPDATE COLLECTION stock (qty COUNTER) APPLY qty INCREMENT BY -1";
  expect((await execute(typed)).warnings).toEqual([]);

  const plain = await opened(PLAIN, "ALTER SYSTEM SET dql_strict_mode = true");
  expect((await plain.failure(typed)).message).toContain("to make it a counter");
  expect(await plain.rows("SELECT qty FROM stock")).toEqual([{ qty: 10 }]);
});

test("warnings beyond those listed are counted", async () => {
  const { execute } = await openStatements();
  const documents = Array.from({ length: 15 }, (_, i) => ({ _id: i, qty: 1 }));
  await execute("INSERT INTO stock DOCUMENTS (:documents)", { documents });
  const { warnings, totalWarningsCount } = await execute(INCREMENT);
  expect([warnings.length, totalWarningsCount]).toEqual([10, 15]);
});
