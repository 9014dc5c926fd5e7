/**
 * Mistakes that people make who come from elsewhere: the fault says the place, then what helps.
 */
import { expect, test } from "vitest";
import { located } from "../../src/query/fault.ts";
import { prepareCondition, prepareLive } from "../../src/query/live/live-statement.ts";
import { readPermissions } from "../../src/query/permission/permissions.ts";
import { openStatements } from "../support/run-statements.ts";

const PARAMETER = "a parameter is written :name, and its value is the field name of the arguments";
const DOCUMENT =
  "a document is one object: INSERT INTO collection DOCUMENTS ({'name': 'Ada', 'age': 36}), or (:document)";

test.each([
  ["SELECT * FROM c WHERE a = ?", `column 27, near \`?\`; ${PARAMETER}`],
  ["SELECT * FROM c WHERE a = $1", `column 27, near \`$1\`; ${PARAMETER}`],
  ["SELECT * FROM c WHERE a = $name", `column 27, near \`$name\`; ${PARAMETER}`],
  ["SELECT * FROM c WHERE a = @name", `column 27, near \`@name\`; ${PARAMETER}`],
  ["INSERT INTO c (a, b) VALUES (1, 2)", `column 15, near \`(a, b) VALUES (1, 2)\`; ${DOCUMENT}`],
  ["INSERT INTO c VALUES (1, 2)", `column 24, near \`, 2)\`; ${DOCUMENT}`],
  [
    "SELECT * FROM my-cars",
    "column 17, near `-cars`; a name with - stands in backticks: `my-cars`",
  ],
  [
    "UPDATE c SET first-name-of = 1",
    "column 19, near `-name-of = 1`; a name with - stands in backticks: `first-name-of`",
  ],
  ["SELEC * FROM c", "column 1, near `SELEC * FROM c`; did you mean SELECT?"],
  ["SELECT upcase(a) FROM c", "column 8, near `upcase(a) FROM c`"],
  ["SELECT uper(a) FROM c", "column 8, near `uper(a) FROM c`; did you mean upper?"],
  ["SELECT * FROM system:indices", "near `system:indices`; did you mean indexes?"],
  ["SHOW dql_strict_mod", "near `SHOW dql_strict_mod`; did you mean dql_strict_mode?"],
])("the message has the place before the hint: %s", async (statement, end) => {
  const { failure } = await openStatements();
  const { message } = await failure(statement);
  expect(message.endsWith(end), message).toBe(true);
});

const EXISTS = "a collection exists from its first document on";
const ATOMIC =
  "each statement is atomic by itself; several changes are atomic in one request of /store/write, or in store.transaction of the SDK";
const CONFLICT = "write ON ID CONFLICT, then DO UPDATE, DO MERGE, DO NOTHING or FAIL";
const UPSERT = "write INSERT INTO collection DOCUMENTS (:document) ON ID CONFLICT DO UPDATE";

test.each([
  ["SELECT * FROM c WHERE a = 1 && b = 2", "column 29, near `&& b = 2`; write AND"],
  ["SELECT * FROM c WHERE (a = 1 && b = 2)", "column 30, near `&& b = 2)`; write AND"],
  ["SELECT * FROM c WHERE !a", "column 23, near `!a`; write NOT"],
  [
    "INSERT INTO tasks (n COUNTER) DOCUMENTS ({'n': 1})",
    "column 19, near `(n COUNTER) DOCUMENTS ({`; write INSERT INTO COLLECTION tasks (n COUNTER)",
  ],
  [
    "INSERT INTO `my-tasks` (`my-n` PN_COUNTER, b MAP) DOCUMENTS ({})",
    "; write INSERT INTO COLLECTION `my-tasks` (`my-n` PN_COUNTER, …)",
  ],
  ["UPDATE tasks (n COUNTER) APPLY n INCREMENT BY 1", "; write COLLECTION tasks (n COUNTER)"],
  ["SELECT * FROM tasks (n counter)", "; write COLLECTION tasks (n COUNTER)"],
  ["UPSERT INTO c DOCUMENTS ({})", `column 1, near \`UPSERT INTO c DOCUMENTS \`; ${UPSERT}`],
  ["REPLACE INTO c VALUES ({})", `; ${UPSERT}`],
  ["REMOVE FROM c", "near `REMOVE FROM c`; write DELETE FROM collection"],
  ["TRUNCATE c", "near `TRUNCATE c`; write DELETE FROM collection"],
  ["BEGIN", `near \`BEGIN\`; ${ATOMIC}`],
  ["begin transaction", `near \`begin transaction\`; ${ATOMIC}`],
  ["COMMIT", `near \`COMMIT\`; ${ATOMIC}`],
  ["DELETE FROM c; COMMIT", `near \`COMMIT\`; ${ATOMIC}`],
  ["INSERT INTO c DOCUMENTS ({}) ON CONFLICT DO NOTHING", `DO NOTHING\`; ${CONFLICT}`],
  ["INSERT INTO c DOCUMENTS ({}) ON DUPLICATE KEY UPDATE", `KEY UPDATE\`; ${CONFLICT}`],
  ["CREATE TABLE c (a INT)", `; ${EXISTS}: INSERT INTO collection DOCUMENTS (:document)`],
  ["CREATE COLLECTION c", `; ${EXISTS}: INSERT INTO collection DOCUMENTS (:document)`],
  ["DROP TABLE c", `; ${EXISTS}; DELETE FROM collection removes its documents`],
  ["DROP COLLECTION c", `; ${EXISTS}; DELETE FROM collection removes its documents`],
  ["ALTER TABLE c ADD x INT", "; a collection has no columns: any document may have any field"],
  [
    "UPDATE c SET n INCREMENT BY 1",
    "column 16, near `INCREMENT BY 1`; write APPLY n INCREMENT BY 1",
  ],
  ["UPDATE c SET a.b PN_INCREMENT BY 2", "; write APPLY a.b PN_INCREMENT BY 1"],
  ["UPDATE c SET n RESTART", "; write APPLY n RESTART"],
  ["UPDATE c SET n += 1", "; write SET n = n + 1, or APPLY n INCREMENT BY 1 for a counter"],
  ["SELECT * FROM c LIMIT 5, 10", "column 24, near `, 10`; write LIMIT 10 OFFSET 5"],
  ["SELECT * FROM c LIMIT :a, :b", "; write LIMIT count OFFSET start"],
  ["SELECT title, COUNT(*) FROM c", "near `title, COUNT(*) FROM c`; add GROUP BY title"],
  ["SELECT a.b, c, sum(d) AS s FROM c", "; add GROUP BY a.b, c"],
])("syntax of another language gets a hint: %s", async (statement, end) => {
  const { failure } = await openStatements();
  const { message } = await failure(statement);
  expect(message.endsWith(end), message).toBe(true);
});

test.each([
  ["SELECT * FROM c WHERE && a"],
  ["INSERT INTO c (a, b) SELECT * FROM d"],
  ["SELECT * FROM c LIMIT 5 10"],
  ["UPDATE c SET n 1"],
  ["SELECT title, COUNT(*) FROM c GROUP BY color"],
  ["DELETE FROM c RETURNING title, COUNT(*)"],
])("a different mistake does not get that hint: %s", async (statement) => {
  const { failure } = await openStatements();
  const { message } = await failure(statement);
  expect(message).not.toMatch(/; (write|add) /);
});

test("a word with a hint is a name where a name is allowed", async () => {
  const { execute } = await openStatements();
  await execute(
    "INSERT INTO upsert DOCUMENTS ({'_id': 1, 'begin': 1, 'table': 2, 'increment': 3})",
  );
  await execute("UPDATE upsert SET increment = begin + table");
  const statement = "SELECT begin, increment, table remove FROM upsert conflict";
  const { items } = await execute(statement);
  expect(items).toEqual([{ begin: 1, increment: 3, remove: 2 }]);
});

const FILTER = "a filter is only the condition, such as color == 'blue'";

test.each([
  ["SELECT * FROM cars", "near `cars`"],
  ["select _id, color FROM cars WHERE color = 'blue'", "near `_id, color FROM cars WHE`"],
  ["SELECT *, a FROM cars", "near `, a FROM cars`"],
  ["WHERE color == 'blue'", "near `color == 'blue'`"],
  ["DELETE FROM cars", "near `FROM cars`"],
])("a statement instead of a filter gets a hint: %s", async (query, near) => {
  const { runner } = await openStatements();
  const end = `${near}; ${FILTER}`;
  await expect(runner.find({ collection: "cars", query })).rejects.toThrow(end);
  const read = { queriesByCollection: { cars: [query] } };
  expect(() => readPermissions({ read })).toThrow(end);
  expect(() => readPermissions({ read }, "permissions", { isOfUsers: true })).toThrow(end);
});

test.each(["select * 2 == 4", "delete == 1", "update"])(
  "%s is a filter on a field",
  async (query) => {
    const { runner } = await openStatements();
    const { documents } = await runner.find({ collection: "cars", query });
    expect(documents).toEqual([]);
  },
);

test("a mistake in a filter on a field named like a statement does not get that hint", async () => {
  const { runner } = await openStatements();
  const found = runner.find({ collection: "cars", query: "update == 1 2" });
  await expect(found).rejects.not.toThrow(FILTER);
});

test("a minus after an operand or a blank is not part of a name", async () => {
  const { failure } = await openStatements();
  expect((await failure("SELECT * FROM my - cars")).message).not.toContain("backticks");
});

const CHOICE =
  "a subscription chooses documents, as they are; what execute and observers read may have more";

test.each([
  ["SELECT * FROM c ORDER BY n", "found ORDER BY at line 1, column 17"],
  ["SELECT * FROM c LIMIT 5", "found LIMIT at line 1, column 17"],
  ["SELECT * FROM c OFFSET 5", "found OFFSET at line 1, column 17"],
  ["SELECT a FROM c", "found columns at line 1, column 8"],
  ["SELECT *, a FROM c", "found columns at line 1, column 11"],
  ["SELECT * FROM c ORDER BY (`order`)", "found ORDER BY at line 1, column 17"],
  ["SELECT DISTINCT * FROM c", "found DISTINCT at line 1, column 8"],
  ["SELECT * FROM c GROUP BY a", "found GROUP BY at line 1, column 17"],
  ["SELECT * FROM c JOIN d ON c._id = d._id", "found a join at line 1, column 17"],
  ["SELECT * FROM c UNION SELECT * FROM d", "found UNION at line 1, column 17"],
])("a subscription error names the clause that is not allowed: %s", (text, found) => {
  const prepare = (): unknown => located(text, () => prepareCondition(text));
  expect(prepare).toThrow(`expected SELECT * FROM a collection, with WHERE or without, ${found}`);
  expect(prepare).toThrow(new RegExp(`; ${CHOICE}$`));
});

test("now() in a subscription gets a hint to pass its value as an argument", () => {
  const text = "SELECT * FROM c WHERE due < now()";
  expect(() => located(text, () => prepareLive(text, () => 0))).toThrow(
    /at line 1, column 29, .*; give the value of now\(\) as an argument, and register the query again when it changes$/,
  );
});

test("only a SELECT over documents can be subscribed to or observed", () => {
  const prepare = (text: string): (() => unknown) => {
    return () => located(text, () => prepareLive(text, () => 0));
  };
  expect(prepare("UPDATE c SET n = 1")).toThrow(
    /^expected a SELECT, found UPDATE at line 1, .*; only a SELECT can be subscribed to or observed$/,
  );
  expect(prepare("SELECT * FROM system:indexes")).toThrow(
    /^expected a collection of documents, found system:indexes at line 1, column 15/,
  );
});
