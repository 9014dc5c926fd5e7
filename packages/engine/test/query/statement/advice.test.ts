/**
 * ADVISE: the index that would help a statement, and that it is then used.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

async function open(...indexes: string[]): Promise<Statements> {
  const statements = await openStatements();
  await statements.rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(20) });
  for (const index of indexes) await statements.rows(`CREATE INDEX ${index}`);
  return statements;
}

async function adviceOf({ rows }: Statements, statement: string): Promise<ValueObject> {
  const [row] = await rows(statement);
  return (row as ValueObject)["advice"] as ValueObject;
}

/** The statements that are advised, or why there are none. */
async function advised(statements: Statements, statement: string): Promise<unknown> {
  const { suggestedIndexes, outcome } = (await adviceOf(statements, `ADVISE ${statement}`)) as {
    suggestedIndexes?: readonly ValueObject[];
    outcome?: string;
  };
  return suggestedIndexes?.map((index) => index["statement"]) ?? outcome;
}

test.each([
  ["SELECT * FROM c WHERE a = 1", ["CREATE INDEX adv_c_a ON c (a)"]],
  ["SELECT * FROM c WHERE b > 1 AND a = 1", ["CREATE INDEX adv_c_a_b ON c (a, b)"]],
  ["SELECT * FROM c WHERE a = 1 ORDER BY n DESC", ["CREATE INDEX adv_c_a_n ON c (a, n DESC)"]],
  ["SELECT * FROM c WHERE a = 1 AND b < 2 ORDER BY n", ["CREATE INDEX adv_c_a_n_b ON c (a, n, b)"]],
  ["SELECT * FROM c ORDER BY n LIMIT 3", ["CREATE INDEX adv_c_n ON c (n)"]],
  ["SELECT * FROM c WHERE o.p = 1", ["CREATE INDEX adv_c_o_p ON c (o.p)"]],
  [
    "SELECT * FROM c WHERE a = 1 OR b = 2",
    ["CREATE INDEX adv_c_a ON c (a)", "CREATE INDEX adv_c_b ON c (b)"],
  ],
  ["SELECT x.n FROM c x JOIN d y ON y.k = x.k", ["CREATE INDEX adv_d_k ON d (k)"]],
  ["UPDATE c SET n = 1 WHERE a = 1", ["CREATE INDEX adv_c_a ON c (a)"]],
  ["DELETE FROM c WHERE a > 1", ["CREATE INDEX adv_c_a ON c (a)"]],
  ["SELECT * FROM c", "no keys to advise on"],
  ["SELECT * FROM c ORDER BY n", "no keys to advise on"],
  ["SELECT * FROM c WHERE a != 1", "no keys to advise on"],
  ["SELECT * FROM c WHERE _id = 1", "no advice available for statement"],
  ["INSERT INTO c DOCUMENTS ({})", "no advice available for statement"],
])("for %s the advice is %j", async (statement, expected) => {
  expect(await advised(await open(), statement)).toEqual(expected);
});

test("an equally good index is enough, even if it has more keys", async () => {
  const statements = await open("ab ON c (a, b)");
  const advice = await adviceOf(statements, "ADVISE SELECT * FROM c WHERE a = 1");
  expect(advice).toEqual({
    statement: "SELECT * FROM c WHERE a = 1",
    existingIndexes: [{ collection: "c", statement: "CREATE INDEX ab ON c (a, b)" }],
    outcome: "optimal indexes already exist",
  });
});

test("a better index is advised next to the one in use", async () => {
  const statements = await open("a ON c (a)");
  const advice = await adviceOf(statements, "ADVISE SELECT * FROM c WHERE a = 1 AND b = 2");
  expect(advice["existingIndexes"]).toEqual([
    { collection: "c", statement: "CREATE INDEX a ON c (a)" },
  ]);
  expect(advice["suggestedIndexes"]).toEqual([
    {
      collection: "c",
      reason: "equality on a, b",
      statement: "CREATE INDEX adv_c_a_b ON c (a, b)",
    },
  ]);
});

test("AND PROVISION creates the advised indexes, and then no advice is left", async () => {
  const statements = await open();
  const { rows } = statements;
  const about = "SELECT n FROM c WHERE k = 3 ORDER BY n";
  const advice = await adviceOf(statements, `ADVISE AND PROVISION ${about}`);
  expect(advice["createdIndexes"]).toEqual([{ collection: "c", name: "adv_c_k_n" }]);
  expect(await advised(statements, about)).toBe("optimal indexes already exist");
  expect(await rows("SELECT _id FROM system:indexes")).toEqual([{ _id: "c.adv_c_k_n" }]);
  expect(await rows(about)).toEqual([{ n: 3 }, { n: 13 }]);
});

test("an index whose name is taken is reported as failed", async () => {
  const statements = await open("adv_c_k ON c (n)");
  const advice = await adviceOf(statements, "ADVISE AND PROVISION SELECT * FROM c WHERE k = 3");
  expect(advice["failedIndexes"]).toEqual([
    { collection: "c", name: "adv_c_k", reason: "c has an index named adv_c_k already" },
  ]);
  expect(advice["createdIndexes"]).toBeUndefined();
});

test("AND PROVISION creates the indexes that fit the limit and reports the rest", async () => {
  const statements = await open();
  const where = Array.from({ length: 66 }, (_, i) => `f${i} = 1`).join(" OR ");
  const advice = await adviceOf(statements, `ADVISE AND PROVISION SELECT * FROM c WHERE ${where}`);
  expect((advice["createdIndexes"] as ValueObject[]).length).toBe(64);
  expect(advice["failedIndexes"]).toEqual(
    [64, 65].map((i) => ({
      collection: "c",
      name: `adv_c_f${i}`,
      reason: "c has 64 indexes, which is all it may",
    })),
  );
});

test("a name that would be too long is truncated", async () => {
  const statements = await open();
  const field = "x".repeat(255);
  const advice = await adviceOf(
    statements,
    `ADVISE AND PROVISION SELECT * FROM c WHERE ${field} = 1`,
  );
  expect(advice["createdIndexes"]).toEqual([{ collection: "c", name: `adv_c_${"x".repeat(250)}` }]);
});
