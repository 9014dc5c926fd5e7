/**
 * Warnings of mistakes say nothing of what a caller may not read: with hidden documents, fields and
 * collections in the store every answer is the one without them.
 */
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { authorityOf } from "../../support/caller.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

const ADA = "owner == 'ada'";
const RULES = { tasks: [ADA], cars: ["true"], bills: [ADA] };
/** What the mistakes of the statements are near to, or are. */
const NAMES = ["status", "stauts", "state", "prio", "pirio", "done", "open", "high"];
const COLLECTIONS = ["tasks", "cars", "bills", "task", "cras", "bill"];

interface Placed {
  readonly collection: string;
  readonly document: ValueObject;
}

function anyDocument(owner: string, collections: readonly string[]): fc.Arbitrary<Placed> {
  const fields = fc.dictionary(
    fc.constantFrom(...NAMES),
    fc.constantFrom("done", "open", 1, null, ["done"], { done: 1 }),
    { maxKeys: 4, noNullPrototype: true },
  );
  const id = fc.integer({ min: 0, max: 1e6 });
  return fc
    .record({ collection: fc.constantFrom(...collections), id, fields })
    .map(({ collection, id: number, fields: given }) => {
      return { collection, document: { ...given, _id: `${owner}${number}`, owner } };
    });
}

const field = fc.constantFrom(...NAMES, "owner");
const value = fc.oneof(field, fc.constantFrom("'done'", '"done"', ":list", "1", "NULL"));
const comparison = fc.oneof(
  fc.tuple(field, fc.constantFrom("=", "!=", "<", "LIKE"), value).map((parts) => parts.join(" ")),
  fc.tuple(field, value).map(([path, one]) => `${path} IN (${one})`),
  field.map((path) => `"${path}" = 'done'`),
  field.map((path) => `${path} IN :list`),
);
const condition = fc
  .array(comparison, { minLength: 1, maxLength: 3 })
  .chain((parts) => fc.constantFrom(" AND ", " OR ").map((word) => parts.join(word)));
const anyStatement = fc
  .tuple(
    fc.constantFrom("SELECT * FROM", "SELECT count(*) AS n FROM", "DELETE FROM", "UPDATE"),
    fc.constantFrom(...COLLECTIONS),
    fc.option(condition),
  )
  .map(([start, collection, where]) => {
    const set = start === "UPDATE" ? " SET n = 1" : "";
    return `${start} ${collection}${set}${where === null ? "" : ` WHERE ${where}`}`;
  });

const INDEXES = ["(owner, status)", "(status)", "(owner)"];

async function openWith(documents: readonly Placed[], indexes: readonly string[]) {
  const statements = await openStatements();
  for (const { collection, document } of documents) {
    const text = `INSERT INTO ${collection} DOCUMENTS (:document) ON ID CONFLICT DO NOTHING`;
    await statements.execute(text, { document });
  }
  for (const [i, keys] of indexes.entries()) {
    await statements.execute(`CREATE INDEX i${i} ON tasks ${keys}`);
  }
  return statements;
}

/** Without the number of the transaction, which counts the writes of everybody. */
async function reported({ runner }: Statements, statement: string): Promise<unknown> {
  const authority = authorityOf(RULES, RULES);
  try {
    const args = { list: ["done"] };
    const { transactionId: _, ...rest } = await runner.execute({ statement, args, authority });
    return rest;
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { code: error.code, message: error.message };
  }
}

test("[P5] [P7] [Q1] [Q2] [Q3] [Q4] hidden documents change no warning about mistakes", async () => {
  const warned = new Map<string, number>();
  const visible = fc.oneof(anyDocument("ada", ["tasks", "bills"]), anyDocument("ada", ["cars"]));
  const hidden = fc.oneof(
    anyDocument("bob", ["tasks", "bills"]),
    anyDocument("bob", ["task", "cras", "bill", "secret"]),
  );
  const world = fc.record({
    shown: fc.array(visible, { maxLength: 6 }),
    hidden: fc.array(hidden, { minLength: 1, maxLength: 8 }),
    indexes: fc.subarray(INDEXES),
    statements: fc.array(anyStatement, { minLength: 12, maxLength: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ shown, hidden: secrets, indexes, statements }) => {
      const without = await openWith(shown, indexes);
      const withSecrets = await openWith([...secrets, ...shown], indexes);
      for (const statement of statements) {
        const expected = await reported(without, statement);
        expect(await reported(withSecrets, statement), statement).toEqual(expected);
        for (const { description } of (expected as { warnings?: SentRanges[] }).warnings ?? []) {
          const kind = /did you mean (IN|'|.)/.exec(description)?.[1] ?? "none";
          warned.set(kind, (warned.get(kind) ?? 0) + 1);
        }
      }
    }),
    { numRuns: sized(15, 120) },
  );
  // Lists, words that are texts, and others came up.
  if (isFullSize) expect([...warned.keys()]).toEqual(expect.arrayContaining(["IN", "'", "s"]));
});

interface SentRanges {
  readonly description: string;
}

test("[P6] [P7] a collection with a rule counts as known; one without is denied, existing or not", async () => {
  const { runner, execute } = await openStatements();
  const authority = authorityOf(RULES, RULES);
  await execute("INSERT INTO task DOCUMENTS ({'_id': 1, 'owner': 'bob'})");
  const { warnings } = await runner.execute({ statement: "SELECT * FROM tasks", authority });
  expect(warnings).toEqual([]);
  for (const name of ["task", "taks"]) {
    const asked = runner.execute({ statement: `SELECT * FROM ${name}`, authority });
    await expect(asked).rejects.toThrow(`no permission for the collection ${name}`);
  }
});

test("[P5] the suggested field is one of a document that the caller may read", async () => {
  const { runner, execute } = await openStatements();
  await execute("INSERT INTO tasks DOCUMENTS ({'_id': 1, 'owner': 'bob', 'staus': 1})");
  await execute("INSERT INTO tasks DOCUMENTS ({'_id': 2, 'owner': 'ada', 'status': 1})");
  const statement = "SELECT * FROM tasks WHERE staus = 'x'";
  const authority = authorityOf(RULES);
  const { warnings } = await runner.execute({ statement, authority });
  expect(warnings.map(({ description }) => description)).toEqual([
    "no document that was looked at has the field staus at line 1, column 27; did you mean status?",
  ]);
  expect((await execute(statement)).warnings).toEqual([]);
});
