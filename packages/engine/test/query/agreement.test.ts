/**
 * The engine against the slow obvious evaluator: generated statements over generated collections,
 * with generated indexes. The seed and the smallest statement that differs are printed.
 */

import { PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import { compareLists } from "../conformance/runner.ts";
import { openStore } from "../support/open-store.ts";
import { anyDocuments, anyIndexes } from "./generated-documents.ts";
import { anyArguments } from "./generated-expression.ts";
import { anyNestedMutation, anyNestedQuery } from "./generated-query.ts";
import { anyMutation, anySelect } from "./generated-statement.ts";
import { mutate } from "./oracle/mutate.ts";
import { oracleRun } from "./oracle/oracle-run.ts";
import { checkRows, type Documents, queryRows } from "./oracle/select.ts";

const DATABASES = histories(60);
const STATEMENTS = 40;

interface Database {
  readonly things: readonly ValueObject[];
  readonly others: readonly ValueObject[];
  readonly indexes: readonly string[];
  readonly args: ValueObject;
}

function anyDatabase(): fc.Arbitrary<Database> {
  return fc.record({
    things: anyDocuments(12),
    others: anyDocuments(6),
    indexes: anyIndexes(),
    args: anyArguments(),
  });
}

async function fill({ things, others, indexes }: Database): Promise<StatementRunner> {
  const { store, platform } = await openStore();
  const runner = new StatementRunner({ store, platform, appId: "agreement" });
  for (const [collection, documents] of [
    ["things", things],
    ["others", others],
  ] as const) {
    const args = { documents: [...documents] };
    if (documents.length > 0) {
      await runner.execute({ statement: `INSERT INTO ${collection} DOCUMENTS (:documents)`, args });
    }
    for (const [i, keys] of indexes.entries()) {
      await runner.execute({
        statement: `CREATE INDEX i${i} ON ${collection} (${keys})`,
        args: {},
      });
    }
  }
  return runner;
}

async function selectDifference(
  text: string,
  database: Database,
  runner: StatementRunner,
): Promise<string | undefined> {
  const { args } = database;
  const { items } = await runner.execute({ statement: text, args });
  const { statement } = parseStatement(text);
  if (statement.kind !== "select" && statement.kind !== "union") return "expected a query";
  return checkRows(queryRows(statement, documentsOf(database), oracleRun(args)), items);
}

function documentsOf({ things, others }: Database): Documents {
  const documents = { things, others };
  return ({ name }) => documents[name as keyof typeof documents];
}

test.each([
  ["a SELECT", anySelect()],
  ["a statement with queries inside", anyNestedQuery()],
])("for %s the engine returns the same rows as the naive evaluator", async (_, anyText) => {
  let count = 0;
  const statements = fc.array(anyText, { minLength: STATEMENTS, maxLength: STATEMENTS });
  await fc.assert(
    fc.asyncProperty(anyDatabase(), statements, async (database, texts) => {
      const runner = await fill(database);
      for (const text of texts) {
        count++;
        const difference = await selectDifference(text, database, runner);
        if (difference !== undefined) throw new Error(`${text}\n${difference}`);
      }
    }),
    { numRuns: DATABASES },
  );
  expect(count).toBeGreaterThanOrEqual(DATABASES * STATEMENTS);
});

async function mutationDifference(text: string, database: Database): Promise<string | undefined> {
  const runner = await fill(database);
  const { statement } = parseStatement(text);
  if (statement.kind !== "update" && statement.kind !== "remove") return "expected a mutation";
  const expected = mutate(statement, database.things, {
    run: oracleRun(database.args),
    all: documentsOf(database),
  });
  let ids: readonly Value[] | undefined;
  try {
    ids = (await runner.execute({ statement: text, args: database.args })).mutatedDocumentIds;
  } catch (error) {
    if (!(error instanceof PeerError) || error.code !== "query.evaluation") throw error;
  }
  const found = await runner.execute({ statement: "SELECT * FROM things", args: {} });
  const left = compareLists(expected?.documents ?? database.things, found.items, false);
  if (left !== undefined) return left;
  if ((ids === undefined) !== (expected === undefined)) {
    return ids === undefined ? "expected it to be done" : "expected it to be refused";
  }
  return compareLists(expected?.ids ?? [], ids ?? [], false);
}

const anyChange = fc.oneof(
  { weight: 2, arbitrary: anyMutation() },
  { weight: 1, arbitrary: anyNestedMutation() },
);

test("a mutation leaves the same documents as the naive evaluator", async () => {
  await fc.assert(
    fc.asyncProperty(anyDatabase(), anyChange, async (database, text) => {
      const difference = await mutationDifference(text, database);
      if (difference !== undefined) throw new Error(`${text}\n${difference}`);
    }),
    { numRuns: histories(300) },
  );
});
