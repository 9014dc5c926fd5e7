/**
 * CREATE INDEX and DROP INDEX on collections that are not small.
 */

import type { Operation, Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import type { Store } from "../../../src/store/store.ts";
import { authorityOf, callerOf } from "../../support/caller.ts";
import { openStore } from "../../support/open-store.ts";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

const INDEXES = "SELECT * FROM system:indexes";
const ROW = { _id: "c.by_n", collection: "c", fields: [{ direction: "asc", key: ["n"] }] };

/** Documents of `c` without the work of a statement. */
async function fill(store: Store, count: number): Promise<void> {
  await store.transact((transaction) =>
    transaction.apply(
      numbered(count).map((document): Operation => {
        const { _id: id = null, ...fields } = document as ValueObject;
        return { kind: "insert", collection: "c", id, fields };
      }),
    ),
  );
}

/** Runs on a store that builds nothing by itself, so that one sees what is under way. */
async function openHeld(count: number): Promise<Pick<Statements, "runner" | "rows" | "store">> {
  const { store, platform } = await openStore({ isBuildHeld: true });
  await fill(store, count);
  const runner = new StatementRunner({ store, platform, appId: "test" });
  const rows = async (statement: string): Promise<readonly Value[]> =>
    (await runner.execute({ statement })).items;
  return { runner, rows, store };
}

test("an index over 1,000 documents is complete when CREATE INDEX is answered", async () => {
  const { rows } = await openHeld(1000);
  await rows("CREATE INDEX by_n ON c (n)");
  expect(await rows(INDEXES)).toEqual([ROW]);
});

test("system:indexes shows that a larger index is being built, and its progress", async () => {
  const { rows, store } = await openHeld(1002);
  await rows("CREATE INDEX by_n ON c (n)");
  const progress = { done: 1000, total: 1002 };
  expect(await rows(INDEXES)).toEqual([{ ...ROW, state: "building", progress }]);
  await rows("DELETE FROM c WHERE n BETWEEN 5 AND 9");
  expect(await rows("SELECT progress FROM system:indexes WHERE state = 'building'")).toEqual([
    { progress: { done: 997, total: 997 } },
  ]);
  await store.transact((transaction) =>
    transaction.apply([{ kind: "build_index", collection: "c", name: "by_n", limit: 9 }]),
  );
  expect(await rows(INDEXES)).toEqual([ROW]);
});

test("[P19] a caller that may not read the whole collection does not see the progress of an index", async () => {
  const { rows, runner } = await openHeld(1002);
  await rows("CREATE INDEX by_n ON c (n)");
  expect(await callerOf(runner, authorityOf({ c: ["n < 5"] })).rows(INDEXES)).toEqual([ROW]);
  const [row] = await callerOf(runner, authorityOf({ c: ["true"] })).rows(INDEXES);
  expect((row as ValueObject)["progress"]).toEqual({ done: 1000, total: 1002 });
});

test("a large index is built and dropped in the background, and its name is free at once", async () => {
  const { rows, store, execute } = await openStatements();
  await fill(store, 5_000);
  await execute("CREATE INDEX by_n ON c (n)");
  expect(await rows("SELECT state FROM system:indexes")).toEqual([{ state: "building" }]);
  await store.whenIndexesReady();
  expect(await rows(INDEXES)).toEqual([ROW]);
  await execute("DROP INDEX by_n ON c");
  expect(await rows(INDEXES)).toEqual([]);
  await execute("CREATE INDEX by_n ON c (k)");
  await store.whenIndexesReady();
  const numbers = store.read((snapshot) => snapshot.indexes().map(({ number }) => number));
  expect(numbers).toEqual([2]);
});
