/**
 * What ALTER SYSTEM changes lasts: it is in the store, and a runner that is made on it again has it.
 */
import { expect, test } from "vitest";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { MemoryKeyValue } from "../../../src/store/memory-key-value.ts";
import { Store } from "../../../src/store/store.ts";
import { problems } from "../../support/open-store.ts";
import { openStatements } from "../../support/run-statements.ts";

type Opened = Awaited<ReturnType<typeof openStatements>>;

/** The same store, as the next process finds it. */
async function reopened({ store, disk, platform }: Opened): Promise<StatementRunner> {
  await store.close();
  const storage = new MemoryKeyValue(disk);
  expect(problems(storage)).toEqual([]);
  return new StatementRunner({
    store: await Store.open(storage, platform),
    platform,
    appId: "test",
  });
}

async function shown(runner: StatementRunner, name: string): Promise<unknown> {
  const { items } = await runner.execute({ statement: `SHOW ${name}` });
  return (items[0] as Record<string, unknown>)[name];
}

test("[K77] a changed setting survives a restart, a reset one does not", async () => {
  const opened = await openStatements();
  await opened.execute("ALTER SYSTEM SET dql_strict_mode = true");
  await opened.execute("ALTER SYSTEM SET dql_request_history_size = 7");
  await opened.execute("ALTER SYSTEM SET dql_request_history_qualifiers = {'elapsed_ms': 5}");
  await opened.execute("ALTER SYSTEM RESET dql_request_history_size");
  expect(opened.runner.settings.isStrict).toBe(true);
  const runner = await reopened(opened);
  expect(runner.settings.isStrict).toBe(true);
  expect(await shown(runner, "dql_request_history_size")).toBe(4096);
  expect(await shown(runner, "dql_request_history_qualifiers")).toEqual({ elapsed_ms: 5 });
  await runner.execute({ statement: "ALTER SYSTEM RESET ALL" });
  expect(runner.settings.changed().size).toBe(0);
});

test("[K77] a change is in effect when it is answered, and a refused one changes nothing", async () => {
  const { execute, failure, runner } = await openStatements();
  const { items, transactionId } = await execute("ALTER SYSTEM SET dql_strict_mode = true");
  expect(items).toEqual([{ dql_strict_mode: true }]);
  expect((await failure("ALTER SYSTEM SET dql_strict_mode = 1")).code).toBe("query.parameter");
  expect(runner.settings.isStrict).toBe(true);
  // The same again is no transaction.
  const again = await execute("ALTER SYSTEM SET dql_strict_mode = true");
  expect(again.transactionId).toBe(transactionId);
});

test("[K77] a change that could not be written has no effect", async () => {
  const { execute, runner, disk, storage } = await openStatements();
  await execute("ALTER SYSTEM SET dql_request_history_size = 7");
  const commit = storage.commit.bind(storage);
  storage.commit = () => Promise.reject(new Error("no room"));
  await expect(execute("ALTER SYSTEM SET dql_request_history_size = 8")).rejects.toThrow("no room");
  storage.commit = commit;
  expect(await shown(runner, "dql_request_history_size")).toBe(7);
  expect(disk).toBeDefined();
});

test("[K77] a stored value that this version does not accept stays at its default", async () => {
  const opened = await openStatements();
  await opened.store.transact((transaction) =>
    transaction.apply([
      { kind: "catalog", section: "settings", name: "dql_request_history_size", value: -1 },
      { kind: "catalog", section: "settings", name: "of_a_later_version", value: true },
      { kind: "catalog", section: "settings", name: "dql_strict_mode", value: true },
    ]),
  );
  const runner = await reopened(opened);
  expect([runner.settings.historySize, runner.settings.isStrict]).toEqual([4096, true]);
});
