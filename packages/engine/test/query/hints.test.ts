/**
 * Mistakes that people make who come from elsewhere: the fault says the place, then what helps.
 */
import { expect, test } from "vitest";
import { located } from "../../src/query/fault.ts";
import { prepareCondition, prepareLive } from "../../src/query/live/live-statement.ts";
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
])("the place stands before the hint: %s", async (statement, end) => {
  const { failure } = await openStatements();
  const { message } = await failure(statement);
  expect(message.endsWith(end), message).toBe(true);
});

test("a minus where something can be subtracted, or after a blank, is no name", async () => {
  const { failure } = await openStatements();
  expect((await failure("SELECT * FROM my - cars")).message).not.toContain("backticks");
});

const CHOICE =
  "a subscription chooses documents, as they are; what execute and observers read may have more";

test.each([
  ["SELECT * FROM c ORDER BY n", "found ORDER BY at line 1, column 26"],
  ["SELECT * FROM c LIMIT 5", "found LIMIT at line 1, column 23"],
  ["SELECT * FROM c OFFSET 5", "found OFFSET at line 1, column 24"],
  ["SELECT a FROM c", "found columns at line 1"],
  ["SELECT DISTINCT * FROM c", "found DISTINCT at line 1"],
  ["SELECT * FROM c GROUP BY a", "found GROUP BY at line 1"],
  ["SELECT * FROM c JOIN d ON c._id = d._id", "found a join at line 1"],
  ["SELECT * FROM c UNION SELECT * FROM d", "found UNION at line 1"],
])("a subscription says which clause is too much: %s", (text, found) => {
  const prepare = (): unknown => located(text, () => prepareCondition(text));
  expect(prepare).toThrow(`expected SELECT * FROM a collection, with WHERE or without, ${found}`);
  expect(prepare).toThrow(new RegExp(`; ${CHOICE}$`));
});

test("now() in a query that is followed: its value is an argument", () => {
  const text = "SELECT * FROM c WHERE due < now()";
  expect(() => located(text, () => prepareLive(text, () => 0))).toThrow(
    /at line 1, column 29, .*; give the value of now\(\) as an argument, and register the query again when it changes$/,
  );
});
