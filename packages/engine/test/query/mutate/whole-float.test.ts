/**
 * Whole floats are stored as integers: the statement that writes one says so, once.
 */
import { expect, test } from "vitest";
import { openStatements } from "../../support/run-statements.ts";

const { execute, rows } = await openStatements();

function warning(field: string, float: string, integer: string): string {
  return (
    `${field}: the float ${float} is stored as the integer ${integer}, and an integer divided by an integer drops the fraction; ` +
    `divide by a float (${field} / 2.0), or write CAST(… AS INTEGER) where an integer is meant`
  );
}

async function warningsOf(statement: string, args?: unknown): Promise<unknown[]> {
  const { warnings, totalWarningsCount } = await execute(statement, args);
  expect(totalWarningsCount).toBe(warnings.length);
  return warnings.map(({ _id, description }) => [_id, description]);
}

test("[V2] SET of a whole float warns once for each statement, with the first field and document", async () => {
  await execute("INSERT INTO set DOCUMENTS ({'_id': 1, 'x': 2.5}), ({'_id': 2, 'x': 1.25})");
  expect(await warningsOf("UPDATE set SET x = x * 2, y = 4.0")).toEqual([
    [1, warning("x", "5.0", "5")],
  ]);
  expect(await rows("SELECT x, y, x / 2 AS h, x / 2.0 AS d FROM set ORDER BY _id")).toEqual([
    { x: 5, y: 4, h: 2, d: 2.5 },
    { x: 2.5, y: 4, h: 1.25, d: 1.25 },
  ]);
  expect(await warningsOf("UPDATE set SET x = 1.5, y = y / 2, z = CAST(4.0 AS INTEGER)")).toEqual(
    [],
  );
  expect(await warningsOf("UPDATE set SET x = :x", { x: 5 })).toEqual([]);
});

test("[V2] a whole float inside an object or an array is named by its path", async () => {
  await execute("INSERT INTO inner DOCUMENTS ({'_id': 1})");
  expect(await warningsOf("UPDATE inner SET o = {'a': 1, 'b': [1, {'c': 3.0}]}")).toEqual([
    [1, warning("o.b[1].c", "3.0", "3")],
  ]);
  expect(await warningsOf("UPDATE inner SET o.`x y` = -1e17")).toEqual([
    [1, warning("o.`x y`", "-100000000000000000.0", "-100000000000000000")],
  ]);
  expect(await warningsOf("UPDATE inner SET o.n = 1e20, m = CAST('nan' AS FLOAT)")).toEqual([]);
});

test("[V2] INSERT of a whole float warns, unless it writes nothing", async () => {
  const inserted = "INSERT INTO ins DOCUMENTS ({'_id': 1, 'n': 1}), ({'_id': 2, 'p': {'q': 2.0}})";
  expect(await warningsOf(inserted)).toEqual([[2, warning("p.q", "2.0", "2")]]);
  expect(await warningsOf(`${inserted} ON ID CONFLICT DO NOTHING`)).toEqual([]);
});
