/**
 * How often indexes are used: by statements of all kinds, once for each, and by subscriptions.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { IndexUses } from "../../../src/query/frame/index-uses.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { openStore } from "../../support/open-store.ts";
import { openStreams } from "../../support/open-streams.ts";

const SINCE = 1_000;

/** So many that a scan is cheaper than an index in which all have the same value. */
const COUNT = 1_100;

const SUBQUERY =
  "SELECT _id FROM c y WHERE _id < 20 AND EXISTS (SELECT * FROM c x WHERE x.k = y._id)";

/** A runner whose uses of indexes are counted, with `c` and indexes on its fields. */
async function openCounted() {
  const { store, platform } = await openStore();
  const uses = new IndexUses(SINCE);
  const runner = new StatementRunner({ store, platform, appId: "test", indexUses: uses });
  const rows = async (statement: string, args?: unknown): Promise<readonly Value[]> =>
    (await runner.execute({ statement, args })).items;
  const documents = Array.from({ length: COUNT }, (_, i) => ({ _id: i, k: i % 100, h: 1 }));
  await rows("INSERT INTO c DOCUMENTS (:documents)", { documents });
  for (const field of ["k", "h"]) await rows(`CREATE INDEX ${field} ON c (${field})`);
  await store.whenIndexesReady();
  const counts = (): Record<string, number | undefined> =>
    Object.fromEntries(
      store.read((view) =>
        view.indexes("c").map(({ name, number }) => [name, uses.of(number)?.count]),
      ),
    );
  const lastMs = (): number | undefined =>
    store.read((view) => uses.of(view.indexes("c").find(({ name }) => name === "k")?.number ?? 0))
      ?.lastMs;
  return { runner, platform, rows, counts, lastMs };
}

test("an index that no statement has read is not used", async () => {
  const { rows, counts, lastMs } = await openCounted();
  await rows("SELECT * FROM c LIMIT 2");
  await rows("SELECT * FROM c WHERE _id = 3");
  expect(counts()).toEqual({ k: 0, h: 0 });
  expect(lastMs()).toBeUndefined();
});

test.each([
  ["a condition", "SELECT * FROM c WHERE k = 7"],
  ["a condition with a limit", "SELECT * FROM c WHERE k = 7 LIMIT 1"],
  ["a condition that no document fulfils", "SELECT * FROM c WHERE k = 700"],
  ["an order", "SELECT * FROM c ORDER BY k LIMIT 3"],
  ["a count", "SELECT COUNT(*) AS n FROM c WHERE k = 7"],
  ["an alternative", "SELECT * FROM c WHERE k = 7 OR _id = 3"],
  ["a subquery for each row", SUBQUERY],
  ["a join", "SELECT a._id FROM c a JOIN c b ON a._id = b.k WHERE a._id IN [1, 2, 3]"],
  ["an update", "UPDATE c SET n = 1 WHERE k = 7"],
  ["a delete", "DELETE FROM c WHERE k = 7"],
  ["PROFILE", "PROFILE SELECT * FROM c WHERE k = 7"],
])("%s counts as one use of its index", async (_, statement) => {
  const { rows, counts } = await openCounted();
  await rows(statement);
  expect(counts()).toEqual({ k: 1, h: 0 });
  await rows(statement);
  expect(counts()).toEqual({ k: 2, h: 0 });
});

test.each([
  ["EXPLAIN", "EXPLAIN SELECT * FROM c WHERE k = 7"],
  ["ADVISE", "ADVISE SELECT * FROM c WHERE k = 7"],
  ["a scan that is cheaper than the index", "SELECT * FROM c WHERE h = 1"],
  ["a condition on a field without an index", "SELECT * FROM c WHERE n = 1"],
])("%s uses no index", async (_, statement) => {
  const { rows, counts } = await openCounted();
  await rows(statement);
  expect(counts()).toEqual({ k: 0, h: 0 });
});

test("find and count of the data API count as well, and the statements of a transaction", async () => {
  const { runner, counts } = await openCounted();
  await runner.find({ collection: "c", query: "k == 7" });
  await runner.count({ collection: "c", query: "k == 7" });
  expect(counts()).toEqual({ k: 2, h: 0 });
  const transaction = runner.open();
  transaction.execute({ statement: "UPDATE c SET n = 2 WHERE k = 8" });
  // The commit runs the statement again.
  await transaction.commit();
  expect(counts()).toEqual({ k: 3, h: 0 });
});

test("the last use is the start of the last request", async () => {
  const { platform, rows, lastMs } = await openCounted();
  platform.nowMs = 5_000;
  await rows("SELECT * FROM c WHERE k = 7");
  expect(lastMs()).toBe(5_000);
  platform.nowMs = 6_000;
  await rows("SELECT * FROM c WHERE k = 7");
  platform.nowMs = 7_000;
  await rows("SELECT * FROM c");
  expect(lastMs()).toBe(6_000);
});

test("a subscription that finds its documents by an index has used it", async () => {
  const uses = new IndexUses(SINCE);
  const { execute, store, follow } = await openStreams({ indexUses: uses });
  const documents = Array.from({ length: 300 }, (_, i) => ({ _id: i, k: i % 100 }));
  await execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
  await execute("CREATE INDEX k ON c (k)");
  await store.whenIndexesReady();
  const [index] = store.read((view) => view.indexes("c"));
  await follow("SELECT * FROM c WHERE k = 7");
  expect(uses.of(index?.number ?? 0)?.count).toBe(1);
});

test("the indexes of a store that are counted are bounded; the use of others is not known", () => {
  const uses = new IndexUses(SINCE);
  for (let index = 1; index <= 5_000; index++) uses.add(index, SINCE + index);
  expect(uses.of(1)).toEqual({ count: 1, lastMs: SINCE + 1 });
  expect(uses.of(1_024)?.count).toBe(1);
  expect(uses.of(1_025)).toBeUndefined();
  uses.add(1, SINCE + 9_000);
  expect(uses.of(1)).toEqual({ count: 2, lastMs: SINCE + 9_000 });
});

test("a request counts each of its indexes once", () => {
  const uses = new IndexUses(SINCE);
  const first = uses.begin(2_000);
  const second = uses.begin(1_500);
  for (const index of [1, 2, 1, 2, 1]) first.add(index);
  second.add(1);
  expect(uses.of(1)).toEqual({ count: 2, lastMs: 2_000 });
  expect(uses.of(2)).toEqual({ count: 1, lastMs: 2_000 });
});
