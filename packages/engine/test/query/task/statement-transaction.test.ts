/**
 * Statements that take effect together: what each of them sees, and that the commit is as if all had
 * run in one moment.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf } from "../../../../protocol/test/support/failure.ts";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import type { StatementTransaction } from "../../../src/query/task/statement-transaction.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

async function openCounter(): Promise<Statements> {
  const opened = await openStatements();
  await opened.execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 1})");
  return opened;
}

function run(open: StatementTransaction, statement: string, args?: unknown): readonly unknown[] {
  return open.execute({ statement, args }).items;
}

test("a statement sees earlier writes of its transaction, which no one else sees before the commit", async () => {
  const { runner, rows } = await openCounter();
  const open = runner.open();
  run(open, "UPDATE c SET n = 2 WHERE _id = 'a'");
  run(open, "INSERT INTO c DOCUMENTS ({'_id': 'b', 'n': 5})");
  expect(run(open, "SELECT n FROM c ORDER BY _id")).toEqual([{ n: 2 }, { n: 5 }]);
  expect(await rows("SELECT n FROM c")).toEqual([{ n: 1 }]);
  expect(await open.commit()).toBeGreaterThan(0);
  expect(await rows("SELECT n FROM c ORDER BY _id")).toEqual([{ n: 2 }, { n: 5 }]);
});

test("all statements are one transaction of the store", async () => {
  const { runner, store } = await openCounter();
  const before = store.txnId;
  const open = runner.open();
  for (let i = 0; i < 5; i++) run(open, "INSERT INTO c DOCUMENTS ({'_id': :i})", { i });
  const txnId = await open.commit();
  expect(txnId).toBe(before + 1);
  expect(store.txnId).toBe(before + 1);
});

test("without a commit nothing is written", async () => {
  const { runner, rows, store } = await openCounter();
  const before = store.txnId;
  const open = runner.open();
  run(open, "DELETE FROM c");
  open.close();
  expect(await rows("SELECT n FROM c")).toEqual([{ n: 1 }]);
  expect(store.txnId).toBe(before);
  expect(codeOf(() => run(open, "SELECT * FROM c"))).toBe("store.closed");
  await expect(open.commit()).rejects.toThrow("has ended");
});

test("if a document that was read has changed, nothing is written", async () => {
  const { runner, rows, execute } = await openCounter();
  const open = runner.open();
  expect(run(open, "SELECT n FROM c WHERE _id = 'a'")).toEqual([{ n: 1 }]);
  run(open, "UPDATE c SET n = 2 WHERE _id = 'a'");
  await execute("UPDATE c SET n = 10 WHERE _id = 'a'");
  expect(await open.commit()).toBeUndefined();
  expect(await rows("SELECT n FROM c")).toEqual([{ n: 10 }]);
});

test("a new document that a query would have found is a conflict too", async () => {
  const { runner, execute, rows } = await openCounter();
  const open = runner.open();
  expect(run(open, "SELECT count(*) AS n FROM c")).toEqual([{ n: 1 }]);
  run(open, "INSERT INTO totals DOCUMENTS ({'_id': 't', 'n': 1})");
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'b'})");
  expect(await open.commit()).toBeUndefined();
  expect(await rows("SELECT * FROM totals")).toEqual([]);
});

test("changes to documents that were not read are no conflict", async () => {
  const { runner, rows, execute } = await openCounter();
  const open = runner.open();
  run(open, "UPDATE c SET n = 2 WHERE _id = 'a'");
  await execute("INSERT INTO other DOCUMENTS ({'_id': 'x'})");
  await execute("UPDATE c SET m = 7 WHERE _id = 'a'");
  expect(await open.commit()).toBeGreaterThan(0);
  expect(await rows("SELECT n, m FROM c")).toEqual([{ n: 2, m: 7 }]);
});

test("a read-only transaction sees one state and never fails to commit", async () => {
  const { runner, execute, store } = await openCounter();
  const open = runner.open();
  const first = run(open, "SELECT n FROM c");
  const seen = store.txnId;
  await execute("UPDATE c SET n = 3");
  expect(run(open, "SELECT n FROM c")).toEqual(first);
  expect(await open.commit()).toBe(seen);
});

test("generated ids are the same in the store as in the answer", async () => {
  const { runner, rows } = await openCounter();
  const open = runner.open();
  const { mutatedDocumentIds } = open.execute({ statement: "INSERT INTO c DOCUMENTS ({'n': 2})" });
  const [drawn] = run(open, "SELECT _id FROM c WHERE n = 2");
  expect(await open.commit()).toBeGreaterThan(0);
  expect(await rows("SELECT _id FROM c WHERE n = 2")).toEqual([drawn]);
  expect(drawn).toEqual({ _id: mutatedDocumentIds[0] });
});

test("a statement that failed without an effect does not affect the others", async () => {
  const { runner, rows } = await openCounter();
  const open = runner.open();
  run(open, "UPDATE c SET n = 2 WHERE _id = 'a'");
  expect(codeOf(() => run(open, "SELECT"))).toBe("query.syntax");
  expect(codeOf(() => run(open, "INSERT INTO c DOCUMENTS ({'_id': 'a'})"))).not.toBe(
    "nothing thrown",
  );
  expect(await open.commit()).toBeGreaterThan(0);
  expect(await rows("SELECT n FROM c")).toEqual([{ n: 2 }]);
});

test("a failed statement that would now succeed is a conflict", async () => {
  const { runner, execute, rows } = await openCounter();
  const open = runner.open();
  expect(codeOf(() => run(open, "INSERT INTO c DOCUMENTS ({'_id': 'a'})"))).not.toBe(
    "nothing thrown",
  );
  run(open, "INSERT INTO c DOCUMENTS ({'_id': 'instead'})");
  await execute("DELETE FROM c WHERE _id = 'a'");
  expect(await open.commit()).toBeUndefined();
  expect(await rows("SELECT * FROM c")).toEqual([]);
});

test.each(["CREATE INDEX i ON c (n)", "SHOW ALL", "DELETE FROM system:request_history"])(
  "%s is not allowed in a transaction",
  async (statement) => {
    const { runner } = await openCounter();
    const open = runner.open();
    expect(codeOf(() => run(open, statement))).toBe("query.semantic");
    open.close();
  },
);

test("concurrent transfers between accounts never lose or create money", async () => {
  const transfer = fc.record({
    from: fc.nat(3),
    to: fc.nat(3),
    amount: fc.integer({ max: 9, min: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(transfer, { maxLength: 12 }), async (transfers) => {
      const { runner, execute, rows } = await openStatements();
      for (let i = 0; i < 4; i++)
        await execute("INSERT INTO a DOCUMENTS ({'_id': :i, 'n': 10})", { i });
      const move = async ({ from, to, amount }: { from: number; to: number; amount: number }) => {
        for (;;) {
          const open = runner.open();
          const [source] = run(open, "SELECT n FROM a WHERE _id = :from", { from }) as {
            n: number;
          }[];
          await Promise.resolve();
          const left = (source?.n ?? 0) - amount;
          run(open, "UPDATE a SET n = :left WHERE _id = :from", { left, from });
          const [target] = run(open, "SELECT n FROM a WHERE _id = :to", { to }) as { n: number }[];
          run(open, "UPDATE a SET n = :n WHERE _id = :to", { n: (target?.n ?? 0) + amount, to });
          if ((await open.commit()) !== undefined) return;
        }
      };
      await Promise.all(transfers.map(move));
      expect(await rows("SELECT sum(n) AS n FROM a")).toEqual([{ n: 40 }]);
    }),
    { numRuns: histories(25) },
  );
});
